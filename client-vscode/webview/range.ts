// Which part of time is shown: it follows the present, or stands still, zoomed and moved by a person. Pure.

export interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

const SHORTEST_MS = 20;

export class View {
  private spanMs: number;
  /** Where it stands still; undefined while it follows. */
  private heldToMs: number | undefined;

  constructor(
    private readonly longestMs: number,
    spanMs: number,
  ) {
    this.spanMs = spanMs;
  }

  get live(): boolean {
    return this.heldToMs === undefined;
  }

  range(nowMs: number): Range {
    const toMs = this.heldToMs ?? nowMs;
    return { fromMs: toMs - this.spanMs, toMs };
  }

  hold(nowMs: number): void {
    this.heldToMs ??= nowMs;
  }

  follow(): void {
    this.heldToMs = undefined;
  }

  /** Makes the span `factor` times as long; what is at `share` (0 left, 1 right) stays where it is. */
  zoom(factor: number, share: number, nowMs: number): void {
    const { fromMs, toMs } = this.range(nowMs);
    const fixedMs = fromMs + (toMs - fromMs) * share;
    this.spanMs = Math.min(this.longestMs, Math.max(SHORTEST_MS, this.spanMs * factor));
    if (!this.live) {
      this.heldToMs = Math.min(nowMs, fixedMs + this.spanMs * (1 - share));
    }
  }

  /** Moves by a share of the span; at the present it stops. Whoever moves wants to look: it no longer follows. */
  move(shares: number, nowMs: number): void {
    const { toMs } = this.range(nowMs);
    const oldestMs = nowMs - this.longestMs + this.spanMs;
    this.heldToMs = Math.max(Math.min(nowMs, oldestMs), Math.min(nowMs, toMs + shares * this.spanMs));
  }

  show(range: Range): void {
    this.spanMs = Math.min(this.longestMs, Math.max(SHORTEST_MS, range.toMs - range.fromMs));
    this.heldToMs = range.toMs;
  }
}
