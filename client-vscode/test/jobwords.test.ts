import assert from "node:assert/strict";
import { test } from "node:test";
import { SECTIONS, shifted } from "../src/jobbook";
import { factsTooltip, isWhole, jobContext, jobFacts, jobRow, jobText, restRow, sectionRow, stepRow, taskFacts, taskRow, urgencyText, workStateText } from "../src/jobwords";
import { PRIORITIES, type JobInfo } from "../src/protocol";
import { FAILED, JOB, TASK } from "./jobs";
import { english } from "./words";

const ERROR = { kind: "timeout", message: " took too long \nsince then" };
const facts = (job: JobInfo, nowMs = 5000): Record<string, string> =>
  Object.fromEntries(jobFacts(job, nowMs, (atMs) => `at ${atMs}`, english));

test("only what makes sense is offered", () => {
  assert.equal(jobContext(JOB), "job;cancel;raise");
  assert.equal(jobContext({ ...JOB, priority: "NORMAL" }), "job;cancel;raise;lower");
  assert.equal(jobContext({ ...JOB, priority: "HIGH" }), "job;cancel;lower");
  assert.equal(jobContext(FAILED), "job;retry");
  assert.equal(jobContext({ ...FAILED, state: "COMPLETED" }), "job");
  assert.equal(jobContext({ ...JOB, state: "COMPLETED" }), "job;retry", "an index can be asked for again");
  assert.equal(shifted("HIGH", -1), undefined, "CRITICAL is for what a person waits for");
  assert.equal(shifted("CRITICAL", 1), undefined);
  assert.equal(shifted("BATCH", -1), "LOW");
});

test("the tooltip and the copied text hold all that is known; names make no links", () => {
  const facts = jobFacts(FAILED, 0, (atMs) => `at ${atMs}`, english);
  const text = factsTooltip("[x](command:a) | y", facts);
  assert.match(text, /\| Error \| pytest is missing Install it\\\. \\\(not\\_found\\\) \|/);
  assert.doesNotMatch(text, /[^\\]\]\(command/);
  const copied = jobText({ ...JOB, truncated: true }, 5000, english);
  for (const part of ["Index shop [index, j-1]", "Priority: Batch", "1970-01-01T00:00:01.000Z", "- parse a.py: running", "  - parse: running"]) {
    assert.ok(copied.includes(part), `${part} in ${copied}`);
  }
});

test("nothing may be moved up to the editor's own priority, or from there", () => {
  assert.equal(jobContext({ ...JOB, priority: "CRITICAL" }), "job;cancel");
  assert.deepEqual(PRIORITIES.map((one) => shifted(one, 1)), [undefined, "NORMAL", "LOW", "BATCH", undefined]);
  assert.deepEqual(PRIORITIES.map((one) => shifted(one, -1)), [undefined, undefined, "HIGH", "NORMAL", "LOW"]);
  assert.deepEqual(["index", "analysis", "tests"].map((type) => isWhole({ ...JOB, type })), [true, true, false]);
});

test("sections, priorities and states have their words", () => {
  assert.deepEqual(SECTIONS.map((section) => sectionRow(section, 3, english).spoken), ["Running, 3 jobs", "Waiting, 3 jobs", "Paused, 3 jobs", "Recent, 3 jobs"]);
  assert.deepEqual(sectionRow("recent", 3, english), { label: "Recent", description: "3", icon: "", color: "", spoken: "Recent, 3 jobs", context: "section" });
  assert.deepEqual(PRIORITIES.map((one) => urgencyText(one, english)), ["Critical", "High", "Normal", "Low", "Batch"]);
  const states = ["PENDING", "READY", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "SKIPPED", "NEWER"];
  assert.deepEqual(
    states.map((state) => workStateText(state, english)),
    ["waiting", "waiting", "running", "done", "failed", "stopped", "skipped", "NEWER"],
  );
  assert.equal(restRow(english).context, "rest");
});

test("each state has its icon and colour, also one that only a newer server knows", () => {
  const icons = ["PENDING", "READY", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED", "SKIPPED", "NEWER"].map((state) => {
    const { icon, color } = stepRow({ name: "read", state, runMs: null, error: null }, english);
    return `${icon} ${color}`.trim();
  });
  assert.deepEqual(icons, [
    "watch",
    "watch",
    "sync~spin charts.blue",
    "debug-pause charts.yellow",
    "pass testing.iconPassed",
    "error testing.iconFailed",
    "circle-slash",
    "debug-step-over testing.iconSkipped",
    "question",
  ]);
});

