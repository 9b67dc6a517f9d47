import assert from "node:assert/strict";
import { test } from "node:test";
import { Handling } from "../src/handling";

/** Handles what takes as long as it says. */
function handling(): { readonly times: Handling; readonly take: (tookMs: number) => void } {
  const clock = { nowMs: 0 };
  const times = new Handling(() => clock.nowMs);
  return { times, take: times.noted((tookMs: number) => { clock.nowMs += tookMs; }) };
}

test("95 of 100 are within what is said, and the longest is remembered", () => {
  const { times, take } = handling();
  assert.deepEqual([times.count, times.mostMs, times.worstMs], [0, 0, 0]);
  for (let tookMs = 100; tookMs >= 1; tookMs -= 1) {
    take(tookMs);
  }
  assert.deepEqual([times.count, times.mostMs, times.worstMs], [100, 95, 100]);
});

test("only the newest five hundred count, but for the longest", () => {
  const { times, take } = handling();
  take(1000);
  for (let index = 0; index < 500; index += 1) {
    take(2);
  }
  assert.deepEqual([times.count, times.mostMs, times.worstMs], [501, 2, 1000]);
});

test("what throws is counted, and still throws", () => {
  const times = new Handling(() => 0);
  assert.throws(() => times.noted(() => { throw new Error("no"); })(1), /no/);
  assert.equal(times.count, 1);
});
