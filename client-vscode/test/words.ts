// The words of the sources, for tests of translations; and a stand-in for `vscode.l10n.t`.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** The repository's root: unit tests run there. */
export const ROOT = process.cwd();

/** English, with the arguments put in, as the editor does without a translation. */
export function english(message: string, ...args: (string | number | boolean)[]): string {
  return message.replace(/\{(\d+)\}/g, (whole, index: string) => String(args[Number(index)] ?? whole));
}

export function readJson(...path: string[]): Record<string, string> {
  return JSON.parse(readFileSync(join(ROOT, ...path), "utf8")) as Record<string, string>;
}

/** Every message that the sources hand to `t`, with where it stands. Raises where one is no plain string. */
export function spokenMessages(): Map<string, string> {
  const folder = join(ROOT, "client-vscode", "src");
  const found = new Map<string, string>();
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".ts"))) {
    const source = ts.createSourceFile(name, readFileSync(join(folder, name), "utf8"), ts.ScriptTarget.ES2022, true);
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && isTranslation(node.expression)) {
        const [message] = node.arguments;
        if (message === undefined || !ts.isStringLiteralLike(message)) {
          throw new Error(`${name}: t() needs a plain string: ${node.getText()}`);
        }
        found.set(message.text, name);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

function isTranslation(callee: ts.Expression): boolean {
  return ts.isIdentifier(callee) ? callee.text === "t" : ts.isPropertyAccessExpression(callee) && callee.name.text === "t";
}
