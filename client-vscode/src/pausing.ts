// Pauses background work for an hour. The server knows no clock for that: it is resumed from here, or by a person before.
import * as vscode from "vscode";
import type { Context } from "./context";
import { pause, resume } from "./protocol";

const HOUR_MS = 3_600_000;

export function activate(context: Context): vscode.Disposable {
  const { server } = context;
  const state: { timer?: NodeJS.Timeout } = {};
  const forget = (): void => {
    clearTimeout(state.timer);
    delete state.timer;
    server.pausedUntilMs = undefined;
  };
  const over = async (): Promise<void> => {
    forget();
    if (server.phase.kind === "running") {
      await server.ask(resume, {}).catch((error: unknown) => context.log.warn(`background work was not resumed: ${String(error)}`));
    }
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand("headway.pauseForAnHour", async () => {
      try {
        await server.ask(pause, {});
      } catch (error) {
        context.log.info(`background work was not paused: ${String(error)}`);
        return vscode.window.showWarningMessage(vscode.l10n.t("Headway's server does not answer now."));
      }
      forget();
      server.pausedUntilMs = Date.now() + HOUR_MS;
      state.timer = setTimeout(() => void over(), HOUR_MS);
      return undefined;
    }),
    // Whoever resumes before, wherever, is right.
    server.onQueueState((queue) => {
      if (state.timer !== undefined && queue.pausedPriorities.length === 0) {
        forget();
      }
    }),
    // A crash changes nothing: the next server is paused again. A start that a person asks for does.
    server.onPhase((phase) => {
      if (phase.kind === "stopped") {
        forget();
      }
    }),
    new vscode.Disposable(forget),
  );
}
