import assert from "node:assert/strict";
import { test } from "node:test";
import { JobBook } from "../src/jobbook";
import type { JobInfo } from "../src/protocol";
import { FAILED, JOB, queue } from "./jobs";

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

test("what has ended stands by when it ended; what never began, by when it was asked for", () => {
  const book = new JobBook();
  const ended = (jobId: string, createdAt: number, finishedAt: number | null): void => book.take({ ...FAILED, jobId, createdAt, finishedAt });
  ended("long", 1, 90);
  ended("short", 50, 60);
  ended("never", 70, null);
  ended("early", 80, 10);
  assert.deepEqual(book.in("recent").map((job) => job.jobId), ["long", "never", "short", "early"]);
  for (let number = 0; number < 48; number += 1) {
    ended(`f-${number}`, 0, 1000 + number);
  }
  const kept = book.in("recent").map((job) => job.jobId);
  assert.deepEqual([kept.length, kept.slice(48)], [50, ["long", "never"]], "the two that ended first are forgotten");
});

test("what runs stands by age alone; the newest news of what has ended counts", () => {
  const book = new JobBook();
  const run = (jobId: string, priority: JobInfo["priority"], createdAt: number): void => book.take({ ...JOB, jobId, priority, createdAt });
  run("b", "HIGH", 2);
  run("a", "BATCH", 1);
  assert.deepEqual(book.in("running").map((job) => job.jobId), ["a", "b"]);
  book.take({ ...JOB, jobId: "a", state: "COMPLETED" });
  book.take({ ...JOB, jobId: "a", state: "FAILED" });
  assert.equal(book.job("a")?.state, "FAILED");
  book.take({ ...JOB, jobId: "b", progress: 0.9 });
  assert.equal(book.job("b")?.progress, 0.9);
});

test("of very many that have not ended the oldest are forgotten, and none that has", () => {
  const book = new JobBook();
  book.take({ ...FAILED, createdAt: 0 });
  for (let number = 1; number <= 501; number += 1) {
    book.take({ ...JOB, jobId: `r-${number}`, createdAt: number });
  }
  assert.equal(book.in("running").length, 500);
  assert.deepEqual(["r-1", "r-2", "r-501", "j-2"].map((id) => book.job(id) !== undefined), [false, true, true, true]);
});

test("what is paused is so by itself or by its priority, and another server starts without pauses", () => {
  const book = new JobBook();
  assert.equal(book.sectionOf({ ...JOB, state: "PAUSED" }), "paused");
  assert.equal(book.sectionOf({ ...JOB, state: "PENDING" }), "waiting");
  book.takeQueue(queue(["BATCH"], []));
  assert.equal(book.sectionOf({ ...JOB, state: "PENDING" }), "paused");
  assert.equal(book.sectionOf({ ...JOB, priority: "LOW" }), "running");
  assert.equal(book.sectionOf({ ...JOB, state: "CANCELLED" }), "recent");
  book.clear();
  assert.equal(book.sectionOf(JOB), "running");
  book.takeQueue(queue(["BATCH"], ["j-1"]));
  book.clear();
  book.takeQueue({ ...queue(["BATCH"], []) });
  assert.equal(book.sectionOf(JOB), "paused");
});

test("what was listed is listed anew after each thing that can change it", () => {
  const book = new JobBook();
  const sizes = (): string => (["running", "waiting", "paused", "recent"] as const).map((section) => book.in(section).length).join("");
  book.take(JOB);
  assert.equal(sizes(), "1000");
  assert.equal(book.in("running"), book.in("running"), "and only then");
  book.takeQueue(queue(["BATCH"], []));
  assert.equal(sizes(), "0010");
  book.take({ ...JOB, state: "COMPLETED", finishedAt: 3000 });
  assert.equal(sizes(), "0001");
  book.take({ ...JOB, jobId: "j-9", priority: "LOW", state: "PENDING" });
  assert.equal(sizes(), "0101");
  book.clear();
  assert.equal(sizes(), "0000");
});
