// What the timeline remembers: slices by worker, and samples of what was measured. Bounded in time and number. Pure.
import type { PriorityName, Timeline } from "../src/protocol";

/** How far back the timeline reaches. */
export const HISTORY_MS = 600_000;
const MOST_SLICES = 50_000;
const MOST_SAMPLES = 5_000;
/** Steps that share a slot are spread over so many rows; more lie over each other in the last. */
const MOST_LANES = 8;

export interface Slice {
  readonly row: string;
  readonly name: string;
  readonly priority: string;
  readonly failed: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

/** Tasks that wait, by priority, most urgent first. */
export interface Depth {
  readonly atMs: number;
  readonly waiting: readonly number[];
}

export interface Sample {
  readonly atMs: number;
  /** Shares, 0…1; null where unknown. */
  readonly memory: number | null;
  readonly gpu: number | null;
  readonly workersMb: number | null;
}

export interface Completion {
  readonly atMs: number;
  readonly tookMs: number;
}

const LEVELS: readonly PriorityName[] = ["CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH"];

/** The newest ten minutes. Rows keep their order once they are there. */
export class History {
  private bySlot = new Map<string, Slice[][]>();
  private known = new Set<string>();
  depths: Depth[] = [];
  samples: Sample[] = [];
  completions: Completion[] = [];
  slaMs: number | null = null;
  private newestMs = 0;

  /** When the newest of all that is known was. */
  get endMs(): number {
    return this.newestMs;
  }

  /** Takes an answer of `headway/timeline`. What it tells again is taken once. */
  take(timeline: Timeline): void {
    const { queueState, workers } = timeline;
    const nowMs = queueState.at;
    this.newestMs = Math.max(this.newestMs, nowMs);
    this.slaMs = timeline.completionSlaMs;
    this.takeSlices(timeline);
    for (const event of timeline.traceEvents) {
      if (event.ph === "C" && event.name === "tasks waiting") {
        this.takeDepth(timeline.originAt + (event.ts ?? 0) / 1000, (level) => Number(event.args[level]));
      }
    }
    this.takeDepth(nowMs, (level) => queueState.queues[level].queued);
    this.takeSample({
      atMs: nowMs,
      memory: queueState.pressure.memory,
      gpu: queueState.pressure.gpu,
      workersMb: workers.length === 0 ? null : workers.reduce((sum, worker) => sum + (worker.rssMb ?? 0), 0),
    });
    const lastMs = this.completions.at(-1)?.atMs ?? 0;
    const newer = timeline.completions.filter((one) => one.at > lastMs + 0.001);
    this.completions.push(...newer.map((one) => ({ atMs: one.at, tookMs: one.tookMs })));
    this.forget(nowMs - HISTORY_MS);
  }

  /** The rows with their slices, each by start; workers first, then threads, then the loop. */
  rows(): { readonly name: string; readonly slices: readonly Slice[] }[] {
    const rank = (slot: string): number => (slot.startsWith("loop") ? 2 : slot.startsWith("thread") ? 1 : slot.startsWith("event loop") ? 3 : 0);
    const slots = [...this.bySlot.keys()].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true }));
    return slots.flatMap((slot) =>
      (this.bySlot.get(slot) ?? []).map((slices, lane) => ({ name: lane === 0 ? slot : `${slot} (${String(lane + 1)})`, slices })),
    );
  }

  get slices(): number {
    return this.known.size;
  }

  private takeSlices(timeline: Timeline): void {
    const names = new Map<number, string>();
    for (const event of timeline.traceEvents) {
      if (event.ph === "M" && event.name === "thread_name") {
        names.set(event.tid, event.args["name"] as string);
      }
    }
    for (const event of timeline.traceEvents) {
      if (event.ph !== "X" || event.dur === undefined || event.ts === undefined) {
        continue;
      }
      const key = `${event.name}|${String(event.args["taskId"])}|${event.ts.toFixed(0)}`;
      if (this.known.has(key)) {
        continue;
      }
      this.known.add(key);
      const startMs = timeline.originAt + event.ts / 1000;
      // The rows of an answer depend on what is in it; the slot does not.
      const slot = (names.get(event.tid) ?? "loop").replace(/ \(\d+\)$/, "");
      const state = event.args["state"];
      this.place({
        row: slot,
        name: event.name,
        priority: event.cat ?? "",
        failed: state === "FAILED",
        startMs,
        endMs: startMs + event.dur / 1000,
      });
    }
  }

  private place(slice: Slice): void {
    const lanes = this.bySlot.get(slice.row) ?? [];
    this.bySlot.set(slice.row, lanes);
    let lane = lanes.find((slices) => (slices.at(-1)?.endMs ?? 0) <= slice.startMs + 0.01);
    if (lane === undefined && lanes.length < MOST_LANES) {
      lane = [];
      lanes.push(lane);
    }
    (lane ?? lanes[lanes.length - 1])?.push(slice);
  }

  private takeDepth(atMs: number, count: (level: PriorityName) => number): void {
    if (atMs > (this.depths.at(-1)?.atMs ?? 0) + 0.01) {
      this.depths.push({ atMs, waiting: LEVELS.map(count) });
    }
  }

  private takeSample(sample: Sample): void {
    const last = this.samples.at(-1);
    if (last === undefined || sample.atMs > last.atMs) {
      this.samples.push(sample);
    }
  }

  private forget(beforeMs: number): void {
    this.depths = newest(this.depths.filter((one) => one.atMs >= beforeMs), MOST_SAMPLES);
    this.samples = newest(this.samples.filter((one) => one.atMs >= beforeMs), MOST_SAMPLES);
    this.completions = newest(this.completions.filter((one) => one.atMs >= beforeMs), MOST_SAMPLES);
    if (this.known.size > 2 * MOST_SLICES) {
      this.known = new Set([...this.known].slice(-MOST_SLICES));
    }
    for (const [slot, lanes] of this.bySlot) {
      const kept = lanes.map((slices) => {
        const first = slices.findIndex((slice) => slice.endMs >= beforeMs);
        return newest(first < 0 ? [] : first === 0 ? slices : slices.slice(first), MOST_SLICES / 10);
      });
      // Empty lanes at the end go; one in between keeps the others where they are.
      while (kept.length > 0 && kept.at(-1)?.length === 0) {
        kept.pop();
      }
      if (kept.length === 0) {
        this.bySlot.delete(slot);
      } else {
        this.bySlot.set(slot, kept);
      }
    }
  }
}

function newest<T>(all: T[], most: number): T[] {
  return all.length > most ? all.slice(-most) : all;
}

/** The first index whose slice ends at `atMs` or later: slices of a row are sorted by both their ends. */
export function firstAfter(slices: readonly Slice[], atMs: number): number {
  let low = 0;
  let high = slices.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((slices[middle]?.endMs ?? Infinity) < atMs) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
