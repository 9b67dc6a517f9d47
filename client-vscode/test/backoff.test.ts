import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../src/backoff";

const POLICY = { firstMs: 500, maxMs: 4000, healthyMs: 60_000, giveUpAfter: 6 };

function delays(backoff: Backoff, times: number, ranMs = 0): (number | "giveUp")[] {
  return Array.from({ length: times }, () => {
    const verdict = backoff.failed(ranMs);
    return verdict.kind === "retry" ? verdict.delayMs : verdict.kind;
  });
}

test("delays double up to the cap, then a person decides", () => {
  assert.deepEqual(delays(new Backoff(POLICY), 7), [500, 1000, 2000, 4000, 4000, "giveUp", "giveUp"]);
});

test("a server that was healthy for a while starts a new series", () => {
  const backoff = new Backoff(POLICY);
  delays(backoff, 4);
  assert.deepEqual(delays(backoff, 3, POLICY.healthyMs), [500, 500, 500]);
  assert.deepEqual(delays(backoff, 1, POLICY.healthyMs - 1), [1000]);
});

test("a person's start forgets what was before", () => {
  const backoff = new Backoff(POLICY);
  delays(backoff, 6);
  backoff.reset();
  assert.deepEqual(backoff.failed(0), { kind: "retry", delayMs: 500, failures: 1 });
});
