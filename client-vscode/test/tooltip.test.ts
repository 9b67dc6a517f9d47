// What the status item says in each state, word by word.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bar, escapedIcons, jobStateText, milliseconds, priorityText, progressText, stateText, statusText, titledState, tooltip, totals, type StatusInput } from "../src/labels";
import type { Phase } from "../src/phase";
import { PRIORITIES, type ActiveJob, type QueueState } from "../src/protocol";
import { JOB, queue } from "./jobs";
import { english } from "./words";

const IDLE: QueueState = { ...queue([], []), state: "idle", pauseReason: null };
const at = (state: Partial<QueueState>, more: Partial<StatusInput> = {}): StatusInput => ({
  phase: { kind: "running" },
  queue: { ...IDLE, ...state },
  alerts: [],
  trusted: true,
  ...more,
});
const inPhase = (phase: Phase): StatusInput => ({ phase, queue: undefined, alerts: [], trusted: true });
const INDEXING: ActiveJob = { jobId: "j", type: "index", title: "Index shop", progress: 0.42, done: 42, total: 100 };
/** The parts of a tooltip, without the table. */
const parts = (input: StatusInput): string[] => tooltip(input, english).split("\n\n").filter((part) => !/^\||^<small>/.test(part));
const commands = (input: StatusInput): string => [...tooltip(input, english).matchAll(/\[[^\]]* ([^\]]+)\]\(command:([^)]+)\)/g)].map((match) => match[2]).join();

test("each state has its words", () => {
  const words = (input: StatusInput): string => stateText(input, english);
  assert.equal(words(inPhase({ kind: "stopped" })), "Stopped");
  assert.equal(words(inPhase({ kind: "preparing" })), "Setting up the server's Python environment");
  assert.equal(words(inPhase({ kind: "starting" })), "Starting");
  assert.equal(words(inPhase({ kind: "running" })), "Starting", "it runs, and has not said anything");
  const detail = "exit code 1";
  assert.equal(words(inPhase({ kind: "waiting", delayMs: 1001, failures: 2, detail })), "The server ended by itself and starts again in 2 s: exit code 1");
  assert.equal(words(at({ state: "starting" })), "Starting");
  assert.equal(words(at({})), "Idle");
  assert.equal(words(at({}, { trusted: false })), "Idle, in Restricted Mode");
  assert.equal(words(at({ state: "busy", queues: { ...IDLE.queues, LOW: { queued: 2, running: 1 }, BATCH: { queued: 3, running: 1 } } })), "2 running, 5 waiting");
  assert.equal(words(at({ state: "degraded", message: "ty is missing" })), "ty is missing");
  assert.equal(words(at({ state: "degraded" })), "Something does not work; the log says more");
  assert.equal(words(at({ state: "error", message: "disk full" })), "disk full");
  assert.equal(words(at({ state: "error" })), "The server reports an error; the log says more");
  assert.equal(titledState(at({ state: "error", message: "Headway has no disk" }), english), "Headway has no disk");
});

test("only a pause by a person ends at a time", () => {
  const words = (pauseReason: QueueState["pauseReason"]): string => stateText(at({ state: "paused", pauseReason }, { pausedUntilMs: 3_600_000 }), english);
  assert.match(words("user"), /^Background work is paused until \d\d:\d\d$/);
  assert.match(words(null), /^Background work is paused until \d\d:\d\d$/);
  assert.equal(words("battery"), "Background work waits for mains power");
  assert.equal(words("memory"), "Background work waits for free memory");
  assert.equal(words("cpu"), "Background work waits: other programs need the CPU");
});

test("the bar shows what waits while busy or paused, and what runs while busy", () => {
  const queues = { ...IDLE.queues, HIGH: { queued: 1, running: 2 }, BATCH: { queued: 5, running: 1 } };
  assert.deepEqual(totals({ ...IDLE, queues }), { queued: 6, running: 3 });
  const shown = (["idle", "busy", "paused", "degraded", "starting"] as const).map((state) => statusText(at({ state, queues })));
  assert.deepEqual(shown, [
    "$(check) Headway",
    "$(sync~spin) Headway \u2007\u2007\u2007\u2007\u2007 $(play) 3\u2007 $(layers) 6\u2007\u2007\u2007",
    "$(debug-pause) Headway $(layers) 6\u2007\u2007\u2007",
    "$(warning) Headway",
    "$(loading~spin) Headway",
  ]);
  assert.equal(statusText(at({ state: "busy", queues }, { trusted: false })).split(" ")[0], "$(sync~spin)");
  assert.equal(statusText(inPhase({ kind: "preparing" })), "$(loading~spin) Headway");
  assert.equal(statusText(inPhase({ kind: "stopped" })), "$(circle-slash) Headway");
});

