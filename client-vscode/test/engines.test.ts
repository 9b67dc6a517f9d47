import assert from "node:assert/strict";
import { test } from "node:test";
import { enginesOf, engineStatus, type EngineSettings } from "../src/enginewords";
import type { StatusInput } from "../src/labels";
import { english } from "./words";

const SETTINGS: EngineSettings = {
  python: ["ty", "index"],
  others: [{ language: "go", command: ["/usr/bin/gopls", "serve"] }],
  diagnostics: true,
};
const UP: StatusInput = { phase: { kind: "running" }, queue: undefined, alerts: [], trusted: true };

test("the engines of a file are named in order, with versions that are known", () => {
  assert.deepEqual(enginesOf("python", SETTINGS, { ty: "0.0.9", ruff: "missing" }), ["ty 0.0.9", "index", "ruff"]);
  assert.deepEqual(enginesOf("python", { ...SETTINGS, diagnostics: false }, {}), ["ty", "index"]);
  assert.deepEqual(enginesOf("go", SETTINGS, {}), ["gopls"]);
  assert.deepEqual(enginesOf("rust", SETTINGS, {}), []);
});

test("what is missing or broken is said and marked", () => {
  const status = engineStatus("python", UP, SETTINGS, { ty: "0.0.9", ruff: "missing" }, english);
  assert.deepEqual([status.text, status.severity], ["ty, index, ruff", "warning"]);
  assert.match(status.detail, /not installed: ruff/);
  const failed: StatusInput = { ...UP, phase: { kind: "failed", problem: { kind: "package", detail: "x" } } };
  assert.equal(engineStatus("python", failed, SETTINGS, {}, english).severity, "error");
  assert.equal(engineStatus("rust", UP, SETTINGS, {}, english).text, "no engine");
});
