import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { choose, isInterpreter, judge, lookAt, searchPath, type Candidate, type LookResult } from "../src/interpreter";

const folder = mkdtempSync(join(tmpdir(), "headway-interpreter-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const SUPPORTED = ["3.11", "3.12", "3.13", "3.14"];
const FACTS = { version: "3.12.4", bits: 64, base: "/usr/bin/python3.12", machine: process.arch === "x64" ? "x86_64" : "arm64", implementation: "cpython" };

function script(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

const unix = { skip: process.platform === "win32" ? "shell scripts stand in for programs" : false };

test("a Python is judged by version, kind, word size, machine and libraries", () => {
  const verdict = (facts: Partial<typeof FACTS>): string | undefined => {
    const result = judge("python3", { ...FACTS, ...facts }, ["3.11", "3.12"]);
    return isInterpreter(result) ? undefined : result.fault;
  };
  assert.equal(verdict({}), undefined);
  assert.equal(verdict({ version: "3.10.9" }), "tooOld");
  assert.equal(verdict({ version: "2.7.18" }), "tooOld");
  assert.equal(verdict({ version: "3.13.0" }), "noPackages");
  assert.equal(verdict({ implementation: "pypy" }), "noPackages");
  assert.equal(verdict({ bits: 32 }), "bits32");
  assert.equal(verdict({ machine: "riscv64" }), "machine");
});

test("what is no Python is told apart", unix, async () => {
  const fault = async (program: string): Promise<string | undefined> => {
    const result = await lookAt({ program }, SUPPORTED, folder);
    return isInterpreter(result) ? undefined : result.fault;
  };
  assert.equal(await fault(join(folder, "nowhere")), "missing");
  assert.equal(await fault(folder), "notAFile");
  assert.equal(await fault(script("silent", "exit 0")), "notPython");
  assert.equal(await fault(script("old", 'echo "Python 2.7.18" >&2; [ "$1" = --version ]')), "tooOld");
});

test("the first that fits is taken, and all that did not are named", async () => {
  const fits: LookResult = { base: "/b/python", version: "3.12.1", minor: "3.12" };
  const look = (candidate: Candidate): Promise<LookResult> =>
    Promise.resolve(candidate.program === "good" ? fits : { path: candidate.program, fault: "missing" });
  const path = (...programs: string[]): Candidate[] => programs.map((program) => ({ program }));
  assert.equal(await choose({ chosen: undefined, suggested: "bad", onPath: path("worse", "good", "never") }, look, SUPPORTED), fits);
  const none = await choose({ chosen: undefined, suggested: undefined, onPath: path("a", "b") }, look, SUPPORTED);
  assert.ok("kind" in none && none.kind === "noPython");
  assert.deepEqual(none.looked.map((looked) => looked.path), ["a", "b"]);
});

test("where the setting names one, no other is tried", async () => {
  const look = (candidate: Candidate): Promise<LookResult> =>
    Promise.resolve(
      candidate.program === "chosen" ? { path: "chosen", version: "3.7.1", fault: "tooOld" } : { base: "x", version: "3.12.1", minor: "3.12" },
    );
  const result = await choose({ chosen: "chosen", suggested: "good", onPath: [{ program: "good" }] }, look, SUPPORTED);
  assert.ok("kind" in result && result.kind === "chosenPython");
  assert.equal(result.looked.version, "3.7.1");
});

test("relative entries of the search path and an untrusted workspace's are left out", unix, async () => {
  const workspace = join(folder, "workspace");
  const system = join(folder, "system");
  mkdirSync(join(workspace, "bin"), { recursive: true });
  mkdirSync(system);
  for (const place of [join(workspace, "bin"), system]) {
    symlinkSync(script("python3", "exit 0"), join(place, "python3"));
  }
  const path = [".", "bin", join(workspace, "bin"), system].join(":");
  const found = async (forbidden: string[]): Promise<string[]> =>
    (await searchPath(path, SUPPORTED, forbidden, false)).map((candidate) => candidate.program);
  assert.deepEqual(await found([workspace]), [join(system, "python3")]);
  assert.deepEqual(await found([]), [join(workspace, "bin", "python3")]);
});

test("a Python runs without the modules of the folder it is started in", unix, async () => {
  writeFileSync(join(folder, "json.py"), "raise SystemExit('the workspace ran')\n");
  const candidates = await searchPath(process.env["PATH"] ?? "", SUPPORTED, [], false);
  const results = await Promise.all(candidates.map((candidate) => lookAt(candidate, SUPPORTED, folder)));
  assert.ok(results.some(isInterpreter), "no Python 3.11 or newer on the search path");
});
