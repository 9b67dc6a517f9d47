// pytest's ids as places in a tree, and places as what pytest is asked to run. Pure.
import type { TestEvent } from "./protocol";

/** A node of the tree. `path` is below the folder, with slashes; `within` are the classes and the function in the file. */
export interface TestPath {
  readonly folder: string;
  readonly path: readonly string[];
  readonly within: readonly string[];
}

/** `a/test_b.py::TestC::test_d[1]` -> the steps `a`, `test_b.py`; `TestC`, `test_d`, `[1]`. What stands in brackets stays whole. */
export function pathOf(folder: string, id: string): TestPath {
  const end = id.indexOf("::");
  const path = (end < 0 ? id : id.slice(0, end)).split("/").filter((step) => step !== "" && step !== ".");
  if (end < 0) {
    return { folder, path, within: [] };
  }
  const rest = id.slice(end + 2);
  const bracket = rest.indexOf("[");
  const names = (bracket < 0 ? rest : rest.slice(0, bracket)).split("::");
  return { folder, path, within: bracket < 0 ? names : [...names, rest.slice(bracket)] };
}

/** The id under which a node is known, and that of the one above it. */
export function keyOf({ folder, path, within }: TestPath): string {
  return [folder, path.join("/"), ...within].join("\n");
}

/** The node above; undefined for a workspace folder. */
export function parentOf(node: TestPath): TestPath | undefined {
  if (node.within.length > 0) {
    return { ...node, within: node.within.slice(0, -1) };
  }
  return node.path.length > 0 ? { ...node, path: node.path.slice(0, -1) } : undefined;
}

/** What pytest calls it, below the workspace folder at `root`. */
export function targetOf({ path, within }: TestPath, root: string): string {
  const names = within.filter((name) => !name.startsWith("["));
  const file = [root.replace(/\/$/, ""), ...path].join("/");
  return [file, ...names].join("::") + (names.length < within.length ? (within.at(-1) ?? "") : "");
}

/** Whether a file may hold tests, by the patterns that pytest goes by. */
export function mayHoldTests(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const source = pattern
      .replace(/[.+^${}()|\\]/g, "\\$&")
      .replaceAll("*", ".*")
      .replaceAll("?", ".");
    return new RegExp(`^${source}$`).test(name);
  });
}

/** Files whose change can change every test. */
export function concernsAll(name: string): boolean {
  return ["conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"].includes(name);
}

/** One line for the output of a run; undefined for what is no news to a person. */
export function outcomeLine(event: TestEvent): string | undefined {
  if (!["passed", "failed", "skipped", "error"].includes(event.event)) {
    return undefined;
  }
  const took = event.durationMs === undefined ? "" : ` (${event.durationMs.toFixed(event.durationMs < 10 ? 1 : 0)} ms)`;
  const reason = event.event === "skipped" && event.message !== undefined ? `: ${event.message}` : "";
  return `${event.event.toUpperCase()} ${event.id}${took}${reason}`;
}

/** What pytest says of a failure, with the reason in front: its first lines only show the code. */
export function failureText(message: string): string {
  const reason = /^E\s+(.*)$/m.exec(message)?.[1];
  return reason === undefined ? message : `${reason}\n\n${message}`;
}

/** The text of a terminal: each line begins at its margin. */
export function terminal(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}
