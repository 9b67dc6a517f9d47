// When a server that ended by itself is started again. Pure: the clock is passed in.

export interface BackoffPolicy {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A server that ran this long was healthy: the next failure starts a new series. */
  readonly healthyMs: number;
  /** Failures in a row after which only a person's word starts it again. */
  readonly giveUpAfter: number;
}

export const RESTART_POLICY: BackoffPolicy = { firstMs: 500, maxMs: 30_000, healthyMs: 120_000, giveUpAfter: 8 };

/** What to do after a failure; `failures` counts those in a row, this one included. */
export type Verdict =
  | { readonly kind: "retry"; readonly delayMs: number; readonly failures: number }
  | { readonly kind: "giveUp"; readonly failures: number };

export class Backoff {
  private failures = 0;

  constructor(private readonly policy: BackoffPolicy) {}

  /** Takes note of an end that nobody asked for. `ranMs`: how long the server had been serving, 0 if it never did. */
  failed(ranMs: number): Verdict {
    this.failures = ranMs >= this.policy.healthyMs ? 1 : this.failures + 1;
    if (this.failures >= this.policy.giveUpAfter) {
      return { kind: "giveUp", failures: this.failures };
    }
    const delayMs = Math.min(this.policy.maxMs, this.policy.firstMs * 2 ** (this.failures - 1));
    return { kind: "retry", delayMs, failures: this.failures };
  }

  /** A person asked for a start: what was before does not count. */
  reset(): void {
    this.failures = 0;
  }
}
