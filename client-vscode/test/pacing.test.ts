import assert from "node:assert/strict";
import { test } from "node:test";
import { Pacer, STATUS_PACE, type Timer } from "../src/pacing";

/** A clock that stands until it is moved. */
class FakeTimer implements Timer {
  private now = 0;
  private readonly pending = new Set<{ readonly dueMs: number; readonly call: () => void }>();

  nowMs(): number {
    return this.now;
  }

  after(delayMs: number, call: () => void): () => void {
    const entry = { dueMs: this.now + delayMs, call };
    this.pending.add(entry);
    return () => this.pending.delete(entry);
  }

  advanceTo(untilMs: number): void {
    for (;;) {
      const next = [...this.pending].filter((entry) => entry.dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined) {
        break;
      }
      this.now = Math.max(this.now, next.dueMs);
      this.pending.delete(next);
      next.call();
    }
    this.now = untilMs;
  }
}

function paced(): { timer: FakeTimer; offer: (value: string) => void; dispose: () => void; shown: [number, string][] } {
  const timer = new FakeTimer();
  const shown: [number, string][] = [];
  const traits = {
    passing: (value: string) => value.startsWith("busy"),
    urgent: (value: string) => value === "error",
    same: (a: string, b: string) => a === b,
  };
  const pacer = new Pacer<string>(STATUS_PACE, timer, traits, (value) => shown.push([timer.nowMs(), value]));
  return { timer, offer: (value) => pacer.offer(value), dispose: () => pacer.dispose(), shown };
}

test("a thousand tasks of 5 ms make at most two changes a second, one of them in counts, and the last one is true", () => {
  const { timer, offer, shown } = paced();
  offer("idle");
  for (let index = 0; index < 1000; index += 1) {
    timer.advanceTo(1000 + index * 5);
    offer(`busy ${1000 - index}`);
  }
  timer.advanceTo(6100);
  offer("idle");
  timer.advanceTo(20_000);
  for (const [index, [atMs]] of shown.entries()) {
    const within = shown.slice(index).filter(([otherMs]) => otherMs - atMs < 1000);
    assert.ok(within.length <= 2, `${within.length} changes within a second of ${atMs} ms`);
  }
  const busyAtMs = shown.filter(([, value]) => value.startsWith("busy")).map(([atMs]) => atMs);
  assert.ok(busyAtMs.length >= 5);
  busyAtMs.slice(1).forEach((atMs, index) => assert.ok(atMs - (busyAtMs[index] ?? 0) >= STATUS_PACE.passingGapMs));
  assert.equal(shown.at(-1)?.[1], "idle");
});

test("work that is over before it could be read is not shown", () => {
  const { timer, offer, shown } = paced();
  offer("idle");
  timer.advanceTo(5000);
  offer("busy 1");
  timer.advanceTo(5000 + STATUS_PACE.settleMs - 1);
  offer("idle");
  timer.advanceTo(10_000);
  assert.deepEqual(shown, [[0, "idle"]]);
});

test("busy stays long enough to be read once it is shown", () => {
  const { timer, offer, shown } = paced();
  offer("idle");
  timer.advanceTo(5000);
  offer("busy 1");
  timer.advanceTo(5450);
  offer("idle");
  timer.advanceTo(10_000);
  const busyAtMs = 5000 + STATUS_PACE.settleMs;
  assert.deepEqual(shown, [
    [0, "idle"],
    [busyAtMs, "busy 1"],
    [busyAtMs + STATUS_PACE.holdMs, "idle"],
  ]);
});

test("an error does not wait for busy to have been read", () => {
  const { timer, offer, shown } = paced();
  offer("busy 1");
  timer.advanceTo(600);
  offer("error");
  assert.deepEqual(shown.at(-1), [600, "error"]);
});

test("the same value again changes nothing", () => {
  const { timer, offer, shown } = paced();
  offer("idle");
  timer.advanceTo(3000);
  offer("idle");
  timer.advanceTo(6000);
  assert.equal(shown.length, 1);
});

test("busy is held from when it was shown first, not from its newest counts", () => {
  const { timer, offer, shown } = paced();
  offer("busy 1");
  timer.advanceTo(900);
  offer("busy 2");
  timer.advanceTo(1000);
  offer("idle");
  timer.advanceTo(10_000);
  assert.deepEqual(shown, [[0, "busy 1"], [1000, "busy 2"], [1500, "idle"]]);
});

test("what is due is shown at once, what comes early at its time, and nothing after the end", () => {
  const { timer, offer, dispose, shown } = paced();
  offer("idle");
  timer.advanceTo(STATUS_PACE.gapMs);
  offer("paused");
  assert.deepEqual(shown.at(-1), [500, "paused"]);
  timer.advanceTo(600);
  offer("error");
  assert.equal(shown.length, 2, "an error keeps the gap, too");
  timer.advanceTo(1000);
  assert.deepEqual(shown.at(-1), [1000, "error"]);
  offer("idle");
  dispose();
  timer.advanceTo(10_000);
  assert.equal(shown.length, 3);
});

test("busy that comes again has to last anew", () => {
  const { timer, offer, shown } = paced();
  offer("idle");
  timer.advanceTo(5000);
  offer("busy 1");
  timer.advanceTo(5300);
  offer("idle");
  offer("busy 1");
  timer.advanceTo(5600);
  assert.equal(shown.length, 1);
  timer.advanceTo(5700);
  assert.deepEqual(shown.at(-1), [5700, "busy 1"]);
});
