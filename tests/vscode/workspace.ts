// Workspaces to open, made of known code.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What `main.py` of the large workspace ends with; line 9 is the empty one to type in. */
const MAIN = `"""Where the tests type."""
from shop.orders import Order
import os


def total(orders: list[Order]) -> float:
    return sum(order.amount for order in orders)


`;

const ORDERS = `"""Orders of the shop."""
from dataclasses import dataclass


@dataclass
class Order:
    """One order."""

    amount: float
    customer_name: str

    def cancel_with_refund(self, reason: str) -> float:
        """Cancel it and give the money back."""
        return self.amount


def import_orders_from_ledger(path: str) -> list[Order]:
    """Read orders from a file."""
    return [Order(amount=1.0, customer_name=path)]
`;

/** A workspace whose index takes a while: `modules` files of some hundred lines each. */
export function largeWorkspace(folder: string, modules: number): void {
  write(folder, "main.py", MAIN);
  write(folder, "shop/__init__.py", "");
  write(folder, "shop/orders.py", ORDERS);
  write(folder, "pyproject.toml", '[project]\nname = "shop"\nversion = "1"\n');
  for (let module = 0; module < modules; module += 1) {
    const lines = [`"""Module ${String(module)}."""`, ""];
    for (let item = 0; item < 30; item += 1) {
      const name = `${String(module)}_${String(item)}`;
      lines.push(`class Thing${name}:`, `    """Thing ${name}."""`, "");
      lines.push(`    def method_${name}(self, first: int, second: str = "x") -> str:`, `        return second * first`, "", "");
      lines.push(`def function_${name}(value: int) -> Thing${name}:`, `    return Thing${name}()`, "", "");
    }
    write(folder, `shop/part${String(module % 40)}/module_${String(module)}.py`, lines.join("\n"));
  }
}

/** A workspace that brings along programs, settings and test set-up, each of which leaves a mark when it is run. */
export function hostileWorkspace(folder: string, mark: string, real: Readonly<Record<"python" | "ruff" | "ty", string>>): void {
  for (const [name, program] of Object.entries(real)) {
    write(folder, `tools/${name}`, `#!/bin/sh\necho "$0 $@" >> ${mark}\nexec ${program} "$@"\n`);
    chmodSync(join(folder, "tools", name), 0o755);
  }
  write(folder, "main.py", MAIN);
  write(folder, "shop/__init__.py", "");
  write(folder, "shop/orders.py", ORDERS);
  write(folder, "conftest.py", `open(${JSON.stringify(mark)}, "a").write("conftest\\n")\n`);
  write(folder, "sitecustomize.py", `open(${JSON.stringify(mark)}, "a").write("sitecustomize\\n")\n`);
  const settings = {
    "headway.interpreter": join(folder, "tools", "python"),
    "headway.python.interpreter": join(folder, "tools", "python"),
    "headway.tests.python": join(folder, "tools", "python"),
    "headway.ruff.path": join(folder, "tools", "ruff"),
    "headway.ty.path": join(folder, "tools", "ty"),
  };
  write(folder, ".vscode/settings.json", JSON.stringify(settings));
}

export function write(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
