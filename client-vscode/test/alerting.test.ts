import assert from "node:assert/strict";
import { test } from "node:test";
import { actionsFor, Alerting } from "../src/alerting";
import type { Alert } from "../src/protocol";

const alert = (metric: string, level: Alert["level"]): Alert => ({
  alertId: "a",
  metric,
  labels: {},
  level,
  value: 2,
  threshold: 1,
  since: 0,
  message: "much waits",
});

test("each kind is told once, when it is serious", () => {
  const alerting = new Alerting(() => false);
  const told = (metric: string, level: Alert["level"]): boolean => alerting.worthTelling(alert(metric, level));
  assert.deepEqual(
    [told("queue.depth", "warning"), told("queue.depth", "critical"), told("queue.depth", "resolved"), told("queue.depth", "critical")],
    [false, true, false, false],
  );
  assert.equal(told("tasks.failures", "critical"), true);
});

test("what mends itself and what a person has silenced is not told", () => {
  const alerting = new Alerting((kind) => kind === "tasks.timeouts");
  assert.equal(alerting.worthTelling(alert("machine.cpu", "critical")), false);
  assert.equal(alerting.worthTelling(alert("tasks.timeouts", "critical")), false);
  const slow = { ...alert("response.p95", "critical"), labels: { priority: "BATCH" } };
  assert.equal(alerting.worthTelling(slow), false, "background work may take its time");
  assert.equal(alerting.worthTelling({ ...slow, labels: { priority: "CRITICAL" } }), true);
});

test("each kind has something that helps", () => {
  for (const metric of ["queue.depth", "queue.wait", "tasks.failures", "tasks.timeouts", "new.kind"]) {
    assert.ok(actionsFor(alert(metric, "critical")).length > 0, metric);
  }
  const helps = (metric: string): readonly string[] => actionsFor(alert(metric, "critical"));
  assert.deepEqual(helps("tasks.failures"), ["scheduler", "log"]);
  assert.deepEqual(helps("tasks.timeouts"), ["scheduler", "log"]);
  assert.deepEqual(helps("queue.depth"), ["scheduler", "pause"]);
  assert.deepEqual(helps("response.p95"), ["timeline", "scheduler"]);
});
