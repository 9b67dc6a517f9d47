// What the Python extension knows, where it is installed. Headway works without it and never waits for it for long.
import * as vscode from "vscode";

/** The part of its interface that is used here. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(path: { readonly path: string }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

const ID = "ms-python.python";
const WAIT_MS = 5000;

/** The interpreter that is chosen there, or undefined: not installed, not ready, or none chosen. */
export async function chosenInterpreter(): Promise<string | undefined> {
  const environments = (await api())?.environments;
  if (environments === undefined) {
    return undefined;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const resolved = await timed(environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder)));
  return resolved?.executable.uri?.fsPath;
}

/** Calls back when another interpreter is chosen there. */
export async function onInterpreterChosen(call: () => void): Promise<vscode.Disposable | undefined> {
  return (await api())?.environments.onDidChangeActiveEnvironmentPath(call);
}

async function api(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<unknown>(ID);
  if (extension === undefined) {
    return undefined;
  }
  const exports = await timed(extension.activate());
  return isApi(exports) ? exports : undefined;
}

function isApi(found: unknown): found is PythonApi {
  const environments: unknown = typeof found === "object" && found !== null ? Reflect.get(found, "environments") : undefined;
  return (
    typeof environments === "object" &&
    environments !== null &&
    ["getActiveEnvironmentPath", "resolveEnvironment", "onDidChangeActiveEnvironmentPath"].every(
      (name) => typeof Reflect.get(environments, name) === "function",
    )
  );
}

/** Its answer, or undefined where it fails or takes too long: its troubles are not ours. */
async function timed<T>(answer: Thenable<T>): Promise<T | undefined> {
  const timer: { handle?: NodeJS.Timeout } = {};
  const late = new Promise<undefined>((resolve) => {
    timer.handle = setTimeout(() => resolve(undefined), WAIT_MS);
  });
  try {
    return await Promise.race([Promise.resolve(answer).catch(() => undefined), late]);
  } finally {
    clearTimeout(timer.handle);
  }
}
