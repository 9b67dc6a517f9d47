import assert from "node:assert/strict";
import { test } from "node:test";
import { JobBook, shifted } from "../src/jobbook";
import { JobTree, type JobNode } from "../src/jobtree";
import { factsTooltip, jobContext, jobFacts, jobText } from "../src/jobwords";
import type { JobInfo, QueueState, TaskInfo } from "../src/protocol";
import { english } from "./words";

const TASK: TaskInfo = {
  taskId: "j-1.0",
  name: "parse a.py",
  state: "RUNNING",
  dependsOn: [],
  waitMs: 3,
  runMs: 250,
  attempt: 2,
  error: null,
  steps: [
    { name: "read", state: "COMPLETED", runMs: 1, error: null },
    { name: "parse", state: "RUNNING", runMs: 249, error: null },
  ],
};
const JOB: JobInfo = {
  jobId: "j-1",
  type: "index",
  title: "Index shop",
  priority: "BATCH",
  state: "RUNNING",
  progress: 0.42,
  createdAt: 1000,
  startedAt: 2000,
  finishedAt: null,
  attempt: 1,
  error: null,
  tasks: [TASK],
  truncated: false,
};
const FAILED: JobInfo = {
  ...JOB,
  jobId: "j-2",
  title: "Run tests",
  type: "tests",
  priority: "LOW",
  state: "FAILED",
  finishedAt: 2500,
  error: { kind: "not_found", message: "pytest is missing\nInstall it." },
  tasks: [],
};
const NONE = { queued: 0, running: 0 };
const queue = (paused: QueueState["pausedPriorities"], atWork: readonly string[]): QueueState => ({
  seq: 1,
  at: 0,
  state: "busy",
  queues: { CRITICAL: NONE, HIGH: NONE, NORMAL: NONE, LOW: NONE, BATCH: NONE },
  pausedPriorities: paused,
  pauseReason: "user",
  running: atWork.map((jobId) => ({ taskId: `${jobId}.0`, jobId, name: "", priority: "BATCH", elapsedMs: 1 })),
  jobs: [],
  resources: {},
  pressure: { cpu: null, memory: null, gpu: null, onBattery: null },
  latency: {},
  alerts: 0,
  message: null,
});

/** A tree as the editor holds it: everything opened that can be. */
function opened(...jobs: JobInfo[]): { book: JobBook; tree: JobTree; clock: { nowMs: number }; look: () => string[] } {
  const book = new JobBook();
  const clock = { nowMs: 5000 };
  const tree = new JobTree(book, () => clock.nowMs, english);
  jobs.forEach((job) => book.take(job));
  const look = (): string[] => {
    const lines: string[] = [];
    const open = (node: JobNode | undefined, depth: number): void => {
      for (const child of tree.children(node)) {
        const row = tree.row(child);
        assert.equal(tree.parent(child), node, "a child knows its parent");
        lines.push(`${"  ".repeat(depth)}${row?.label ?? ""} | ${row?.description ?? ""}`);
        open(child, depth + 1);
      }
    };
    open(undefined, 0);
    return lines;
  };
  return { book, tree, clock, look };
}

test("jobs stand in their sections with tasks and steps, progress, durations and errors", () => {
  const { look } = opened(JOB, FAILED);
  assert.deepEqual(look(), [
    "Running | 1",
    "  Index shop | running, 42 % · 3 s · Batch",
    "    parse a.py | running · 250 ms · attempt 2",
    "      read | done · 1.0 ms",
    "      parse | running · 249 ms",
    "Recent | 1",
    "  Run tests | failed · 500 ms · pytest is missing",
  ]);
});

test("nothing changes while nothing changes, then only what did", () => {
  const { book, tree, clock, look } = opened(JOB, { ...JOB, jobId: "j-3", title: "Index other", startedAt: 4000, tasks: [] });
  look();
  assert.deepEqual(tree.changed(), []);
  book.take({ ...JOB, tasks: [{ ...TASK, runMs: 260 }] });
  assert.deepEqual((tree.changed() as JobNode[]).map((node) => node.taskId), ["j-1.0"]);
  look();
  clock.nowMs += 1000;
  assert.deepEqual((tree.changed() as JobNode[]).map((node) => node.jobId), ["j-1", "j-3"]);
  look();
  book.take({ ...JOB, jobId: "j-4", startedAt: 4000 });
  assert.deepEqual((tree.changed() as JobNode[]).map((node) => node.kind), ["section"]);
  look();
  book.take({ ...JOB, state: "COMPLETED", finishedAt: 6000 });
  assert.equal(tree.changed(), "all");
});

test("a closed row is not looked into", () => {
  const { book, tree } = opened(JOB);
  const [section] = tree.children();
  tree.row(section ?? assert.fail());
  tree.children(section).forEach((job) => tree.row(job));
  book.take({ ...JOB, tasks: [{ ...TASK, runMs: 260 }] });
  assert.deepEqual(tree.changed(), []);
});

test("what is paused stands apart, but not while it still runs", () => {
  const { book, look } = opened(JOB);
  book.takeQueue(queue(["LOW", "BATCH"], ["j-1"]));
  assert.equal(look()[0], "Running | 1");
  book.takeQueue(queue(["LOW", "BATCH"], []));
  assert.deepEqual(look().slice(0, 2), ["Paused | 1", "  Index shop | paused · 3 s · Batch"]);
});

test("a job that has ended stays so, and only the newest of many are kept", () => {
  const book = new JobBook();
  book.take({ ...JOB, state: "CANCELLED", finishedAt: 3000 });
  book.take(JOB);
  assert.equal(book.job("j-1")?.state, "CANCELLED");
  for (let number = 0; number < 80; number += 1) {
    book.take({ ...FAILED, jobId: `f-${number}`, finishedAt: 10_000 + number });
  }
  const recent = book.in("recent").map((job) => job.jobId);
  assert.equal(recent.length, 50);
  assert.deepEqual([recent[0], recent.at(-1)], ["f-79", "f-30"]);
  book.clear();
  assert.deepEqual(book.in("recent"), []);
});

test("what waits stands by urgency, then by age", () => {
  const book = new JobBook();
  const wait = (jobId: string, priority: JobInfo["priority"], createdAt: number): void =>
    book.take({ ...JOB, jobId, priority, createdAt, state: "PENDING", startedAt: null });
  wait("c", "BATCH", 3);
  wait("b", "BATCH", 2);
  wait("a", "LOW", 9);
  assert.deepEqual(book.in("waiting").map((job) => job.jobId), ["a", "b", "c"]);
});

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

test("a screen reader hears title, state and error", () => {
  const { tree } = opened(FAILED);
  const [section] = tree.children();
  const [job] = tree.children(section);
  assert.equal(tree.row(job ?? assert.fail())?.spoken, "Run tests, failed, 500 ms, pytest is missing");
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

test("what the server did not list is said so", () => {
  const { look } = opened({ ...JOB, truncated: true, tasks: [{ ...TASK, truncated: true }] });
  assert.equal(look().filter((line) => line.includes("not listed")).length, 2);
});
