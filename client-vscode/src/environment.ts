// The server's private Python environments: made offline from the wheels in the package, whole or not at all, found
// again at the next start, mended when broken, removed when old. Knows files and programs, no editor.
import { randomBytes } from "node:crypto";
import { createHash } from "node:crypto";
import { access, constants, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bundle } from "./bundle";
import type { Interpreter } from "./interpreter";
import { alive, run, type Completed } from "./processes";

/** An environment that is whole. */
export interface Environment {
  readonly folder: string;
  readonly python: string;
  /** The Python it was made with. */
  readonly base: string;
  readonly version: string;
}

/** It could not be made; `message` says what failed, in the failing program's own words. */
export class EnvironmentError extends Error {}

export interface Progress {
  /** Packages done, and of how many; 0 of n while the environment itself is made. */
  (done: number, total: number): void;
}

const READY = "headway-ready.json";
/** Imports what the server is made of; a missing part shows here. */
const LOAD = "import headway.cli.commands, headway.lsp.assembly";
const UNUSED_MS = 30 * 24 * 3600 * 1000;
const BUILD_TIMEOUT_MS = 300_000;

export class Environments {
  private readonly prefix: string;
  private readonly users: string;

  constructor(
    private readonly root: string,
    private readonly bundle: Bundle,
  ) {
    this.prefix = `${bundle.version}-${bundle.hash.slice(0, 8)}-${bundle.platform}-`;
    this.users = join(root, "in-use");
  }

  /** One that is ready for this package: made with the Python `base` if that is given, else any. */
  async find(base?: string): Promise<Environment | undefined> {
    for (const name of await list(this.root)) {
      if (name.startsWith(this.prefix)) {
        const found = await this.open(join(this.root, name));
        if (found !== undefined && (base === undefined || found.base === base)) {
          return found;
        }
      }
    }
    return undefined;
  }

