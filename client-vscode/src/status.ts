// Status bar: what the server does, how many tasks run and wait. Fed by the phase and by `headway/queueState`.
import * as vscode from "vscode";
import type { Context } from "./context";
import { look, statusText, titledState, tooltip, TOOLTIP_COMMANDS, type Look, type StatusInput } from "./labels";
import { Pacer, STATUS_PACE, SYSTEM_TIMER } from "./pacing";

interface Face {
  readonly look: Look;
  readonly text: string;
  readonly tooltip: string;
  readonly spoken: string;
}

export function activate(context: Context): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("headway.status", vscode.StatusBarAlignment.Left, -10);
  item.name = "Headway";
  item.command = "headway.showMenu";
  const told = { paused: false };
  const pacer = new Pacer<Face>(
    STATUS_PACE,
    SYSTEM_TIMER,
    {
      passing: (face) => face.look === "busy",
      urgent: (face) => face.look === "error" || face.look === "stopped",
      same: (a, b) => a.text === b.text && a.tooltip === b.tooltip && a.look === b.look,
    },
    (face) => show(item, face),
  );
  const update = (): void => {
    const { phase, queue, alerts, pausedUntilMs } = context.server;
    pacer.offer(faceOf({ phase, queue, alerts, pausedUntilMs, trusted: vscode.workspace.isTrusted }));
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

function faceOf(input: StatusInput): Face {
  return {
    look: look(input),
    text: statusText(input),
    tooltip: tooltip(input, vscode.l10n.t),
    spoken: titledState(input, vscode.l10n.t),
  };
}

function show(item: vscode.StatusBarItem, face: Face): void {
  if (item.text !== face.text) {
    item.text = face.text;
    item.accessibilityInformation = { label: face.spoken };
    item.backgroundColor = background(face.look);
  }
  const markdown = new vscode.MarkdownString(face.tooltip, true);
  markdown.supportHtml = true; // for small print; what comes from the server is escaped
  markdown.isTrusted = { enabledCommands: TOOLTIP_COMMANDS };
  item.tooltip = markdown;
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
