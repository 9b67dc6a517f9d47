// With a real Python, a real pip and small wheels made here; nothing is downloaded.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { platformHere, readBundle, type Bundle } from "../src/bundle";
import { EnvironmentError, Environments } from "../src/environment";
import { choose, isInterpreter, lookAt, searchPath, type Interpreter } from "../src/interpreter";

const SUPPORTED = ["3.11", "3.12", "3.13", "3.14"];
const top = mkdtempSync(join(tmpdir(), "headway-environment-"));
after(() => rmSync(top, { recursive: true, force: true }));
const made: { python?: Interpreter; bundle?: Bundle } = {};

/** The modules that a fault is looked for in, empty. */
const HEADWAY = ["__init__", "cli/__init__", "cli/commands", "lsp/__init__", "lsp/assembly"].map((name) => `headway/${name}.py`);

/** Writes a pure wheel with one package by Python's zipfile, and pip's own wheel from what that Python carries. */
const MAKE = `
import ensurepip, glob, os, shutil, sys, zipfile
folder, name, modules = sys.argv[1], sys.argv[2], sys.argv[3:]
with zipfile.ZipFile(f"{folder}/{name}-1.0-py3-none-any.whl", "w") as wheel:
    for module in modules:
        wheel.writestr(module, "")
    info = f"{name}-1.0.dist-info"
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "".join(f"{m},,\\n" for m in [*modules, f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]))
for pip in glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl")):
    shutil.copy(pip, folder)
`;

before(async () => {
  const onPath = await searchPath(process.env["PATH"] ?? "", SUPPORTED, [], process.platform === "win32");
  const python = await choose({ chosen: undefined, suggested: undefined, onPath }, (c) => lookAt(c, SUPPORTED, top), SUPPORTED);
  assert.ok(!("kind" in python), "no Python 3.11 or newer on the search path");
  const folder = join(top, "bundled");
  const wheels = join(folder, "wheels");
  mkdirSync(wheels, { recursive: true });
  execFileSync(python.base, ["-I", "-c", MAKE, wheels, "headway", ...HEADWAY]);
  execFileSync(python.base, ["-I", "-c", MAKE, wheels, "another", "another/__init__.py"]);
  const files = readdirSync(wheels);
  const hash = (file: string): string => createHash("sha256").update(readFileSync(join(wheels, file))).digest("hex");
  const lines = files
    .filter((file) => !file.startsWith("pip-"))
    .map((file) => `${file.split("-")[0] ?? ""}==1.0 --hash=sha256:${hash(file)}`);
  writeFileSync(join(folder, "requirements.txt"), lines.join("\n"));
  const pip = files.find((file) => file.startsWith("pip-"));
  const described = { version: "1.0", platform: platformHere(), pythons: SUPPORTED, hash: "0123456789", pip, packages: 2 };
  writeFileSync(join(folder, "bundle.json"), JSON.stringify(described));
  // The extension's folder may be read-only.
  chmodSync(wheels, 0o555);
  chmodSync(folder, 0o555);
  made.python = python;
  made.bundle = await readBundle(folder);
});

const never = (): AbortSignal => new AbortController().signal;

function parts(): { python: Interpreter; bundle: Bundle } {
  return { python: made.python ?? assert.fail(), bundle: made.bundle ?? assert.fail() };
}

test("an environment is made offline with progress, found again, mended and removed", async () => {
  const { python, bundle } = parts();
  const root = join(top, "life");
  const environments = new Environments(root, bundle);
  assert.equal(await environments.find(), undefined);
  const seen: string[] = [];
  const environment = await environments.build(python, (done, total) => seen.push(`${done}/${total}`), never());
  assert.deepEqual(seen, ["0/2", "1/2", "2/2"]);
  assert.equal(await environments.fault(environment), undefined);
  assert.deepEqual(await environments.find(), environment);
  assert.deepEqual(await environments.find(python.base), environment);
  assert.equal(await environments.find("/another/python"), undefined);
  assert.equal(await new Environments(root, { ...bundle, hash: "fedcba9876" }).find(), undefined);

  const library = execFileSync(environment.python, ["-I", "-c", "import headway; print(headway.__file__)"]).toString().trim();
  rmSync(join(dirname(library), "lsp", "assembly.py"));
  assert.match((await environments.fault(environment)) ?? "", /headway/);
  await environments.remove(environment);
  assert.equal(await environments.find(), undefined);
  assert.deepEqual(readdirSync(root), []);
});

test("a link to a Python that is gone does not count as an environment", async () => {
  const { python, bundle } = parts();
  const environments = new Environments(join(top, "gone"), bundle);
  const environment = await environments.build(python, () => undefined, never());
  rmSync(environment.python);
  assert.equal(await environments.find(), undefined);
  const again = await environments.build(python, () => undefined, never());
  assert.ok(existsSync(again.python));
});

test("a build that is stopped or fails leaves nothing behind", async () => {
  const { python, bundle } = parts();
  const root = join(top, "failing");
  const stopped = new AbortController();
  await assert.rejects(new Environments(root, bundle).build(python, () => stopped.abort(), stopped.signal), EnvironmentError);
  const damaged = new Environments(root, { ...bundle, pip: "pip-0-py3-none-any.whl" });
  await assert.rejects(damaged.build(python, () => undefined, never()), EnvironmentError);
  assert.deepEqual(readdirSync(root), []);
});

test("two windows that build at once end with one environment", async () => {
  const { python, bundle } = parts();
  const root = join(top, "twins");
  const build = (): Promise<unknown> => new Environments(root, bundle).build(python, () => undefined, never());
  const [first, second] = await Promise.all([build(), build()]);
  assert.deepEqual(first, second);
  assert.equal(readdirSync(root).length, 1);
});

test("what nobody uses any more is removed, what somebody uses is not", async () => {
  const { python, bundle } = parts();
  const root = join(top, "tidy");
  const older = new Environments(root, { ...bundle, hash: "aaaaaaaaaa" });
  const old = await older.build(python, () => undefined, never());
  const newer = new Environments(root, bundle);
  const current = await newer.build(python, () => undefined, never());
  mkdirSync(join(root, `.building-${2 ** 22 + 7}-dead`));
  await older.use(old);
  assert.deepEqual(await newer.tidy(), [join(root, `.building-${2 ** 22 + 7}-dead`)]);
  await newer.use(current);
  assert.deepEqual(await newer.tidy(), [old.folder]);
  assert.deepEqual(await newer.find(), current);
  assert.ok(isInterpreter(python));
});
