// The scheduler view in a real editor: what it lists, what can be done about it with keys and mouse, what it says when empty.
import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually, type Editor } from "./editor.ts";
import { prepared, scenario, TOP, UNHURRIED } from "./scenario.ts";
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
        return text.includes("Submitted") ? text : undefined;
      }, "a tooltip with the times", 60_000);
      assert.match(tooltip, /Priority\s+Low/);
      await now.shot("scheduler-tooltip");
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
