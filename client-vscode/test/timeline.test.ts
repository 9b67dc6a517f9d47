import assert from "node:assert/strict";
import { test } from "node:test";
import type { Timeline, TraceEvent } from "../src/protocol";
import { timelineHtml, traceFile } from "../src/timelinehtml";
import { firstAfter, History, HISTORY_MS } from "../webview/history";
import { View } from "../webview/range";
import type { Words } from "../webview/words";

const ORIGIN_MS = 1_000_000;
const NONE = { queued: 0, running: 0 };

function step(name: string, tid: number, startMs: number, tookMs: number, state = "COMPLETED"): TraceEvent {
  return { ph: "X", name, tid, cat: "BATCH", ts: startMs * 1000, dur: tookMs * 1000, args: { taskId: name, state } };
}

function told(atMs: number, events: readonly TraceEvent[], more: Partial<Timeline> = {}): Timeline {
  const rows = [1, 2, 3].map((tid) => ({ ph: "M", name: "thread_name", tid, args: { name: ["loop", "background-1", "loop (2)"][tid - 1] } }));
  return {
    traceEvents: [...events, ...rows],
    originAt: ORIGIN_MS,
    queueState: {
      seq: 1,
      at: ORIGIN_MS + atMs,
      state: "busy",
      queues: { CRITICAL: NONE, HIGH: NONE, NORMAL: NONE, LOW: NONE, BATCH: { queued: 7, running: 1 } },
      pausedPriorities: [],
      pauseReason: null,
      running: [],
      jobs: [],
      resources: {},
      pressure: { cpu: 0.5, memory: 0.4, gpu: null, onBattery: null },
      latency: {},
      alerts: 0,
      message: null,
    },
    workers: [{ pid: 1, role: "background", busy: true, rssMb: 40, restarts: 0 }],
    completions: [],
    completionSlaMs: 100,
    ...more,
  };
}

const shape = (history: History): string[] => history.rows().map((row) => `${row.name}: ${row.slices.map((slice) => slice.name).join(" ")}`);

test("what is told twice is taken once, and rows keep apart what overlaps", () => {
  const history = new History();
  history.take(told(100, [step("a", 1, 0, 50), step("b", 3, 10, 50), step("c", 2, 0, 90)]));
  history.take(told(200, [step("b", 1, 10, 50), step("c", 2, 0, 90), step("d", 1, 70, 10, "FAILED")]));
  assert.deepEqual(shape(history), ["background-1: c", "loop: a d", "loop (2): b"]);
  assert.deepEqual(history.rows()[1]?.slices.map((slice) => slice.failed), [false, true]);
  assert.equal(history.rows()[0]?.slices[0]?.startMs, ORIGIN_MS);
});

test("depths, samples and completions come in order, each once", () => {
  const history = new History();
  const depth: TraceEvent = { ph: "C", name: "tasks waiting", tid: 0, ts: 50_000, args: { CRITICAL: 1, HIGH: 0, NORMAL: 0, LOW: 0, BATCH: 9 } };
  const completions = [{ at: ORIGIN_MS + 60, tookMs: 12 }];
  history.take(told(100, [depth], { completions }));
  history.take(told(200, [depth], { completions: [...completions, { at: ORIGIN_MS + 150, tookMs: 8 }] }));
  assert.deepEqual(history.depths.map((one) => [one.atMs - ORIGIN_MS, one.waiting[0], one.waiting[4]]), [[50, 1, 9], [100, 0, 7], [200, 0, 7]]);
  assert.deepEqual(history.completions.map((one) => one.tookMs), [12, 8]);
  assert.deepEqual(history.samples.map((one) => [one.memory, one.gpu, one.workersMb]), [[0.4, null, 40], [0.4, null, 40]]);
});

test("ten minutes are kept, and no more", () => {
  const history = new History();
  for (let second = 0; second < 1500; second += 1) {
    history.take(told(second * 1000, [step(`s${second}`, 2, second * 1000 - 900, 800)]));
  }
  assert.equal(history.rows()[0]?.slices.length, HISTORY_MS / 1000);
  assert.equal(history.samples.length, HISTORY_MS / 1000 + 1);
});

test("a flood of steps is bounded", () => {
  const history = new History();
  for (let turn = 0; turn < 30; turn += 1) {
    const events = Array.from({ length: 1000 }, (_, index) => step(`${turn}-${index}`, 2, turn * 1000 + index, 0.5));
    history.take(told(turn * 1000 + 1000, events));
  }
  const slices = history.rows().flatMap((row) => row.slices);
  assert.ok(slices.length <= 5000, String(slices.length));
  assert.equal(slices.at(-1)?.name, "29-999");
});

test("the first slice within sight is found by halving", () => {
  const slices = [0, 10, 20, 30].map((startMs) => ({ row: "", name: "", priority: "", failed: false, startMs, endMs: startMs + 5 }));
  assert.deepEqual([-1, 5, 6, 31, 36].map((atMs) => firstAfter(slices, atMs)), [0, 0, 1, 3, 4]);
});

test("the view follows the present until somebody moves it, and never leaves what is kept", () => {
  const view = new View(1000, 100);
  assert.deepEqual(view.range(5000), { fromMs: 4900, toMs: 5000 });
  view.zoom(0.5, 0.5, 5000);
  assert.deepEqual(view.range(5000), { fromMs: 4950, toMs: 5000 }, "live: the present stays at the edge");
  view.move(-1, 5000);
  assert.ok(!view.live);
  assert.deepEqual(view.range(6000), { fromMs: 4900, toMs: 4950 }, "what stands still stays where it is");
  view.zoom(2, 0, 6000);
  assert.deepEqual(view.range(6000), { fromMs: 4900, toMs: 5000 });
  view.move(-Infinity, 6000);
  assert.deepEqual(view.range(6000), { fromMs: 5000, toMs: 5100 });
  view.move(Infinity, 6000);
  assert.deepEqual(view.range(6000), { fromMs: 5900, toMs: 6000 });
  view.zoom(1e9, 0.5, 6000);
  assert.equal(view.range(6000).toMs - view.range(6000).fromMs, 1000);
  view.follow();
  assert.equal(view.range(7000).toMs, 7000);
});

test("the page runs only what carries its nonce, and words cannot leave their place", () => {
  const words = { pause: "</script><script>alert(1)</script>", priorities: [] } as unknown as Words;
  const html = timelineHtml({ nonce: "n0", source: "vscode-webview:", script: "a.js", style: 'a"b.css', language: "en", title: "T<", words });
  assert.match(html, /default-src 'none'; script-src 'nonce-n0'; style-src vscode-webview:/);
  assert.equal(html.match(/<script/g)?.length, 2);
  assert.doesNotMatch(html, / style="| on\w+=|unsafe/);
  assert.match(html, /href="a&quot;b.css"/);
});

test("the saved file is a trace with completions as a counter", () => {
  const saved: unknown = JSON.parse(traceFile(told(100, [step("a", 1, 0, 50)], { completions: [{ at: ORIGIN_MS + 60, tookMs: 12 }] })));
  const events = Reflect.get(saved as object, "traceEvents") as TraceEvent[];
  assert.equal(events.filter((event) => event.ph === "X").length, 1);
  assert.deepEqual(events.find((event) => event.name === "completion")?.args, { ms: 12 });
  assert.equal(events.find((event) => event.name === "completion")?.ts, 60_000);
});
