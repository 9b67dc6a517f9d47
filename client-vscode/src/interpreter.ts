// Which Python the server's environment is made with. Looks by running each candidate isolated (-I -S): nothing of a
// workspace, of the user's site-packages or of PYTHONPATH is imported by that.
import { stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, relative } from "node:path";
import type { InterpreterFault, Looked, Problem } from "./phase";
import { run } from "./processes";

export const OLDEST: readonly [number, number] = [3, 11];
export const NEEDED = "3.11 or newer";

/** A program that may be a Python, with what must stand before its own arguments (`py -3`). */
export interface Candidate {
  readonly program: string;
  readonly before?: readonly string[];
}

/** A Python that fits. `base` is the real one behind a virtual environment. */
export interface Interpreter {
  readonly base: string;
  readonly version: string;
  /** For example 3.11. */
  readonly minor: string;
}

export type LookResult = Interpreter | (Looked & { readonly fault: InterpreterFault });
export type Look = (candidate: Candidate) => Promise<LookResult>;

export function isInterpreter(result: LookResult): result is Interpreter {
  return "base" in result;
}

const SCRIPT = [
  "import json, struct, sys, sysconfig",
  "print(json.dumps({'version': '.'.join(map(str, sys.version_info[:3])), 'bits': struct.calcsize('P') * 8,",
  "'base': getattr(sys, '_base_executable', None) or sys.executable, 'machine': sysconfig.get_platform().split('-')[-1],",
  "'implementation': sys.implementation.name}))",
].join("\n");

/** Runs the candidate and says whether it fits: CPython, new enough, with libraries in the package, for this machine. */
export async function lookAt(candidate: Candidate, packagesFor: readonly string[], cwd: string): Promise<LookResult> {
  const path = [candidate.program, ...(candidate.before ?? [])].join(" ");
  const fault = await fileFault(candidate.program);
  if (fault !== undefined) {
    return { path, fault };
  }
  const before = candidate.before ?? [];
  const done = await run(candidate.program, [...before, "-I", "-S", "-c", SCRIPT], { cwd, timeoutMs: 20_000 });
  const facts = parse(done.stdout);
  if (done.code !== 0 || facts === undefined) {
    // A Python 2 knows no -I; it can still say which one it is.
    const said = await run(candidate.program, [...before, "--version"], { cwd, timeoutMs: 20_000 });
    const version = /^Python (\d+\.\d+\S*)/m.exec(said.stdout + said.stderr)?.[1];
    return version !== undefined && tooOld(version) ? { path, version, fault: "tooOld" } : { path, fault: "notPython" };
  }
  return judge(path, facts, packagesFor);
}

interface Facts {
  readonly version: string;
  readonly bits: number;
  readonly base: string;
  readonly machine: string;
  readonly implementation: string;
}

/** The decision on what a Python said about itself. */
export function judge(path: string, facts: Facts, packagesFor: readonly string[]): LookResult {
  const { version } = facts;
  if (tooOld(version)) {
    return { path, version, fault: "tooOld" };
  }
  if (facts.implementation !== "cpython") {
    return { path, version: `${version} (${facts.implementation})`, fault: "noPackages" };
  }
  if (facts.bits < 64) {
    return { path, version, fault: "bits32" };
  }
  const machines: Readonly<Record<string, readonly string[]>> = { x64: ["x86_64", "amd64"], arm64: ["aarch64", "arm64"] };
  if (!(machines[process.arch] ?? [facts.machine]).concat("universal2").includes(facts.machine.toLowerCase())) {
    return { path, version, fault: "machine" };
  }
  const minor = version.split(".").slice(0, 2).join(".");
  return packagesFor.includes(minor) ? { base: facts.base, version, minor } : { path, version, fault: "noPackages" };
}

/** Where `headway.interpreter`, the Python extension and the search path point. */
export interface Sources {
  /** The setting; when it is there, nothing else counts. */
  readonly chosen: string | undefined;
  /** The Python extension's choice. */
  readonly suggested: string | undefined;
  readonly onPath: readonly Candidate[];
}

/** Takes the first that fits. */
export async function choose(sources: Sources, look: Look, packagesFor: readonly string[]): Promise<Interpreter | Problem> {
  if (sources.chosen !== undefined) {
    const result = await look({ program: sources.chosen });
    return isInterpreter(result) ? result : { kind: "chosenPython", needed: NEEDED, packagesFor, looked: result };
  }
  const looked: Looked[] = [];
  const suggested: readonly Candidate[] = sources.suggested === undefined ? [] : [{ program: sources.suggested }];
  for (const candidate of [...suggested, ...sources.onPath]) {
    const result = await look(candidate);
    if (isInterpreter(result)) {
      return result;
    }
    looked.push(result);
  }
  return { kind: "noPython", needed: NEEDED, packagesFor, looked };
}

/**
 * Candidates on the search path, the usual names first. Relative entries do not count, nor, where the workspace is not
 * trusted, those inside it: what a folder brings along is not run.
 */
export async function searchPath(
  path: string,
  packagesFor: readonly string[],
  forbidden: readonly string[],
  windows: boolean,
): Promise<Candidate[]> {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder) && !forbidden.some((root) => within(folder, root)));
  const versioned = [...packagesFor].reverse().map((minor) => `python${minor}`);
  const names = windows ? ["python.exe", "python3.exe"] : ["python3", "python", ...versioned];
  const found: Candidate[] = [];
  for (const name of names) {
    const file = await firstFile(folders.map((folder) => join(folder, name)));
    if (file !== undefined) {
      found.push({ program: file });
    }
  }
  const launcher = windows ? await firstFile(folders.map((folder) => join(folder, "py.exe"))) : undefined;
  return launcher === undefined ? found : [...found, { program: launcher, before: ["-3"] }];
}

/** Whether a file or folder lies in another folder, or is it. */
export function within(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (!way.startsWith("..") && !isAbsolute(way));
}

async function firstFile(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    if ((await fileFault(path)) === undefined) {
      return path;
    }
  }
  return undefined;
}

async function fileFault(path: string): Promise<InterpreterFault | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    return "missing";
  }
  return found.isFile() ? undefined : "notAFile";
}

function tooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

function parse(stdout: string): Facts | undefined {
  try {
    // Only our own script writes this; a program that is no Python writes something else.
    const found: unknown = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
    return isFacts(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isFacts(found: unknown): found is Facts {
  const wanted = { version: "string", bits: "number", base: "string", machine: "string", implementation: "string" };
  return (
    typeof found === "object" &&
    found !== null &&
    Object.entries(wanted).every(([key, type]) => typeof Reflect.get(found, key) === type)
  );
}
