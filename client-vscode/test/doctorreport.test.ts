import assert from "node:assert/strict";
import { test } from "node:test";
import { readChecks, report, type Check } from "../src/doctorreport";
import { english } from "./words";

const GOOD: Check = { name: "psutil", verdict: "good", found: "7.2.2", remedy: "" };
const POOR: Check = { name: "project's Python", verdict: "poor", found: "no <b>environment</b>", remedy: "make .venv | there" };
const status = { phase: { kind: "stopped" } as const, queue: undefined, alerts: [], trusted: true };
const about = { version: "0.1.0", editor: "VS Code 1.96", status, told: { count: 0, mostMs: 0, worstMs: 0 } };

test("what is to be mended stands first, with its remedy, and everything stands in the table", () => {
  const text = report({ ...about, folders: [{ name: "shop", checks: [GOOD, POOR], failure: "" }] }, english);
  const lines = text.split("\n");
  assert.ok(text.indexOf("To mend: 1") < text.indexOf("| ✓ | psutil | 7.2.2 |"), text);
  assert.ok(lines.includes("- **project's Python**: no \\<b\\>environment\\</b\\>"), text);
  assert.ok(lines.includes("  → make .venv | there"), text);
  assert.ok(!text.includes("Restricted Mode"));
  assert.ok(!text.includes("All is well.") && !text.includes("notifications"));
  const well = report({ ...about, folders: [{ name: "shop", checks: [GOOD], failure: "" }] }, english);
  assert.ok(well.includes("All is well.") && !well.includes("To mend"), well);
});

test("a folder that could not be looked at says why, and Restricted Mode is named", () => {
  const folders = [{ name: "shop", checks: undefined, failure: "ended by SIGKILL" }];
  const text = report({ ...about, status: { ...status, trusted: false }, folders }, english);
  assert.match(text, /Nothing could be looked at here: ended by SIGKILL/);
  assert.match(text, /Restricted Mode/);
});

test("how long the server's notifications took is told where there were any", () => {
  const text = report({ ...about, told: { count: 12, mostMs: 0.214, worstMs: 1.5 }, folders: [] }, english);
  assert.match(text, /^12 notifications of the server were handled, 95 % of them within 0\.21 ms, the longest within 1\.50 ms\.$/m);
});

test("only what the doctor wrote is read", () => {
  assert.deepEqual(readChecks(JSON.stringify({ checks: [GOOD, POOR], good: false })), [GOOD, POOR]);
  for (const other of ["", "{", "[]", "3", '{"checks": [{"name": 1}]}']) {
    assert.equal(readChecks(other), undefined, other);
  }
});