test("a job's row tells what it does, for how long and how urgent it is, and what went wrong unless it was stopped", () => {
  const row = (job: JobInfo, nowMs = 5999): string => jobRow(job, "running", nowMs, english).description;
  assert.equal(row(JOB), "running, 42 % · 3 s · Batch");
  assert.equal(row({ ...JOB, progress: null }, 1000), "running · 0 s · Batch", "a clock that was put back");
  assert.equal(row({ ...JOB, state: "PENDING", startedAt: null }), "waiting · Batch");
  assert.equal(row(FAILED), "failed · 500 ms · pytest is missing");
  assert.equal(row({ ...FAILED, state: "CANCELLED" }), "stopped · 500 ms");
  assert.equal(row({ ...FAILED, error: ERROR, startedAt: null }), "failed · took too long");
  const held = jobRow({ ...JOB, progress: null }, "paused", 5999, english);
  assert.deepEqual([held.description, held.icon, held.spoken], ["paused · 3 s · Batch", "debug-pause", "Index shop, paused, 3 s, Batch"]);
});

test("a task's and a step's row tell how long they ran, which attempt it is, and what went wrong", () => {
  assert.deepEqual(taskRow({ ...TASK, error: ERROR }, english), {
    label: "parse a.py",
    description: "running · 250 ms · attempt 2 · took too long",
    icon: "sync~spin",
    color: "charts.blue",
    spoken: "parse a.py, running, 250 ms, attempt 2, took too long",
    context: "task",
  });
  assert.equal(taskRow({ ...TASK, attempt: 1, runMs: null }, english).description, "running");
  const step = stepRow({ name: "read", state: "FAILED", runMs: 0, error: ERROR }, english);
  assert.deepEqual([step.description, step.context], ["failed · 0.0 ms · took too long", "step"]);
});

test("a job's facts are all that is known of it", () => {
  const waiting: JobInfo = { ...JOB, state: "PENDING", startedAt: null, tasks: [] };
  assert.deepEqual(facts(waiting), { State: "waiting", Priority: "Batch", Submitted: "at 1000", Waited: "4000 ms" });
  assert.equal(facts(waiting, 0)["Waited"], "0.0 ms", "a clock that was put back");
  const tasks = ["PENDING", "READY", "RUNNING", "COMPLETED", "FAILED"].map((state) => ({ ...TASK, state }));
  assert.deepEqual(facts({ ...JOB, tasks, attempt: 2 }), {
    State: "running, 42 %",
    Priority: "Batch",
    Submitted: "at 1000",
    Waited: "1000 ms",
    "Running for": "3 s",
    Attempt: "2",
    Tasks: "2 of 5 have ended",
  });
  assert.equal(facts(JOB)["Tasks"], "0 of 1 have ended");
  assert.equal(facts({ ...JOB, tasks, truncated: true })["Tasks"], "2 of those listed, which are not all");
  assert.deepEqual(facts(FAILED), {
    State: "failed",
    Priority: "Low",
    Submitted: "at 1000",
    Waited: "1000 ms",
    "Ran for": "500 ms",
    Ended: "at 2500",
    Error: "pytest is missing\nInstall it. (not_found)",
  });
  const stopped = facts({ ...FAILED, state: "CANCELLED", startedAt: null });
  assert.deepEqual([stopped["Waited"], stopped["Ran for"], stopped["Reason"]], ["1500 ms", undefined, "pytest is missing\nInstall it."]);
});

test("a task's facts are all that is known of it", () => {
  const dependsOn = Array.from({ length: 12 }, (_, number) => `t-${number}`);
  assert.deepEqual(Object.fromEntries(taskFacts({ ...TASK, dependsOn, error: ERROR }, english)), {
    State: "running",
    Waited: "3.0 ms",
    "Running for": "250 ms",
    Attempt: "2",
    "Comes after": "t-0, t-1, t-2, t-3, t-4, t-5, t-6, t-7, t-8, t-9",
    Error: `${ERROR.message} (timeout)`,
  });
  assert.deepEqual(taskFacts({ ...TASK, attempt: 1, waitMs: null, runMs: 9, state: "COMPLETED" }, english), [
    ["State", "done"],
    ["Ran for", "9.0 ms"],
  ]);
  assert.deepEqual(taskFacts({ ...TASK, attempt: 1, waitMs: null, runMs: null }, english), [["State", "running"]]);
  assert.deepEqual(taskFacts({ ...TASK, dependsOn: ["t-0"] }, english).at(-1), ["Comes after", "t-0"]);
});

test("the copied text has tasks with their errors, and steps where there are several", () => {
  const [read] = TASK.steps;
  const tasks = [TASK, { ...TASK, name: "parse b.py", error: { kind: "syntax", message: "line 3" }, steps: [read ?? assert.fail()] }];
  assert.deepEqual(jobText({ ...JOB, tasks }, 5000, english).split("\n").slice(-6), [
    "  Tasks: 0 of 2 have ended",
    "  - parse a.py: running · 250 ms · attempt 2",
    "    - read: done · 1.0 ms",
    "    - parse: running · 249 ms",
    "  - parse b.py: running · 250 ms · attempt 2 · line 3",
    "      syntax: line 3",
  ]);
  assert.equal(factsTooltip("a|b", [["c", "d"]]), "**a\\|b**\n\n| | |\n| :-- | :-- |\n| c | d |");
});