test("the bar says how far all are together whose end is known", () => {
  const shown = (...jobs: ActiveJob[]): string | undefined => /Headway (.{5}) /.exec(statusText(at({ state: "busy", jobs })))?.[1]?.replaceAll("\u2007", "");
  const other: ActiveJob = { ...INDEXING, progress: 0.29, done: 29, total: 300 };
  assert.equal(shown(INDEXING), "42 %");
  assert.equal(shown(INDEXING, other), "17 %", "71 of 400");
  assert.equal(shown({ ...INDEXING, done: 100 }), "100 %");
  assert.equal(shown(INDEXING, { ...other, progress: null }), "42 %");
  assert.equal(shown(INDEXING, { ...other, total: null }), "42 %", "nor what is done of it counts");
  assert.equal(shown({ ...other, total: null }), "");
  assert.equal(shown({ ...other, total: 0, done: 0 }), "");
});

test("durations, shares and states of jobs are short words", () => {
  const values = [null, 0, 9.94, 10, 9999, 10_000, 12_345];
  assert.deepEqual(values.map((value) => milliseconds(value, english)), ["–", "0.0 ms", "9.9 ms", "10 ms", "9999 ms", "10.0 s", "12.3 s"]);
  const states = (["PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"] as const).map((state) => jobStateText({ ...JOB, state }, english));
  assert.deepEqual(states, ["waiting", "running, 42 %", "paused", "done", "failed", "stopped"]);
  assert.equal(jobStateText({ ...JOB, progress: 0.29 }, english), "running, 29 %", "not 28, as 0.29 * 100 has it");
  assert.equal(jobStateText({ ...JOB, progress: null }, english), "running");
  assert.equal(progressText(INDEXING, english), "42 % (42 of 100)");
  assert.equal(progressText({ ...INDEXING, progress: 0.29 }, english), "29 % (42 of 100)");
  assert.equal(progressText({ ...INDEXING, progress: null }, english), "42 done");
  assert.equal(progressText({ ...INDEXING, total: null, done: 0 }, english), "just begun");
  assert.equal(progressText({ ...INDEXING, total: null, done: 1 }, english), "1 done");
  assert.deepEqual([-1, 0.7].map(bar), ["▱▱▱▱▱▱▱▱▱▱", "▰▰▰▰▰▰▰▱▱▱"]);
  assert.equal(escapedIcons("a $(b) c"), "a $\u200b(b) c");
  assert.deepEqual(PRIORITIES.map((one) => priorityText(one, english)), [
    "Critical · completion, hover",
    "High · navigation, search",
    "Normal · open files",
    "Low · tests",
    "Batch · index, analysis",
  ]);
});

test("the tooltip of a busy server has one part for each thing, and none for what is not known", () => {
  const jobs = ["a", "b", "c", "d", "e"].map((title) => ({ ...INDEXING, title }));
  const busy: Partial<QueueState> = {
    state: "busy",
    jobs,
    resources: { cpuCores: { total: 2, used: 1.26, reserved: 0 }, memoryMb: { total: 2048, used: 512, reserved: 0 }, gpuCount: { total: 1, used: 1, reserved: 0 } },
    pressure: { cpu: 0.5, memory: 0.254, gpu: 0.9, onBattery: true },
    indexed: { files: 3, symbols: 12, state: "complete" },
    latency: { completion: { count: 1, p50Ms: 3, p95Ms: 4, p99Ms: 5 } },
  };
  const line = (title: string): string => `▰▰▰▰▱▱▱▱▱▱ ${title} — 42 % \\(42 of 100\\)`;
  const rest = [
    "Completion\\: half within 3\\.0 ms, 95 % within 4\\.0 ms \\(1 so far\\)",
    "Index\\: 3 files, 12 symbols",
    "Its work holds 1\\.3 of 2 cores · 0\\.5 of 2 GiB · 1 of 1 GPUs",
    "This machine\\: CPU 50 % · memory 25 % · GPU 90 % · on battery",
  ];
  const shown = (input: StatusInput): string[] => parts(input).slice(1, -1);
  assert.deepEqual(shown(at(busy)), jobs.map(({ title }) => line(title)).concat(rest));
  const six = [...jobs, INDEXING];
  assert.deepEqual(shown(at({ ...busy, jobs: six })), [...jobs.map(({ title }) => line(title)), "and 1 more jobs", ...rest]);
  const unknown = { ...busy, jobs: [{ ...INDEXING, progress: null }, { ...INDEXING, total: null }], resources: {}, indexed: { files: 0, symbols: 0, state: "off" } };
  const none = { cpu: null, memory: null, gpu: null, onBattery: false };
  const count = { count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 };
  assert.deepEqual(shown(at({ ...unknown, pressure: none, latency: { completion: count } })), ["Index shop — 42 done", "Index shop — 42 done"]);
  const noGpu = { gpuCount: { total: 0, used: 0, reserved: 0 } };
  assert.deepEqual(shown(at({ jobs: [], resources: noGpu })), []);
});

