// Status bar: what the server does, how many tasks run and wait. Fed by the phase and by `headway/queueState`.
import * as vscode from "vscode";
import type { Context } from "./context";
import { look, statusText, titledState, tooltip, TOOLTIP_COMMANDS, type Look, type StatusInput } from "./labels";
import { Pacer, STATUS_PACE, SYSTEM_TIMER } from "./pacing";

export function activate(context: Context): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("headway.status", vscode.StatusBarAlignment.Left, -10);
  item.name = "Headway";
  item.command = "headway.showMenu";
  const told = { paused: false };
  const face = new Face(item);
  // What comes is put into words when its time has come: most of it is old by then.
  const pacer = new Pacer<StatusInput>(
    STATUS_PACE,
    SYSTEM_TIMER,
    {
      passing: (input) => look(input) === "busy",
      urgent: (input) => ["error", "stopped"].includes(look(input)),
      same: () => false,
    },
    (input) => face.show(input),
  );
  const update = (): void => {
    const { phase, queue, alerts, pausedUntilMs } = context.server;
    pacer.offer({ phase, queue, alerts, pausedUntilMs, trusted: vscode.workspace.isTrusted });
  };
  const listeners = [
    context.server.onPhase(update),
    context.server.onQueueState((queue) => {
      const paused = queue.pausedPriorities.length > 0;
      if (paused !== told.paused) {
        told.paused = paused;
        void vscode.commands.executeCommand("setContext", "headway.paused", paused);
      }
      update();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(update),
  ];
  update();
  item.show();
  return vscode.Disposable.from(item, pacer, ...listeners);
}

/** The item as it was set last: the editor is told of what has changed. */
class Face {
  private spoken = "";
  private tooltip = "";

  constructor(private readonly item: vscode.StatusBarItem) {}

  show(input: StatusInput): void {
    const { item } = this;
    const [text, spoken, words] = [statusText(input), titledState(input, vscode.l10n.t), tooltip(input, vscode.l10n.t)];
    if (item.text !== text || this.spoken !== spoken) {
      this.spoken = spoken;
      item.text = text;
      item.accessibilityInformation = { label: spoken };
      item.backgroundColor = background(look(input));
    }
    if (this.tooltip !== words) {
      this.tooltip = words;
      const markdown = new vscode.MarkdownString(words, true);
      markdown.supportHtml = true; // for small print; what comes from the server is escaped
      markdown.isTrusted = { enabledCommands: TOOLTIP_COMMANDS };
      item.tooltip = markdown;
    }
  }
}

function background(now: Look): vscode.ThemeColor | undefined {
  switch (now) {
    case "error":
      return new vscode.ThemeColor("statusBarItem.errorBackground");
    case "degraded":
    case "restarting":
      return new vscode.ThemeColor("statusBarItem.warningBackground");
    default:
      return undefined;
  }
}
