// Drives a real VS Code (code-server) through headless Chromium, for one workspace. See install.sh for what it needs.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { chromium, type BrowserContext, type Page } from "playwright-core";

const HOME = process.env["HEADWAY_TESTBED"] ?? join(homedir(), ".cache", "headway-vscode");
const NODE = join(HOME, "bin", "node");
const ENTRY = join(HOME, "code-server", "node_modules", "code-server", "out", "node", "entry.js");
const BROWSER_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Nothing leaves the machine.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** A quiet workbench: nothing but what is tested moves. */
const QUIET: Readonly<Record<string, unknown>> = {
  "security.workspace.trust.enabled": false,
  "security.workspace.trust.startupPrompt": "never",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.enableExperiments": false,
  "workbench.reduceMotion": "on",
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": "off",
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "update.showReleaseNotes": false,
  "git.enabled": false,
  "files.autoSave": "off",
  "files.hotExit": "off",
  "editor.cursorBlinking": "solid",
  "editor.wordBasedSuggestions": "off",
  "editor.accessibilitySupport": "off",
  "window.confirmBeforeClose": "never",
};

export interface StartOptions {
  /** Packages to install. */
  readonly vsix?: readonly string[];
  /** A folder, or a file that names several. */
  readonly workspace: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Leaves Workspace Trust on, as a person has it. */
  readonly trust?: boolean;
  /** The display language, for example zh-cn. Extensions speak it; the editor itself stays English without its pack. */
  readonly language?: string;
  /** Global storage of extensions to start with, as an earlier run left it. */
  readonly storage?: string;
}

export interface StatusItem {
  readonly id: string;
  readonly text: string;
  readonly label: string;
}

export const sleep = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

/** Asks until the answer is truthy. What it throws counts as "not yet". */
export async function eventually<T>(ask: () => Promise<T> | T, what: string, timeoutMs = 20_000): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs;
  const last: { error?: unknown } = {};
  for (;;) {
    try {
      const answer = await ask();
      if (answer) {
        return answer;
      }
    } catch (error) {
      last.error = error;
    }
    if (Date.now() > end) {
      throw new Error(`not within ${String(timeoutMs)} ms: ${what}`, { cause: last.error });
    }
    await sleep(100);
  }
}

export class Editor {
  readonly page: Page;
  /** How long the packages took to install, and when the window was asked for. */
  readonly times: { readonly installedMs: number; readonly openedAtMs: number };
  private readonly folder: string;
  private readonly server: ChildProcess;
  private readonly browser: BrowserContext;
  private machineSettings: Record<string, unknown> = {};

  private constructor(folder: string, server: ChildProcess, browser: BrowserContext, page: Page, times: Editor["times"]) {
    this.times = times;
    this.folder = folder;
    this.server = server;
    this.browser = browser;
    this.page = page;
  }

