// Nothing that happens while a file is saved may wait for the server for long: a late answer is worth less than the save.
import type * as vscode from "vscode";
import { CancellationTokenSource, CodeActionKind } from "vscode";
import type { Middleware } from "vscode-languageclient/node";

/** Longest that a save waits for one answer. */
export const SAVE_WAIT_MS = 750;

/** Runs `call` with a token of its own; after `limitMs` the token is cancelled and the answer is `undefined`. */
export async function bounded<T>(
  limitMs: number,
  token: vscode.CancellationToken,
  call: (token: vscode.CancellationToken) => vscode.ProviderResult<T>,
): Promise<T | null | undefined> {
  const source = new CancellationTokenSource();
  const outer = token.onCancellationRequested(() => source.cancel());
  const timer: { handle?: NodeJS.Timeout } = {};
  const late = new Promise<undefined>((resolve) => {
    timer.handle = setTimeout(() => {
      source.cancel();
      resolve(undefined);
    }, limitMs);
  });
  try {
    return await Promise.race([Promise.resolve(call(source.token)), late]);
  } finally {
    clearTimeout(timer.handle);
    outer.dispose();
    source.dispose();
  }
}

/** Middleware for the requests that a save can be made to wait for. */
export const SAVING: Middleware = {
  willSaveWaitUntil: async (event, next) => {
    const source = new CancellationTokenSource();
    try {
      return (await bounded(SAVE_WAIT_MS, source.token, () => next(event))) ?? [];
    } finally {
      source.dispose();
    }
  },
  provideDocumentFormattingEdits: (document, options, token, next) =>
    bounded(SAVE_WAIT_MS, token, (inner) => next(document, options, inner)),
  provideCodeActions: (document, range, context, token, next) =>
    context.only !== undefined && CodeActionKind.Source.contains(context.only)
      ? bounded(SAVE_WAIT_MS, token, (inner) => next(document, range, context, inner))
      : next(document, range, context, token),
};
