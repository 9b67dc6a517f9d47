// Restricted Mode: the server is told when trust comes; what was off for want of it then starts without a reload.
import * as vscode from "vscode";
import type { Context } from "./context";
import { TRUST_GRANTED } from "./protocol";

export function activate(context: Context): vscode.Disposable {
  return vscode.workspace.onDidGrantWorkspaceTrust(async () => {
    context.log.info("the workspace is trusted now");
    if (context.server.phase.kind === "failed") {
      // An interpreter that only the workspace names counts from now on.
      return context.server.restart();
    }
    await context.server.notify(TRUST_GRANTED, {});
  });
}
