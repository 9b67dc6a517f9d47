// Runs a program to its end, bounded in time and output. No shell.
import { spawn } from "node:child_process";

export interface RunOptions {
  readonly cwd?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Called with each whole line of standard output. */
  readonly onLine?: (line: string) => void;
}

/** How a program ended. `code` is null where it was killed or could not be started; `failure` then says why. */
export interface Completed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly failure?: string;
}

const MOST_CHARACTERS = 200_000;

/** Runs `program` with `args`. Never rejects: what went wrong is in the result. */
export function run(program: string, args: readonly string[], options: RunOptions): Promise<Completed> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      timeout: options.timeoutMs,
      killSignal: "SIGKILL",
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const output = { stdout: "", stderr: "", line: "" };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output.stdout = (output.stdout + chunk).slice(-MOST_CHARACTERS);
      const lines = (output.line + chunk).split(/\r?\n/);
      output.line = (lines.pop() ?? "").slice(-MOST_CHARACTERS);
      lines.forEach((line) => options.onLine?.(line));
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      output.stderr = (output.stderr + chunk).slice(-MOST_CHARACTERS);
    });
    child.on("error", (error) => {
      resolve({ code: null, stdout: output.stdout, stderr: output.stderr, failure: error.message });
    });
    child.on("close", (code, signal) => {
      const failure = signal === null ? {} : { failure: `ended by ${signal}, after at most ${options.timeoutMs / 1000} s` };
      resolve({ code, stdout: output.stdout, stderr: output.stderr, ...failure });
    });
  });
}

/** Whether a process with this id lives. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, but belongs to someone else.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
