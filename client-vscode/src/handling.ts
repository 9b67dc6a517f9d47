// How long what the server tells by itself holds the editor's extensions up. Pure.

const NEWEST = 500;
const SHARE = 0.95;

/** Times of handling, of which the newest are kept. */
export class Handling {
  /** All so far. */
  count = 0;
  worstMs = 0;
  private readonly newest: number[] = [];

  constructor(private readonly nowMs: () => number) {}

  /** `take`, whose time is noted from now on, also where it throws. */
  noted<T>(take: (told: T) => void): (told: T) => void {
    return (told) => {
      const begun = this.nowMs();
      try {
        take(told);
      } finally {
        this.note(this.nowMs() - begun);
      }
    };
  }

  /** 95 % of the newest took at most this; 0 before the first. */
  get mostMs(): number {
    const sorted = this.newest.toSorted((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * SHARE) - 1] ?? 0;
  }

  private note(tookMs: number): void {
    this.newest[this.count % NEWEST] = tookMs;
    this.count += 1;
    this.worstMs = Math.max(this.worstMs, tookMs);
  }
}
