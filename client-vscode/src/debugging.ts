// Tests under a debugger: the server starts them with the debugpy of the Python Debugger extension, which then attaches to them.
import { join } from "node:path";
import * as vscode from "vscode";

const DEBUGGER = "ms-python.debugpy";

/** The folder of the debugger's Python part. Where there is none a person is told how to get it, and the answer is undefined. */
export async function debuggerFolder(): Promise<string | undefined> {
  const found = vscode.extensions.getExtension(DEBUGGER);
  if (found !== undefined) {
    return join(found.extensionPath, "bundled", "libs");
  }
  const show = { title: vscode.l10n.t("Show the Extension") };
  const text = vscode.l10n.t("Debugging tests needs the extension Python Debugger ({0}). Install it, then debug again.", DEBUGGER);
  if ((await vscode.window.showWarningMessage(text, show)) === show) {
    await vscode.commands.executeCommand("workbench.extensions.search", `@id:${DEBUGGER}`);
  }
  return undefined;
}

/** Attaches to tests that wait at a port of the server's machine. Throws where that is not possible. */
export async function attach(folder: string, port: number, run: vscode.TestRun, name: string): Promise<void> {
  const configuration = { type: "debugpy", request: "attach", name, connect: { host: "127.0.0.1", port }, justMyCode: true };
  const began = await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(folder)), configuration, { testRun: run });
  if (!began) {
    throw new Error(vscode.l10n.t("The debugger could not be started."));
  }
}

/** Calls `stopped` a moment after a person has ended the debugging of a run that then goes on by itself. */
export function whenLeft(name: string, stopped: () => void): vscode.Disposable {
  const timer: { handle?: NodeJS.Timeout } = {};
  const listener = vscode.debug.onDidTerminateDebugSession((session) => {
    if (session.name === name) {
      // Most sessions end since the tests have: then the run ends by itself, with the last that it has to tell.
      timer.handle = setTimeout(stopped, LAST_WORDS_MS);
    }
  });
  return new vscode.Disposable(() => {
    clearTimeout(timer.handle);
    listener.dispose();
  });
}

const LAST_WORDS_MS = 2000;
