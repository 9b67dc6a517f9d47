import assert from "node:assert/strict";
import { test } from "node:test";
import { bar, compact, escaped, look, padded, stateText, statusText, titledState, tooltip, TOOLTIP_COMMANDS, type StatusInput } from "../src/labels";
import type { Phase, Problem } from "../src/phase";
import type { QueueState } from "../src/protocol";
import { english } from "./words";

const NONE = { queued: 0, running: 0 };
const IDLE: QueueState = {
  seq: 1,
  at: 0,
  state: "idle",
  queues: { CRITICAL: NONE, HIGH: NONE, NORMAL: NONE, LOW: NONE, BATCH: NONE },
  pausedPriorities: [],
  pauseReason: null,
  running: [],
  jobs: [],
  resources: {},
  pressure: { cpu: 0.31, memory: 0.42, gpu: null, onBattery: false },
  latency: {},
  alerts: 0,
  message: null,
};
const BUSY: QueueState = {
  ...IDLE,
  state: "busy",
  queues: { ...IDLE.queues, BATCH: { queued: 412, running: 1 } },
  jobs: [{ jobId: "j", type: "index", title: "Index django", progress: 0.42, done: 1200, total: 2857 }],
  latency: { completion: { count: 40, p50Ms: 8.14, p95Ms: 21, p99Ms: 30 } },
};
const running = (queue: QueueState, trusted = true): StatusInput => ({
  phase: { kind: "running" },
  queue,
  alerts: [],
  trusted,
});
const inPhase = (phase: Phase): StatusInput => ({ phase, queue: undefined, alerts: [], trusted: true });
const NO_PYTHON: Problem = {
  kind: "noPython",
  needed: "3.11 or newer",
  packagesFor: ["3.11", "3.14"],
  looked: [{ path: "/usr/bin/python3", version: "3.7.3", fault: "tooOld" }],
};

test("each state looks different", () => {
  const inputs: StatusInput[] = [
    inPhase({ kind: "stopped" }),
    inPhase({ kind: "starting" }),
    inPhase({ kind: "waiting", delayMs: 4000, failures: 2, detail: "exit code 1" }),
    inPhase({ kind: "failed", problem: NO_PYTHON }),
    running(IDLE),
    running(IDLE, false),
    running(BUSY),
    running({ ...IDLE, state: "paused", pausedPriorities: ["LOW", "BATCH"], pauseReason: "user" }),
    running({ ...IDLE, state: "degraded", message: "ty is missing: completions come from the index alone" }),
    running({ ...IDLE, state: "error", message: "the index cannot be written: disk full" }),
  ];
  const icons = inputs.map((input) => statusText(input).split(" ")[0]);
  assert.equal(new Set(icons).size, inputs.length - 1, "error and failed share the icon, nothing else does");
  assert.equal(look(inputs[3] ?? assert.fail()), "error");
  assert.equal(look(inputs[9] ?? assert.fail()), "error");
});

test("an error never shows counts", () => {
  assert.equal(statusText(running({ ...BUSY, state: "error" })), "$(error) Headway");
});

test("the text keeps its width while the numbers change", () => {
  const width = (queued: number, active: number): number =>
    statusText(running({ ...BUSY, queues: { ...BUSY.queues, BATCH: { queued, running: active } } })).length;
  assert.deepEqual(new Set([width(0, 1), width(7, 2), width(412, 12), width(1234, 3), width(19_999, 1)]).size, 1);
});

test("counts take at most four characters", () => {
  assert.deepEqual([0, 7, 412, 999, 1000, 1234, 9949, 9950, 20_000].map(compact), [
    "0",
    "7",
    "412",
    "999",
    "1.0k",
    "1.2k",
    "9.9k",
    "10k",
    "20k",
  ]);
  assert.equal(padded("7", 3), "7\u2007\u2007");
});

test("the tooltip has a row for each priority, the jobs, the latency and only known commands", () => {
  const text = tooltip(running(BUSY), english);
  assert.match(text, /\| Batch · index, analysis \| 1 \| 412 \| – \| – \|/);
  assert.match(text, /▰▰▰▰▱▱▱▱▱▱ Index django — 42 % \\\(1200 of 2857\\\)/);
  assert.match(text, /half within 8\\.1 ms, 95 % within 21 ms \\\(40 so far\\\)/);
  assert.match(text, /CPU 31 % · memory 42 %/);
  const commands = [...text.matchAll(/\(command:([^)]+)\)/g)].map((match) => match[1]);
  assert.ok(commands.length >= 3);
  commands.forEach((command) => assert.ok((TOOLTIP_COMMANDS as readonly (string | undefined)[]).includes(command), command));
});

