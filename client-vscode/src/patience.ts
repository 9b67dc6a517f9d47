// What takes long is shown; what does not never is. Pure but for the timer.

/** The value of `$/progress` under a `workDoneToken`. */
export interface WorkDone {
  readonly message?: string;
  readonly percentage?: number;
}

/** Returns what `work` comes to; where it has not after `afterMs`, `show` is called with a promise of its end, which never rejects. */
export async function shownWhenLong<Answer>(afterMs: number, work: PromiseLike<Answer>, show: (end: Promise<void>) => void): Promise<Answer> {
  const end: { come?: () => void } = {};
  const come = new Promise<void>((resolve) => (end.come = resolve));
  const timer = setTimeout(() => show(come), afterMs);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    end.come?.();
  }
}

/** Runs `work` one at a time: who asks again while it goes on is told undefined at once. */
export function oneAtATime<Answer>(work: () => Promise<Answer>): () => Promise<Answer | undefined> {
  let going = false;
  return async () => {
    if (going) {
      return undefined;
    }
    going = true;
    try {
      return await work();
    } finally {
      going = false;
    }
  };
}

/** A bar's steps from the percentages that work reports, which never fall. */
export class Steps {
  private shown = 0;

  /** How much further the bar goes; undefined where nothing is known of it. */
  to(percentage: number | undefined): number | undefined {
    if (percentage === undefined) {
      return undefined;
    }
    const further = Math.max(0, Math.min(100, percentage) - this.shown);
    this.shown += further;
    return further;
  }
}
