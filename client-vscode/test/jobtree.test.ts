import assert from "node:assert/strict";
import { test } from "node:test";
import { JobBook } from "../src/jobbook";
import { JobTree, type JobNode } from "../src/jobtree";
import type { JobInfo } from "../src/protocol";
import { FAILED, JOB, queue, TASK } from "./jobs";
import { english } from "./words";

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

test("a screen reader hears title, state and error", () => {
  const { tree } = opened(FAILED);
  const [section] = tree.children();
  const [job] = tree.children(section);
  assert.equal(tree.row(job ?? assert.fail())?.spoken, "Run tests, failed, 500 ms, pytest is missing");
});

test("what the server did not list is said so", () => {
  const { look } = opened({ ...JOB, truncated: true, tasks: [{ ...TASK, truncated: true }] });
  assert.equal(look().filter((line) => line.includes("not listed")).length, 2);
});

test("a task's only step is not listed, unless there are more that are not", () => {
  const [step] = TASK.steps;
  const steps = [step ?? assert.fail()];
  assert.equal(opened({ ...JOB, tasks: [{ ...TASK, steps }] }).look().length, 3);
  const { look, tree } = opened({ ...JOB, tasks: [{ ...TASK, steps, truncated: true }] });
  assert.deepEqual(look().slice(3), ["      read | done · 1.0 ms", "      and more, which are not listed | "]);
  const [section] = tree.children();
  const [job] = tree.children(section);
  const [task] = tree.children(job);
  const [read] = tree.children(task);
  assert.deepEqual([section, job, task, read].map((node) => tree.expandable(node ?? assert.fail())), [true, true, true, false]);
});

test("what stood for something that is gone has no row, no children and is shown anew", () => {
  const { book, tree, look } = opened(JOB);
  look();
  const [section] = tree.children();
  const [job] = tree.children(section);
  const [task] = tree.children(job);
  const [, step] = tree.children(task);
  assert.deepEqual([job, task, step].map((node) => tree.row(node ?? assert.fail())?.label), ["Index shop", "parse a.py", "parse"]);
  assert.equal(tree.task(task ?? assert.fail())?.name, "parse a.py");
  book.take({ ...JOB, tasks: [{ ...TASK, steps: [] }] });
  assert.equal(tree.row(step ?? assert.fail()), undefined);
  book.take({ ...JOB, tasks: [] });
  assert.deepEqual([task, step].map((node) => tree.row(node ?? assert.fail())), [undefined, undefined]);
  assert.deepEqual([task, step].flatMap((node) => tree.children(node ?? assert.fail())), []);
  book.clear();
  assert.equal(tree.row(job ?? assert.fail()), undefined);
  assert.equal(tree.job(section ?? assert.fail()), undefined);
  assert.equal(tree.changed(), "all");
});

test("a tree that is forgotten is asked for anew, also when it has become too large", () => {
  const { tree, look, book } = opened(JOB);
  look();
  tree.forget();
  assert.equal(tree.changed(), "all");
  look();
  const many = Array.from({ length: 20_001 }, (_, number) => ({ ...TASK, taskId: `j-1.${number}`, steps: [] }));
  book.take({ ...JOB, tasks: many });
  const [section] = tree.children();
  const [job] = tree.children(section);
  const before = tree.children(job)[0];
  assert.equal(tree.changed(), "all");
  assert.notEqual(tree.children(job)[0], before);
});

test("children that others took the place of are a change of their parent, and so is another colour", () => {
  const { book, tree, look } = opened(JOB);
  look();
  book.take({ ...JOB, tasks: [{ ...TASK, taskId: "j-1.9" }] });
  assert.deepEqual((tree.changed() as JobNode[]).map((node) => node.jobId), ["j-1"]);
  look();
  book.take({ ...JOB, tasks: [{ ...TASK, taskId: "j-1.9", steps: TASK.steps.toReversed() }] });
  assert.deepEqual((tree.changed() as JobNode[]).map((node) => node.step), [0, 1]);
});

test("of a long list only what may have changed is put into words anew", () => {
  const book = new JobBook();
  const said: string[] = [];
  const tree = new JobTree(book, () => 5000, (message, ...args) => (said.push(message), english(message, ...args)));
  const waits = (number: number): JobInfo => ({ ...JOB, jobId: `w-${number}`, state: "PENDING", startedAt: null, createdAt: number, tasks: [] });
  Array.from({ length: 300 }, (_, number) => book.take(waits(number)));
  book.take(FAILED);
  const sections = tree.children();
  sections.forEach((section) => (tree.row(section), tree.children(section).forEach((job) => tree.row(job))));
  said.length = 0;
  assert.deepEqual(tree.changed(), []);
  assert.deepEqual(said, ["Waiting", "{0}, {1} jobs", "Recent", "{0}, {1} jobs"], "the sections alone");
  book.take({ ...waits(7), priority: "LOW", createdAt: -1 });
  book.take({ ...waits(8), title: "Index the other" });
  assert.deepEqual((tree.changed() as JobNode[]).map((node) => node.kind), ["section"], "it stands elsewhere now");
  sections.forEach((section) => tree.children(section).forEach((job) => tree.row(job)));
  book.take({ ...waits(8), title: "Index a third" });
  assert.deepEqual((tree.changed() as JobNode[]).map((node) => node.jobId), ["w-8"]);
});

test("a job whose row is new, but not what was listed below it, is looked into", () => {
  const { book, tree, look } = opened({ ...FAILED, tasks: [TASK] });
  look();
  book.take({ ...FAILED, tasks: [{ ...TASK, taskId: "j-2.7" }] });
  const [section] = tree.children();
  const [job] = section === undefined ? [] : tree.children(section);
  tree.row(job ?? assert.fail());
  assert.deepEqual((tree.changed() as JobNode[]).map((node) => node.jobId), ["j-2"]);
});
