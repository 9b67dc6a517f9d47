// Changed settings that concern the extension itself. The server's own reach it through the language client.
import * as vscode from "vscode";
import { DidChangeConfigurationNotification } from "vscode-languageclient";
import { languagesServed } from "./config";
import type { Context } from "./context";
import { onInterpreterChosen } from "./pythonextension";

export function activate(context: Context): vscode.Disposable {
  let languages = languagesServed().join();
  const ownSettings = vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration("headway.engines") && languagesServed().join() !== languages) {
      languages = languagesServed().join();
      context.log.info('"headway.engines" names other languages');
      void context.server.restart(); // Which documents are sent is settled when a run begins.
    }
    if (event.affectsConfiguration("headway.interpreter")) {
      context.log.info('"headway.interpreter" has changed');
      void context.server.restart();
    }
  });
  const owned: vscode.Disposable[] = [ownSettings];
  void onInterpreterChosen(() => void interpreterChosen(context)).then((listener) => {
    if (listener !== undefined) {
      owned.push(listener);
    }
  });
  return new vscode.Disposable(() => {
    vscode.Disposable.from(...owned).dispose();
  });
}

async function interpreterChosen(context: Context): Promise<void> {
  const { phase } = context.server;
  if (phase.kind === "failed" && phase.problem.kind === "noPython") {
    return context.server.restart();
  }
  // The server pulls its settings anew, and is given the other interpreter with them.
  await context.server.notify(DidChangeConfigurationNotification.method, { settings: null });
}