test("the tooltip tells times by priority, the index, what work holds and what the machine does", () => {
  const none = { waitP95Ms: null, runP95Ms: null };
  const times = { CRITICAL: none, HIGH: none, NORMAL: none, LOW: none, BATCH: { waitP95Ms: 1200, runP95Ms: 80.4 } };
  const resources = { cpuCores: { total: 2, used: 1.3, reserved: 0.5 }, memoryMb: { total: 6144, used: 600, reserved: 256 } };
  const text = tooltip(running({ ...BUSY, times, resources, indexed: { files: 2857, symbols: 41_000, state: "complete" } }), english);
  assert.match(text, /\| Batch · index, analysis \| 1 \| 412 \| 1200 ms \| 80 ms \|/);
  assert.match(text, /Index\\: 2\\.9k files, 41k symbols/);
  assert.match(text, /Its work holds 1\\.3 of 2 cores · 0\\.6 of 6 GiB/);
  assert.match(text, /This machine\\: CPU 31 % · memory 42 %/);
});

test("a pause for an hour says until when", () => {
  const paused: StatusInput = { ...running({ ...IDLE, state: "paused", pausedPriorities: ["LOW", "BATCH"], pauseReason: "user" }), pausedUntilMs: 0 };
  assert.match(stateText(paused, english), /^Background work is paused until \d\d:\d\d$/);
  assert.equal(stateText({ ...paused, pausedUntilMs: undefined }, english), "Background work is paused");
});

test("names from the server make no links and no icons", () => {
  const title = "[click](command:workbench.action.quit) $(flame) | x\n# y <b>";
  const text = tooltip(running({ ...BUSY, jobs: [{ ...(BUSY.jobs[0] ?? assert.fail()), title }] }), english);
  assert.doesNotMatch(text, /[^\\]\]\(command:workbench\.action\.quit/);
  assert.doesNotMatch(text, /[^\\]\$\(flame/);
  assert.equal(escaped("a_b*c"), "a\\_b\\*c");
  assert.equal(escaped("one\n\n  two"), "one two");
});

test("what is wrong is said with the path, the version found, the version needed and what to do", () => {
  const text = stateText(inPhase({ kind: "failed", problem: NO_PYTHON }), english);
  for (const part of ["/usr/bin/python3", "3.7.3", "3.11", "Install", "choose"]) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
});

test("warnings are shown, but not all of many", () => {
  const text = tooltip({ ...running(BUSY), alerts: ["140 BATCH tasks wait", "b", "c", "d", "e"] }, english);
  assert.match(text, /\$\(bell\) 140 BATCH tasks wait/);
  assert.match(text, /and 2 more warnings/);
});

test("the product's name is said once", () => {
  assert.equal(titledState(running(IDLE), english), "Headway: Idle");
  assert.equal(titledState(inPhase({ kind: "failed", problem: NO_PYTHON }), english).match(/Headway/g)?.length, 1);
});

test("a pause says why", () => {
  const paused = (pauseReason: QueueState["pauseReason"]): string =>
    stateText(running({ ...IDLE, state: "paused", pauseReason }), english);
  assert.equal(new Set([paused("user"), paused("battery"), paused("memory"), paused("cpu")]).size, 4);
});

test("busy says why nothing runs where something holds it", () => {
  const held: QueueState = { ...BUSY, queues: { ...IDLE.queues, BATCH: { queued: 6, running: 0 } }, pauseReason: "cpu" };
  assert.equal(stateText(running(held), english), "0 running, 6 waiting. Background work waits: other programs need the CPU");
});

test("a bar has ten parts", () => {
  assert.deepEqual([0, 0.42, 0.999, 1, 7].map(bar), ["▱▱▱▱▱▱▱▱▱▱", "▰▰▰▰▱▱▱▱▱▱", "▰▰▰▰▰▰▰▰▰▱", "▰▰▰▰▰▰▰▰▰▰", "▰▰▰▰▰▰▰▰▰▰"]);
});
