// Nothing that happens while a file is saved may wait for the server for long: a late answer is worth less than the save.
import { CancellationTokenSource, CodeActionKind, type CancellationToken } from "vscode";
import type { Middleware } from "vscode-languageclient";
import { bounded, type Source } from "./bounded";

/** Longest that a save waits for one answer. */
const SAVE_WAIT_MS = 750;

/** Middleware for the requests that a save can be made to wait for. */
export const SAVING: Middleware = {
  willSaveWaitUntil: (event, next) => bounded(SAVE_WAIT_MS, new CancellationTokenSource(), () => next(event), () => []),
  provideDocumentFormattingEdits: (document, options, token, next) =>
    bounded(SAVE_WAIT_MS, linked(token), (inner) => next(document, options, inner), () => undefined),
  provideCodeActions: (document, range, context, token, next) =>
    context.only !== undefined && CodeActionKind.Source.contains(context.only)
      ? bounded(SAVE_WAIT_MS, linked(token), (inner) => next(document, range, context, inner), () => undefined)
      : next(document, range, context, token),
};

/** A token that can be cancelled here and is cancelled with the given one. */
function linked(outer: CancellationToken): Source<CancellationToken> {
  const source = new CancellationTokenSource();
  const listener = outer.onCancellationRequested(() => source.cancel());
  return {
    token: source.token,
    cancel: () => source.cancel(),
    dispose: () => {
      listener.dispose();
      source.dispose();
    },
  };
}
