// The scheduler view and the timeline in a real editor: what they show, what can be done with keys and mouse, what an empty one says.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Frame } from "playwright-core";
import { eventually, type Editor } from "./editor.ts";
import { prepared, scenario, TOP, UNHURRIED, type Scenario } from "./scenario.ts";
import { largeWorkspace } from "./workspace.ts";

const PANE = '[id="workbench.view.extension.headway"]';

/** What a screen reader says of each row. */
function rows(editor: Editor): Promise<string[]> {
  return editor.page
    .locator(`${PANE} .monaco-list-row`)
    .evaluateAll((elements) => elements.map((element) => (element.getAttribute("aria-label") ?? element.textContent).replace(/\u00a0/g, " ")));
}

function row(editor: Editor, says: RegExp, timeoutMs = 60_000): Promise<string> {
  return eventually(async () => (await rows(editor)).find((text) => says.test(text)), `a row that says ${String(says)}`, timeoutMs).catch(
    async (error: unknown) => {
      throw new Error(`the rows are ${JSON.stringify(await rows(editor))}`, { cause: error });
    },
  );
}

async function select(editor: Editor, text: string): Promise<void> {
  await editor.page.locator(`${PANE} .monaco-list-row`, { hasText: text }).first().click({ position: { x: 60, y: 8 } });
}

/** The number at the view's icon; empty where there is none. */
async function badge(editor: Editor): Promise<string> {
  const found = editor.page.locator('.activitybar .action-item:has([aria-label*="Headway"]) .badge-content').first();
  return (await found.isVisible()) ? found.innerText() : "";
}

