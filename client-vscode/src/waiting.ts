// What a person asked for and waits for: once it takes long the window shows how far it is, and how it is stopped.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient";
import { shownWhenLong, Steps, type WorkDone } from "./patience";

/** Nobody looks for a reason before that. */
const LONG_MS = 1500;

type Run<Answer> = (token: vscode.CancellationToken, report: (done: WorkDone) => void) => PromiseLike<Answer>;

/** Runs work under a token that `outer` and the person can cancel; throws CancellationError where the person has. */
export async function waitedFor<Answer>(title: string, run: Run<Answer>, outer?: vscode.CancellationToken): Promise<Answer> {
  const source = new vscode.CancellationTokenSource();
  const linked = outer?.onCancellationRequested(() => source.cancel());
  const bar: { newest?: WorkDone; steps: Steps; shown?: vscode.Progress<{ message?: string; increment?: number }>; stopped: boolean } = {
    steps: new Steps(),
    stopped: false,
  };
  const report = (done: WorkDone): void => {
    bar.newest = { ...bar.newest, ...done };
    const increment = bar.shown === undefined ? undefined : bar.steps.to(done.percentage);
    bar.shown?.report({ ...(done.message === undefined ? {} : { message: done.message }), ...(increment === undefined ? {} : { increment }) });
  };
  const show = (end: Promise<void>): void => {
    const location = vscode.ProgressLocation.Notification;
    void vscode.window.withProgress({ location, title, cancellable: true }, (progress, token) => {
      token.onCancellationRequested(() => {
        bar.stopped = true;
        source.cancel();
      });
      bar.shown = progress;
      report(bar.newest ?? {});
      return end;
    });
  };
  try {
    return await shownWhenLong(LONG_MS, run(source.token, report), show);
  } catch (error) {
    // The server confirms by an error that it was stopped, which is no news to who did it.
    throw bar.stopped ? new vscode.CancellationError() : error;
  } finally {
    linked?.dispose();
    source.dispose();
  }
}

/** Middleware for the requests that look through everything. */
export const WAITING: Middleware = {
  provideReferences: (document, position, options, token, next) =>
    waitedFor(vscode.l10n.t("Headway: finding references"), (inner) => asked(next(document, position, options, inner)), token),
  provideImplementation: (document, position, token, next) =>
    waitedFor(vscode.l10n.t("Headway: finding implementations"), (inner) => asked(next(document, position, inner)), token),
  provideRenameEdits: (document, position, name, token, next) =>
    waitedFor(vscode.l10n.t("Headway: renaming"), (inner) => asked(next(document, position, name, inner)), token),
};

function asked<Answer>(answer: vscode.ProviderResult<Answer>): Promise<Answer | null | undefined> {
  return Promise.resolve(answer);
}
