// Keeps a display calm: few changes, none for what is over before it can be read. Knows nothing of what is shown.

/** The clock and timer that a pacer uses; tests pass their own. */
export interface Timer {
  nowMs(): number;
  /** Calls back once, later. Returns what revokes it. */
  after(delayMs: number, call: () => void): () => void;
}

export const SYSTEM_TIMER: Timer = {
  nowMs: () => performance.now(),
  after: (delayMs, call) => {
    const handle = setTimeout(call, delayMs);
    return () => clearTimeout(handle);
  },
};

export interface PacePolicy {
  /** Least time between two changes. */
  readonly gapMs: number;
  /** Least time between two passing states: numbers that change all the time need no hurry. */
  readonly passingGapMs: number;
  /** How long a passing state must last before it is shown at all. */
  readonly settleMs: number;
  /** How long a passing state stays once it is shown. */
  readonly holdMs: number;
}

/** At most two changes a second, one where only counts change; work of less than 0.4 s does not make the bar blink. */
export const STATUS_PACE: PacePolicy = { gapMs: 500, passingGapMs: 1000, settleMs: 400, holdMs: 1000 };

/**
 * Shows the newest of a stream of values, paced. Values for which `passing` holds (busy) are shown only once such values
 * have been coming for `settleMs`, and then for at least `holdMs`, unless one for which `urgent` holds (error) comes.
 */
export class Pacer<T> {
  private shown: T | undefined;
  private shownAtMs = Number.NEGATIVE_INFINITY;
  private passingShownAtMs = Number.NEGATIVE_INFINITY;
  private wanted: T | undefined;
  private passingSinceMs: number | undefined;
  private revoke: (() => void) | undefined;

  constructor(
    private readonly policy: PacePolicy,
    private readonly timer: Timer,
    private readonly traits: {
      readonly passing: (value: T) => boolean;
      readonly urgent: (value: T) => boolean;
      readonly same: (a: T, b: T) => boolean;
    },
    private readonly show: (value: T) => void,
  ) {}

  /** Offers the newest value. */
  offer(value: T): void {
    if (!this.traits.passing(value)) {
      this.passingSinceMs = undefined;
    } else {
      this.passingSinceMs ??= this.timer.nowMs();
    }
    this.wanted = value;
    this.settle();
  }

  dispose(): void {
    this.revoke?.();
    this.revoke = undefined;
  }

  private settle(): void {
    this.revoke?.();
    this.revoke = undefined;
    const value = this.wanted;
    if (value === undefined || (this.shown !== undefined && this.traits.same(this.shown, value))) {
      return;
    }
    const waitMs = this.dueMs(value) - this.timer.nowMs();
    if (waitMs > 0) {
      this.revoke = this.timer.after(waitMs, () => this.settle());
      return;
    }
    const nowMs = this.timer.nowMs();
    if (this.traits.passing(value) && (this.shown === undefined || !this.traits.passing(this.shown))) {
      this.passingShownAtMs = nowMs;
    }
    this.shown = value;
    this.shownAtMs = nowMs;
    this.show(value);
  }

  private dueMs(value: T): number {
    const gapDueMs = this.shownAtMs + this.policy.gapMs;
    if (this.traits.urgent(value) || this.shown === undefined) {
      return gapDueMs;
    }
    const shownPasses = this.traits.passing(this.shown);
    if (this.traits.passing(value)) {
      const settledMs = (this.passingSinceMs ?? this.timer.nowMs()) + this.policy.settleMs;
      return shownPasses ? this.shownAtMs + this.policy.passingGapMs : Math.max(gapDueMs, settledMs);
    }
    return Math.max(gapDueMs, shownPasses ? this.passingShownAtMs + this.policy.holdMs : 0);
  }
}