  static async start(options: StartOptions): Promise<Editor> {
    const folder = mkdtempSync(join(tmpdir(), "headway-editor-"));
    const started: { server?: ChildProcess; browser?: BrowserContext } = {};
    try {
      const env = prepare(folder, options);
      const base = [ENTRY, "--config", "/dev/null", "--user-data-dir", join(folder, "user-data"), "--extensions-dir", join(folder, "extensions")];
      const begunAtMs = Date.now();
      for (const vsix of options.vsix ?? []) {
        const done = await promisify(execFile)(NODE, [...base, "--install-extension", resolve(vsix), "--force"], { env });
        if (!/successfully installed/i.test(done.stdout + done.stderr)) {
          throw new Error(`the package was not installed: ${done.stdout}${done.stderr}`);
        }
      }
      const installedMs = Date.now() - begunAtMs;
      const port = await freePort();
      const url = `http://127.0.0.1:${String(port)}`;
      const args = ["--auth", "none", "--bind-addr", `127.0.0.1:${String(port)}`, "--disable-telemetry", "--disable-update-check"];
      args.push("--disable-getting-started-override", ...(options.trust === true ? [] : ["--disable-workspace-trust"]));
      const server = spawn(NODE, [...base, ...args], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
      started.server = server;
      const said: string[] = [];
      [server.stdout, server.stderr].forEach((stream) => stream.on("data", (chunk: Buffer) => said.push(chunk.toString())));
      await eventually(async () => (await fetch(`${url}/healthz`)).ok, "the editor's server", 60_000).catch((error: unknown) => {
        throw new Error(`the editor did not start: ${said.join("")}`, { cause: error });
      });
      const browser = await chromium.launchPersistentContext(join(folder, "browser"), {
        executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
        headless: true,
        args: BROWSER_FLAGS,
        viewport: { width: 1280, height: 800 },
        locale: options.language ?? "en-US",
        env: { ...env, HOME: join(folder, "home") },
      });
      started.browser = browser;
      const page = browser.pages()[0] ?? (await browser.newPage());
      page.setDefaultTimeout(30_000);
      if (options.language !== undefined) {
        await page.addInitScript((language) => Object.assign(globalThis, { _VSCODE_NLS_LANGUAGE: language }), options.language);
      }
      const kind = options.workspace.endsWith(".code-workspace") ? "workspace" : "folder";
      const openedAtMs = Date.now();
      await page.goto(`${url}/?${kind}=${encodeURIComponent(resolve(options.workspace))}`, { timeout: 120_000 });
      await page.waitForSelector(".monaco-workbench .part.statusbar .statusbar-item", { timeout: 120_000 });
      await page.waitForSelector(".explorer-folders-view .monaco-list-row, .monaco-workbench .part.editor", { timeout: 60_000 });
      return new Editor(folder, server, browser, page, { installedMs, openedAtMs });
    } catch (error) {
      await started.browser?.close();
      await endGroup(started.server);
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Ends the browser, then the editor's server with all that it started, and removes the folder. */
  async stop(): Promise<void> {
    await this.browser.close();
    await endGroup(this.server);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /** Closes the window as a person does; the editor's server lives on for a while. */
  async closeWindow(): Promise<void> {
    await this.browser.close();
  }

  /** Loads the window anew, as its command does, and waits until the new page stands: a second reload before that hits the old one. */
  async reload(): Promise<void> {
    await this.page.evaluate(() => Object.assign(globalThis, { headwayBeforeReload: true }));
    await this.command("Developer: Reload Window");
    await eventually(
      () => this.page.evaluate(() => !("headwayBeforeReload" in globalThis) && document.querySelector(".part.statusbar .statusbar-item") !== null),
      "the reloaded window",
      60_000,
    );
  }

  /** Ends the editor's server by SIGKILL, as a crash does. */
  crash(): void {
    process.kill(-(this.server.pid ?? 0), "SIGKILL");
  }

  // ---- keys and quick input ----

  press(keys: string): Promise<void> {
    return this.page.keyboard.press(keys);
  }

  type(text: string): Promise<void> {
    return this.page.keyboard.type(text, { delay: 25 });
  }

  /** Runs a command by its whole title. */
  command(title: string): Promise<void> {
    return this.quick("F1", `>${title}`, title);
  }

  async openFile(name: string): Promise<void> {
    await this.quick("Control+P", name, name);
    await this.page.waitForSelector(`.tabs-container .tab.active[data-resource-name="${name}"]`);
    await this.focusEditor();
  }

  async goTo(line: number, column = 1): Promise<void> {
    await this.press("Control+G");
    await this.page.locator(".quick-input-widget:visible input").first().fill(`:${String(line)},${String(column)}`);
    await this.press("Enter");
    await this.page.waitForSelector(".quick-input-widget", { state: "hidden" });
  }

  async focusEditor(): Promise<void> {
    await this.page.locator(".editor-group-container.active .monaco-editor").first().click({ position: { x: 300, y: 12 } });
  }

  quickPickRows(): Promise<string[]> {
    return this.texts(".quick-input-widget:visible .quick-input-list .monaco-list-row");
  }

  async pick(row: string): Promise<void> {
    await this.page.locator(".quick-input-widget .quick-input-list .monaco-list-row", { hasText: row }).first().click();
  }

  // ---- what is shown ----

  /** Labels of the completion list, once it holds `entry`. */
  suggestions(entry: string, timeoutMs?: number): Promise<string[]> {
    const ask = async (): Promise<string[] | undefined> => {
      const labels = await this.texts(".suggest-widget.visible .monaco-list-row .label-name");
      return labels.includes(entry) ? labels : undefined;
    };
    return eventually(ask, `a completion list with ${entry}`, timeoutMs);
  }

  /** The same where nothing may serve yet: asks again and again, as a person would, and more patiently each time. */
  list(entry: string, timeoutMs: number): Promise<string[]> {
    const patience = { ms: 300 };
    return eventually(
      async () => {
        await this.press("Escape"); // Where a list is open, even an empty one, the next key only shows more of it.
        await this.press("Control+Space");
        patience.ms = Math.min(2 * patience.ms, 2400);
        return this.suggestions(entry, patience.ms / 2);
      },
      `completions with ${entry}`,
      timeoutMs,
    );
  }

  async statusItem(): Promise<StatusItem | undefined> {
    const items = await this.page.$$eval(".part.statusbar .statusbar-item", (elements) =>
      elements.map((element) => ({
        id: element.id,
        text: element.textContent.replace(/\s+/g, " ").trim(),
        icons: [...element.querySelectorAll(".codicon")].map((icon) => icon.className).join(" "),
        label: element.getAttribute("aria-label") ?? element.querySelector("[aria-label]")?.getAttribute("aria-label") ?? "",
        background: getComputedStyle(element).backgroundColor,
      })),
    );
    return items.find((item) => item.id === "headway.headway.status" || item.id.endsWith("headway.status"));
  }

  /** The extension's status item, once its spoken text matches. */
  status(spoken: RegExp, timeoutMs?: number): Promise<StatusItem> {
    const ask = async (): Promise<StatusItem | undefined> => {
      const item = await this.statusItem();
      return item !== undefined && spoken.test(item.label) ? item : undefined;
    };
    return eventually(ask, `a status item that says ${String(spoken)}`, timeoutMs).catch(async (error: unknown) => {
      throw new Error(`it says ${JSON.stringify(await this.statusItem())}`, { cause: error });
    });
  }

  async openStatusMenu(): Promise<string[]> {
    await this.page.locator('[id$="headway.status"] a').first().click();
    await this.page.waitForSelector(".quick-input-widget:visible .quick-input-list .monaco-list-row");
    return this.quickPickRows();
  }

  /** The tooltip's text. An editor that is busy may miss that the mouse came, or take the tooltip away again: then it comes anew. */
  statusTooltip(): Promise<string> {
    const item = this.page.locator('[id$="headway.status"] a').first();
    const hover = this.page.locator(".monaco-hover:visible .hover-contents, .workbench-hover-container:visible").first();
    const ask = async (): Promise<string | undefined> => {
      const { width, height } = this.page.viewportSize() ?? { width: 1200, height: 800 };
      await this.page.mouse.move(width / 2, height - 3); // where the status bar is empty
      await item.hover({ timeout: 5_000 });
      await hover.waitFor({ timeout: 5_000 });
      const text = await hover.innerText({ timeout: 1_000 });
      return text.trim() === "" ? undefined : text.replace(/\u00a0/g, " ");
    };
    return eventually(ask, "a tooltip of the status item", 60_000);
  }

  notifications(): Promise<string[]> {
    return this.texts(".notifications-toasts .notification-list-item .notification-list-item-message");
  }

  notification(part: string, timeoutMs?: number): Promise<string> {
    const ask = async (): Promise<string | undefined> => (await this.notifications()).find((text) => text.includes(part));
    return eventually(ask, `a notification with "${part}"`, timeoutMs).catch(async (error: unknown) => {
      throw new Error(`there are ${JSON.stringify(await this.notifications())}`, { cause: error });
    });
  }

  /** The buttons of the notification that holds `part`. */
  notificationButtons(part: string): Promise<string[]> {
    return this.page
      .locator(".notifications-toasts .notification-list-item", { hasText: part })
      .locator(".notification-list-item-buttons-container .monaco-button")
      .allInnerTexts();
  }

  /** Rows of the Problems panel, once one holds `part`. */
  async problems(part: string, timeoutMs?: number): Promise<string[]> {
    await this.command("Problems: Focus on Problems View");
    const ask = async (): Promise<string[] | undefined> => {
      const rows = await this.page
        .locator(".markers-panel .monaco-list-row")
        .evaluateAll((elements) => elements.map((element) => element.getAttribute("aria-label") ?? element.textContent));
      return rows.some((row) => row.includes(part)) ? rows : undefined;
    };
    return eventually(ask, `a problem with ${part}`, timeoutMs);
  }

  async screenshot(file: string): Promise<void> {
    await this.page.screenshot({ path: file });
  }

  // ---- beside the window ----

  /** Changes settings of the running editor: Machine settings are watched, the user's are read at the start only. */
  setSettings(more: Readonly<Record<string, unknown>>): void {
    this.machineSettings = { ...this.machineSettings, ...more };
    const file = join(this.folder, "user-data", "Machine", "settings.json");
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, JSON.stringify(this.machineSettings, null, 2));
  }

  /** When the newest line of the extension's log that holds `part` was written; NaN where there is none. */
  loggedAtMs(part: string): number {
    const times = this.log()
      .split("\n")
      .filter((line) => line.includes(part))
      .map((line) => Date.parse(line.slice(0, "2000-01-01 00:00:00.000".length)));
    return Math.max(...(times.length > 0 ? times : [Number.NaN]));
  }

  /** The text of the extension's log channel. */
  log(): string {
    const root = join(this.folder, "user-data", "logs");
    const files = existsSync(root) ? readdirSync(root, { recursive: true, encoding: "utf8" }) : [];
    return files
      .filter((file) => /headway\.headway.*\.log$/i.test(file) || /Headway\.log$/.test(file))
      .map((file) => readFileSync(join(root, file), "utf8"))
      .join("\n");
  }

  /** The extension's global storage, with the server's environment in it. */
  get storage(): string {
    return join(this.folder, "user-data", "User", "globalStorage", "headway.headway");
  }

  /** What the extension's package says of itself: for which platform and Pythons it is. */
  get bundle(): string {
    const extensions = join(this.folder, "extensions");
    const ours = readdirSync(extensions).find((name) => name.startsWith("headway.headway-")) ?? "missing";
    return join(extensions, ours, "out", "bundled", "bundle.json");
  }

  /** Ids of the servers' processes that use this editor's storage. */
  servers(): number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        const line = commandLine(pid);
        return line.includes(this.storage) && line.includes("\0serve\0");
      })
      .map(Number);
  }

