// What every scenario stands on: an editor with the packed extension, checks that are counted, screenshots.
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Editor, type StartOptions } from "./editor.ts";
import { write } from "./workspace.ts";

export const ROOT = process.cwd();
export const SHOTS = join(ROOT, "artifacts", "vscode");
export const VSIX = join(ROOT, "dist", readdirSync(join(ROOT, "dist")).find((name) => name.startsWith("headway-linux-x64-")) ?? "missing");
export const TOP = mkdtempSync(join(tmpdir(), "headway-vscode-"));
/** Global storage with a finished environment, kept from the first scenario for those that are about something else. */
export const STORAGE = join(TOP, "storage");

/** Other work on this machine does not hold up the index: it is not what is tried here. */
export const UNHURRIED = { "headway.scheduler.cpuHighPercent": 100, "headway.scheduler.cpuLowPercent": 99, "headway.scheduler.onBattery": "ignore" };

export const count = { passed: 0, failed: 0 };

export class Scenario {
  readonly name: string;
  editor!: Editor;

  constructor(name: string) {
    this.name = name;
  }

  async check(what: string, run: (editor: Editor) => Promise<void>): Promise<void> {
    const started = Date.now();
    const took = (): string => `${((Date.now() - started) / 1000).toFixed(1)} s`;
    try {
      await run(this.editor);
      count.passed += 1;
      console.log(`ok    ${what} (${took()})`);
    } catch (error) {
      count.failed += 1;
      console.log(`FAIL  ${what} (${took()}): ${chain(error)}`);
      await this.shot(`failed-${what.replace(/\W+/g, "-").slice(0, 60)}`);
    }
  }

  shot(name: string): Promise<void> {
    return this.editor.screenshot(join(SHOTS, `${name}.png`));
  }
}

function chain(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return error instanceof Error && error.cause !== undefined ? `${text} <- ${chain(error.cause)}` : text;
}

export async function scenario(name: string, options: StartOptions, run: (scenario: Scenario) => Promise<void>): Promise<void> {
  const chosen = process.argv.slice(2);
  if (chosen.length > 0 && !chosen.some((word) => name.includes(word))) {
    return;
  }
  console.log(`\n${name}`);
  const current = new Scenario(name);
  const before = Date.now();
  try {
    current.editor = await Editor.start({ vsix: [VSIX], ...options });
  } catch (error) {
    count.failed += 1;
    console.log(`FAIL  the editor starts: ${chain(error)}`);
    return;
  }
  console.log(`      the editor runs after ${((Date.now() - before) / 1000).toFixed(1)} s`);
  try {
    await run(current);
  } finally {
    write(SHOTS, `${name.replace(/\W+/g, "-")}.log`, current.editor.log());
    await current.editor.stop();
  }
}

export const BUSY = /running, .* waiting/;
export const IDLE = /: Idle/;
/** It serves, with or without work at hand. */
export const UP = /: (Idle|\d+ running)/;

/** Global storage with a finished environment where an earlier scenario left one: then nothing is set up anew. */
export function prepared(): { readonly storage?: string } {
  return existsSync(STORAGE) ? { storage: STORAGE } : {};
}