export async function schedulerView(): Promise<void> {
  const workspace = join(TOP, "jobs");
  largeWorkspace(workspace, 300);
  await scenario("scheduler view", { workspace, trust: true, settings: UNHURRIED, ...prepared() }, async (now) => {
    await now.check("the view lists the index with its tasks, and the badge counts what runs", async (editor) => {
      await editor.command("View: Show Headway");
      await row(editor, /^Index jobs, (running|done)/, 120_000);
      await eventually(async () => (await badge(editor)) === "1", "a badge", 120_000);
      await select(editor, "Index jobs");
      await editor.press("ArrowRight");
      await row(editor, /^index jobs\/.*, (running|done|waiting)/);
      await now.shot("scheduler-running");
    });
    await now.check("Restricted Mode is said above the list", async (editor) => {
      const message = editor.page.locator(`${PANE} .message`).first();
      assert.match(await message.innerText(), /Restricted Mode/);
    });
    await now.check("what has ended stands under Recent, and the badge is gone", async (editor) => {
      await row(editor, /^Index jobs, done/, 180_000);
      await eventually(async () => (await badge(editor)) === "", "no badge");
    });
    await now.check("what is paused is moved up and stopped with keys, and tried again with the mouse", async (editor) => {
      await editor.command("Headway: Pause Background Work");
      await editor.command("Headway: Reindex Workspace");
      await row(editor, /^Paused, 1 jobs/);
      await row(editor, /^Index.*, paused.*Batch/);
      await editor.notification("Headway: indexing");
      await now.shot("scheduler-paused");
      await select(editor, "Batch");
      await editor.press("Alt+ArrowUp");
      await row(editor, /^Index.*, paused.*Low/);
      await select(editor, "Low");
      await editor.press("Delete");
      await row(editor, /^Index.*, stopped/);
      const stopped = editor.page.locator(`${PANE} .monaco-list-row`, { hasText: "stopped" }).first();
      await stopped.hover();
      await now.shot("scheduler-stopped");
      await stopped.locator('[aria-label^="Run Job Again"]').click();
      await row(editor, /^Paused, 1 jobs/);
      await editor.command("Headway: Resume Background Work");
      await eventually(async () => !(await rows(editor)).some((text) => text.startsWith("Paused,")), "nothing paused", 60_000);
      assert.deepEqual(await editor.notifications(), [], "nobody is bothered with what was stopped");
    });
    await now.check("the tooltip tells a job's times, and its details are copied", async (editor) => {
      const stopped = editor.page.locator(`${PANE} .monaco-list-row`, { hasText: "stopped" }).first();
      const hover = editor.page.locator(".monaco-hover:visible").first();
      const tooltip = await eventually(async () => {
        await editor.page.mouse.move(900, 400);
        await stopped.locator(".label-name").first().hover({ timeout: 5_000 });
        await hover.waitFor({ timeout: 5_000 });
        const text = await hover.innerText({ timeout: 1_000 });
        // Rows move while jobs end, and the mouse may be over another by now: then it looks again.
        return text.includes("Submitted") && text.includes("stopped") ? text : undefined;
      }, "a tooltip with the times", 60_000);
      assert.match(tooltip, /Priority\s+Low/);
      await now.shot("scheduler-tooltip");
    });
    await now.check("what was asked for is shown in the window while it lasts, and is stopped there", async (editor) => {
      const having = async (part: string): Promise<number> => (await rows(editor)).filter((text) => text.includes(part)).length;
      await eventually(async () => (await badge(editor)) === "" && (await having(", paused")) === 0, "nothing that runs or waits", 180_000);
      const stopped = await having(", stopped");
      await editor.command("Headway: Pause Background Work");
      await editor.command("Headway: Reindex Workspace");
      await row(editor, /^Paused, 1 jobs/);
      await editor.notification("Headway: indexing");
      await now.shot("progress");
      await editor.page.locator(".notifications-toasts .notification-list-item", { hasText: "Headway: indexing" }).getByText("Cancel").click();
      await eventually(async () => (await having(", stopped")) === stopped + 1, "one more that was stopped", 60_000);
      await eventually(async () => (await editor.notifications()).length === 0, "no message");
      await editor.command("Headway: Resume Background Work");
    });
    await timeline(now, workspace);
    await now.check("the tooltip, the menu and the language status tell the rest", async (editor) => {
      await editor.openFile("main.py");
      await eventually(async () => {
        const text = await editor.statusTooltip();
        return [/Waited\*/, /Index: \d+ files/, /Its work holds/, /This machine: /, /Timeline/].every((part) => part.test(text));
      }, "a tooltip with times, index and resources", 60_000);
      await now.shot("status-tooltip");
      await editor.focusEditor();
      await editor.openStatusMenu();
      await now.shot("status-menu");
      const filter = editor.page.locator(".quick-input-widget:visible input").first();
      for (const entry of ["Pause for an Hour", "Cancel a Job", "Search Code", "Show Scheduler", "Show Timeline", "Reindex", "Doctor", "Show Log", "Restart", "Settings"]) {
        await filter.fill(entry); // Only the rows in view are there to be read.
        await eventually(async () => (await editor.quickPickRows()).some((row) => row.includes(entry)), entry);
      }
      await filter.fill("");
      await editor.pick("Pause for an Hour");
      await editor.status(/paused until \d\d:\d\d/);
      await editor.command("Headway: Resume Background Work");
      await editor.status(/: (Idle|\d+ running)/);
      await editor.page.locator('[id="status.languageStatus"]').first().hover();
      const engines = editor.page.locator(".monaco-hover:visible, .workbench-hover-container:visible", { hasText: "ruff" }).first();
      await engines.waitFor({ timeout: 20_000 });
      await now.shot("language-status");
      await editor.focusEditor();
    });
    await now.check("a stopped server is said, and what to do", async (editor) => {
      await editor.command("Headway: Stop Server");
      const welcome = editor.page.locator(`${PANE} .welcome-view-content`).first();
      await eventually(async () => (await welcome.innerText()).includes("server is stopped"), "the empty state");
      await now.shot("scheduler-empty");
      await editor.page.locator(`${PANE} .welcome-view-content .monaco-button`, { hasText: "Start Server" }).click();
      await eventually(async () => !(await welcome.isVisible()) || !(await welcome.innerText()).includes("is stopped"), "another state", 60_000);
    });
  });
}

/** The page of the timeline: a frame within a frame of the editor. */
function timelineFrame(editor: Editor): Promise<Frame> {
  const find = async (): Promise<Frame | undefined> => {
    for (const frame of editor.page.frames()) {
      if ((await frame.$("canvas#rows")) !== null) {
        return frame;
      }
    }
    return undefined;
  };
  return eventually(find, "the timeline's page", 60_000);
}