  /**
   * Makes one. It is built aside and renamed when whole, so a build that is cut short leaves nothing that looks usable,
   * and of two windows that build at once the second takes what the first made. Raises EnvironmentError.
   */
  async build(interpreter: Interpreter, progress: Progress, signal: AbortSignal): Promise<Environment> {
    const base = createHash("sha256").update(interpreter.base).digest("hex").slice(0, 6);
    const folder = join(this.root, `${this.prefix}cp${interpreter.minor.replace(".", "")}-${base}`);
    const aside = join(this.root, `.building-${process.pid}-${randomBytes(4).toString("hex")}`);
    try {
      await mkdir(this.root, { recursive: true });
      await this.fill(aside, interpreter, progress, signal);
      await writeFile(join(aside, READY), JSON.stringify({ base: interpreter.base, version: interpreter.version }));
      return await this.putInPlace(aside, folder);
    } catch (error) {
      throw error instanceof EnvironmentError ? error : new EnvironmentError(String(error), { cause: error });
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
  }

  /** Whether the environment can still load the server. Takes a second. Undefined if it can, else what went wrong. */
  async fault(environment: Environment): Promise<string | undefined> {
    const done = await run(environment.python, ["-I", "-c", LOAD], {
      cwd: this.root,
      timeoutMs: 60_000,
    });
    return done.code === 0 ? undefined : lastWords(done);
  }

  async remove(environment: Environment): Promise<void> {
    const trash = join(this.root, `.building-${process.pid}-${randomBytes(4).toString("hex")}`);
    await rename(environment.folder, trash).catch(() => undefined);
    await rm(trash, { recursive: true, force: true });
  }

  /** Takes note that this process uses the environment, so that no other window removes it. */
  async use(environment: Environment): Promise<void> {
    await mkdir(this.users, { recursive: true });
    await writeFile(join(this.users, String(process.pid)), environment.folder);
    const now = new Date();
    await utimes(join(environment.folder, READY), now, now);
  }

  /** Removes what nobody uses: other packages' environments, abandoned builds, marks of processes that are gone. */
  async tidy(): Promise<readonly string[]> {
    const used = await this.used();
    const removed: string[] = [];
    for (const name of await list(this.root)) {
      const folder = join(this.root, name);
      if (folder !== this.users && !used.has(folder) && (await this.abandoned(name, folder))) {
        await rm(folder, { recursive: true, force: true });
        removed.push(folder);
      }
    }
    return removed;
  }

  private async fill(aside: string, interpreter: Interpreter, progress: Progress, signal: AbortSignal): Promise<void> {
    const total = this.bundle.packages;
    progress(0, total);
    const options = { cwd: this.root, timeoutMs: BUILD_TIMEOUT_MS, signal };
    must(await run(interpreter.base, ["-I", "-m", "venv", "--without-pip", aside], options));
    // pip runs from its wheel: Debian's Python has no ensurepip unless python3-venv is installed. --isolated: neither the
    // user's pip.conf nor PIP_* may send it elsewhere.
    const count = { done: 0 };
    const onLine = (line: string): void => {
      if (line.startsWith("Processing ")) {
        count.done += 1;
        progress(Math.min(count.done, total), total);
      }
    };
    const install = [join(this.bundle.folder, "wheels", this.bundle.pip, "pip"), "install", "--isolated", "--no-index"];
    install.push("--no-input", "--no-cache-dir", "--disable-pip-version-check", "--no-warn-script-location", "--no-deps");
    install.push("--only-binary", ":all:", "--require-hashes", "--find-links", join(this.bundle.folder, "wheels"));
    install.push("--requirement", join(this.bundle.folder, "requirements.txt"), "--progress-bar", "off");
    must(await run(pythonIn(aside), ["-I", ...install], { ...options, onLine }));
    must(await run(pythonIn(aside), ["-I", "-c", LOAD], options));
  }

  private async putInPlace(aside: string, folder: string): Promise<Environment> {
    for (const attempt of [1, 2]) {
      try {
        await rename(aside, folder);
      } catch (error) {
        const other = await this.open(folder);
        if (other !== undefined) {
          return other;
        }
        if (attempt === 2) {
          throw error;
        }
        await rm(folder, { recursive: true, force: true });
        continue;
      }
      break;
    }
    const made = await this.open(folder);
    if (made === undefined) {
      throw new EnvironmentError(folder);
    }
    return made;
  }

  private async open(folder: string): Promise<Environment | undefined> {
    const python = pythonIn(folder);
    try {
      const ready: unknown = JSON.parse(await readFile(join(folder, READY), "utf8"));
      // Follows the link to the Python it was made with, which may have been removed since.
      await access(python, constants.X_OK);
      return isReady(ready) ? { folder, python, ...ready } : undefined;
    } catch {
      return undefined;
    }
  }

  private async used(): Promise<ReadonlySet<string>> {
    const used = new Set<string>();
    for (const name of await list(this.users)) {
      const mark = join(this.users, name);
      if (alive(Number(name))) {
        used.add(await readFile(mark, "utf8"));
      } else {
        await rm(mark, { force: true });
      }
    }
    return used;
  }

  private async abandoned(name: string, folder: string): Promise<boolean> {
    const builder = /^\.building-(\d+)-/.exec(name)?.[1];
    if (builder !== undefined) {
      return !alive(Number(builder));
    }
    // Of this package too, one for another Python is kept while it is in use now and then.
    const lastUse = name.startsWith(this.prefix) ? await stat(join(folder, READY)).catch(() => undefined) : undefined;
    return lastUse === undefined || Date.now() - lastUse.mtimeMs > UNUSED_MS;
  }
}

function isReady(found: unknown): found is { base: string; version: string } {
  return (
    typeof found === "object" &&
    found !== null &&
    typeof Reflect.get(found, "base") === "string" &&
    typeof Reflect.get(found, "version") === "string"
  );
}

function pythonIn(folder: string): string {
  return process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
}

async function list(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).sort();
}

function must(done: Completed): void {
  if (done.code !== 0) {
    throw new EnvironmentError(lastWords(done));
  }
}

/** What a failed program said last: the line that tells most. */
function lastWords(done: Completed): string {
  const lines = `${done.stdout}\n${done.stderr}`.split(/\r?\n/).filter((line) => line.trim() !== "");
  const errors = lines.filter((line) => /error|no module|not found|denied|no space/i.test(line));
  return errors.at(-1)?.trim() ?? done.failure ?? lines.at(-1)?.trim() ?? `exit code ${done.code ?? "unknown"}`;
}