test("paused priorities are marked in the tooltip's table, which has a row for each", () => {
  const none = { waitP95Ms: null, runP95Ms: null };
  const times = { CRITICAL: none, HIGH: none, NORMAL: none, LOW: none, BATCH: { waitP95Ms: 9, runP95Ms: 80.4 } };
  const rows = tooltip(at({ state: "paused", pausedPriorities: ["BATCH"], times }), english).split("\n").filter((line) => line.startsWith("| "));
  assert.deepEqual(rows, [
    "| Priority | &nbsp;&nbsp;Running | &nbsp;&nbsp;Waiting | &nbsp;&nbsp;Waited\\* | &nbsp;&nbsp;Ran\\* |",
    "| :-- | --: | --: | --: | --: |",
    "| Critical · completion, hover | 0 | 0 | – | – |",
    "| High · navigation, search | 0 | 0 | – | – |",
    "| Normal · open files | 0 | 0 | – | – |",
    "| Low · tests | 0 | 0 | – | – |",
    "| Batch · index, analysis $(debug-pause) | 0 | 0 | 9.0 ms | 80 ms |",
  ]);
});

test("warnings and Restricted Mode are in the tooltip of a server that runs", () => {
  assert.equal(parts(at({}, { alerts: ["a", "b", "c"] })).slice(1, -1).join(), "$(bell) a,$(bell) b,$(bell) c");
  assert.equal(parts(at({}, { alerts: ["a", "b", "c", "d"] })).at(-2), "and 1 more warnings");
  assert.equal(parts(at({}, { alerts: ["a", "b", "c", "d"] })).filter((part) => part.startsWith("$(bell)")).length, 3);
  const restricted = "$(shield) Restricted Mode\\: nothing of this workspace is run, so no tests and none of its interpreters\\.";
  assert.equal(parts(at({}, { trusted: false })).at(-2), restricted);
  assert.equal(parts(at({}, { trusted: false }))[0], "**Headway** — $(shield) Idle, in Restricted Mode");
  assert.equal(parts(at({ state: "busy" }))[0], "**Headway** — $(sync) 0 running, 0 waiting");
  assert.equal(parts({ ...inPhase({ kind: "starting" }), trusted: false, alerts: ["a"] }).length, 2, "nothing but the state and the links");
  assert.equal(parts({ ...at({}, { alerts: ["a"] }), phase: { kind: "stopped" } }).length, 2, "an old server's news do not count");
});

test("the tooltip's links are those that make sense", () => {
  const views = "headway.jobs.focus,headway.showTimeline,headway.showLog,headway.restart";
  assert.equal(commands(at({})), `headway.pauseBackground,${views}`);
  assert.equal(commands(at({ pausedPriorities: ["BATCH"] })), `headway.resumeBackground,${views}`);
  assert.equal(commands(inPhase({ kind: "running" })), `headway.pauseBackground,${views}`);
  assert.equal(commands(at({}, { trusted: false })), `headway.pauseBackground,${views},workbench.trust.manage`);
  assert.equal(commands(inPhase({ kind: "starting" })), "headway.showLog,headway.restart");
  const looked = { path: "/p", version: "3.7", fault: "tooOld" } as const;
  const choose = "headway.chooseInterpreter,headway.showLog,headway.restart";
  assert.equal(commands(inPhase({ kind: "failed", problem: { kind: "noPython", needed: "3.11", packagesFor: [], looked: [] } })), choose);
  assert.equal(commands(inPhase({ kind: "failed", problem: { kind: "chosenPython", needed: "3.11", packagesFor: [], looked } })), choose);
  assert.equal(commands(inPhase({ kind: "failed", problem: { kind: "package", detail: "x" } })), "headway.showLog,headway.restart");
});