async function timeline(now: Scenario, workspace: string): Promise<void> {
  const found: { frame?: Frame } = {};
  const page = (): Frame => found.frame ?? assert.fail("there is no timeline");
  const theme = async (editor: Editor, name: string): Promise<void> => {
    await editor.command("Preferences: Color Theme");
    await editor.page.locator(".quick-input-widget:visible input").first().fill(name);
    await editor.pick(name);
    await editor.page.waitForSelector(".quick-input-widget", { state: "hidden" });
  };
  await now.check("the timeline shows the steps of the workers", async (editor) => {
    await editor.command("Headway: Show Timeline");
    found.frame = await timelineFrame(editor);
    const said = (): Promise<string> => page().locator("#rows").getAttribute("aria-label").then((label) => label ?? "");
    await eventually(async () => /^[1-9]\d* rows of workers with [1-9]\d* steps/.test(await said()), "rows and steps", 60_000);
    await eventually(async () => (await page().locator(".uplot").count()) === 4, "four charts");
    await now.shot("timeline-light");
    await theme(editor, "Dark Modern");
    await eventually(() => page().evaluate(() => document.body.classList.contains("vscode-dark")), "the dark theme");
    await now.shot("timeline-dark");
    await theme(editor, "Dark High Contrast");
    await eventually(() => page().evaluate(() => document.body.classList.contains("vscode-high-contrast")), "high contrast");
    await now.shot("timeline-high-contrast");
    await theme(editor, "Light Modern");
  });
  await now.check("it stands still, moves and follows again by keys", async (editor) => {
    const pressed = (): Promise<string | null> => page().locator("#pause").getAttribute("aria-pressed");
    await page().locator("#area").click({ position: { x: 400, y: 8 } });
    await editor.press("Space");
    await eventually(async () => (await pressed()) === "true", "standing still");
    await editor.press("ArrowLeft");
    await editor.press("+");
    await editor.press("End");
    await eventually(async () => (await pressed()) === "false", "following");
  });
  await now.check("eight workers and ten minutes are drawn", async () => {
    const drawn = await page().evaluate(async () => {
      const names = Array.from({ length: 8 }, (_, worker) => `background-${String(worker + 1)}`);
      const at = Date.now();
      const rows = names.map((name, index) => ({ ph: "M", name: "thread_name", tid: index + 1, args: { name } }));
      const steps = names.flatMap((_, worker) =>
        Array.from({ length: 4000 }, (_step, index) => ({
          ph: "X",
          name: `index package_${String(index)}.py`,
          tid: worker + 1,
          cat: ["BATCH", "LOW", "NORMAL"][index % 3] ?? "BATCH",
          ts: index * 150_000 + worker * 17_000,
          dur: 120_000,
          args: { taskId: `${String(worker)}-${String(index)}`, state: index % 97 === 0 ? "FAILED" : "COMPLETED" },
        })),
      );
      const depths = Array.from({ length: 2000 }, (_, index) => ({
        ph: "C",
        name: "tasks waiting",
        tid: 0,
        ts: index * 300_000,
        args: { CRITICAL: index % 2, HIGH: 0, NORMAL: index % 5, LOW: 3, BATCH: (2000 - index) % 700 },
      }));
      const completions = Array.from({ length: 600 }, (_, index) => ({ at: at - 600_000 + index * 1000, tookMs: 15 + ((index * 37) % 60) }));
      const queue = { queued: 0, running: 0 };
      const queueState = {
        at,
        queues: { CRITICAL: queue, HIGH: queue, NORMAL: queue, LOW: queue, BATCH: queue },
        pressure: { cpu: 0.5, memory: 0.4, gpu: 0.2, onBattery: false },
      };
      const told = { traceEvents: [...steps, ...rows, ...depths], originAt: at - 600_000, queueState, workers: [], completions, completionSlaMs: 100 };
      window.dispatchEvent(new MessageEvent("message", { data: { kind: "reset" } }));
      window.dispatchEvent(new MessageEvent("message", { data: { kind: "data", timeline: told } }));
      document.querySelector<HTMLElement>("#all")?.click();
      performance.clearMeasures();
      const frames = 60;
      const begun = performance.now();
      for (let frame = 0; frame < frames; frame += 1) {
        // Each moves it, so that each frame is drawn whole.
        window.dispatchEvent(new KeyboardEvent("keydown", { key: frame % 2 === 0 ? "ArrowLeft" : "ArrowRight" }));
        await new Promise((next) => requestAnimationFrame(next));
      }
      const tookMs = performance.now() - begun;
      const times = performance.getEntriesByType("measure").map((one) => one.duration).sort((a, b) => a - b);
      return { frames: times.length, tookMs, median: times[times.length >> 1] ?? 0, p95: times[Math.floor(times.length * 0.95)] ?? 0 };
    });
    assert.ok(drawn.frames >= 30, JSON.stringify(drawn));
    const perSecond = (60_000 / drawn.tookMs).toFixed(0);
    console.log(`      ${perSecond} frames a second; a frame takes ${drawn.median.toFixed(1)} ms, 95 % within ${drawn.p95.toFixed(1)} ms`);
    await now.shot("timeline-eight-workers");
  });
  await now.check("it is saved for Perfetto", async (editor) => {
    await page().locator("#save").click();
    const box = editor.page.locator(".quick-input-widget:visible input").first();
    await eventually(async () => (await box.inputValue()).includes("headway-"), "a name to save it by");
    await editor.press("Enter");
    await editor.notification("Perfetto");
    const file = readdirSync(workspace).find((name) => /^headway-.*\.json$/.test(name)) ?? assert.fail("there is no file");
    assert.match(readFileSync(join(workspace, file), "utf8"), /"ph":"X"/);
    await editor.command("Notifications: Clear All Notifications");
    await editor.command("View: Close Editor");
  });
}