  private async quick(key: string, text: string, row: string): Promise<void> {
    const box = this.page.locator(".quick-input-widget:visible input").first();
    // What a window offers comes bit by bit after its start, and a list that is open stays as it was asked for: then anew.
    await eventually(async () => {
      if (!(await box.isVisible())) {
        await this.press(key);
      }
      await box.fill(text, { timeout: 2_000 });
      const wanted = this.page.locator(".quick-input-widget .quick-input-list .monaco-list-row", { hasText: row }).first();
      await wanted.click({ timeout: 5_000 }).catch(async (error: unknown) => {
        await this.press("Escape");
        throw error;
      });
      return true;
    }, `the entry "${row}"`, 90_000);
  }

  private texts(selector: string): Promise<string[]> {
    return this.page
      .locator(selector)
      .evaluateAll((elements) => elements.map((element) => element.textContent.replace(/\u00a0/g, " ").trim()));
  }
}

function prepare(folder: string, options: StartOptions): NodeJS.ProcessEnv {
  const user = join(folder, "user-data", "User");
  for (const needed of [user, join(folder, "extensions"), join(folder, "home", ".config"), join(folder, "run")]) {
    mkdirSync(needed, { recursive: true });
  }
  if (options.storage !== undefined) {
    cpSync(options.storage, join(user, "globalStorage", "headway.headway"), { recursive: true, verbatimSymlinks: true });
  }
  const trust = options.trust === true ? { "security.workspace.trust.enabled": true } : {};
  writeFileSync(join(user, "settings.json"), JSON.stringify({ ...QUIET, ...trust, ...options.settings }, null, 2));
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    HOME: join(folder, "home"),
    XDG_CONFIG_HOME: join(folder, "home", ".config"),
    XDG_DATA_HOME: join(folder, "home", ".local", "share"),
    XDG_CACHE_HOME: join(folder, "home", ".cache"),
    XDG_RUNTIME_DIR: join(folder, "run"),
    EXTENSIONS_GALLERY: "{}", // no marketplace
    ...options.env,
  };
  // A leftover of an outer editor's terminal would redirect the command line to that one.
  const kept = Object.entries(env).filter(([key]) => key !== "PORT" && key !== "PASSWORD" && !key.startsWith("VSCODE_"));
  // As when started from a terminal: the search path stays as it is given here, no login shell is asked for another.
  return { ...Object.fromEntries(kept), VSCODE_CLI: "1" };
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const probe = createServer().once("error", failed);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        if (typeof address === "object" && address !== null) {
          done(address.port);
        } else {
          failed(new Error("no port"));
        }
      });
    });
  });
}

async function endGroup(server: ChildProcess | undefined): Promise<void> {
  if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) {
    return;
  }
  const gone = new Promise<void>((done) => server.once("exit", () => done()));
  process.kill(-server.pid, "SIGTERM");
  await Promise.race([gone, sleep(5000)]);
  try {
    process.kill(-server.pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) {
      throw error;
    }
  }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // It has ended since.
  }
}
