// Bounds how long somebody waits for an answer. Pure but for the timer.

/** A cancellation token as the editor has it; the part that is used here. */
export interface Source<Token> {
  readonly token: Token;
  cancel(): void;
  dispose(): void;
}

/** Runs `call` with a token of its own; after `limitMs` the token is cancelled and the answer is `late()`. */
export async function bounded<Token, Answer, Late>(
  limitMs: number,
  source: Source<Token>,
  call: (token: Token) => Answer | PromiseLike<Answer>,
  late: () => Late,
): Promise<Answer | Late> {
  const timer: { handle?: NodeJS.Timeout } = {};
  const limit = new Promise<Late>((resolve, reject) => {
    timer.handle = setTimeout(() => {
      source.cancel();
      // What `late` throws is the outcome too.
      new Promise<Late>((done) => done(late())).then(resolve, reject);
    }, limitMs);
  });
  try {
    return await Promise.race([Promise.resolve(call(source.token)), limit]);
  } finally {
    clearTimeout(timer.handle);
    source.dispose();
  }
}
