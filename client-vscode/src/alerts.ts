// The server's alerts as messages: one for each kind, with what can be done about it.
import * as vscode from "vscode";
import { actionsFor, Alerting, type Action } from "./alerting";
import type { Context } from "./context";
import type { Alert } from "./protocol";

const MUTED = "headway.alerts.muted";

export function activate(context: Context): vscode.Disposable {
  const state = context.extension.globalState;
  const muted = (): readonly string[] => state.get<readonly string[]>(MUTED, []);
  const alerting = new Alerting((kind) => muted().includes(kind));
  return context.server.onAlert((alert) => {
    if (alerting.worthTelling(alert)) {
      void tell(alert, () => state.update(MUTED, [...muted(), alert.metric]));
    }
  });
}

async function tell(alert: Alert, mute: () => Thenable<void>): Promise<void> {
  const buttons = actionsFor(alert).map((action) => ({ title: actionText(action), run: () => vscode.commands.executeCommand(COMMANDS[action]) }));
  const never = { title: vscode.l10n.t("Don't Show Again"), run: mute };
  const picked = await vscode.window.showWarningMessage(`Headway: ${alert.message}`, ...buttons, never);
  await picked?.run();
}

const COMMANDS: Readonly<Record<Action, string>> = {
  scheduler: "headway.jobs.focus",
  timeline: "headway.showTimeline",
  pause: "headway.pauseBackground",
  log: "headway.showLog",
};

function actionText(action: Action): string {
  switch (action) {
    case "scheduler":
      return vscode.l10n.t("Show Scheduler");
    case "timeline":
      return vscode.l10n.t("Show Timeline");
    case "pause":
      return vscode.l10n.t("Pause Background Work");
    case "log":
      return vscode.l10n.t("Show Log");
  }
}
