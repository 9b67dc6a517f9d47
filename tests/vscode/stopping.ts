// What a person stops, stops at once and keeps what is done; and what is typed while nothing serves bothers nobody.
import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually, type Editor } from "./editor.ts";
import { BUSY, IDLE, prepared, ROOT, scenario, TOP, UNHURRIED, UP } from "./scenario.ts";
import { openExplorer, row } from "./testing.ts";
import { largeWorkspace, write } from "./workspace.ts";

const MODULES = 2000;
const PYTHON = join(ROOT, ".venv", "bin", "python");

export async function stopping(): Promise<void> {
  const workspace = join(TOP, "stopped");
  largeWorkspace(workspace, MODULES);
  write(workspace, "tests/test_order.py", "def test_order():\n    assert True\n");
  const settings = { ...UNHURRIED, "headway.tests.python": PYTHON, "testing.automaticallyOpenPeekView": "never" };
  await scenario("stopping", { workspace, settings, ...prepared() }, async (now) => {
    const known: { done: number; total: number } = { done: 0, total: 0 };
    await now.check("an index that is stopped ends at once, keeps what is done and bothers nobody", async (editor) => {
      editor.setSettings({ "headway.tests.python": PYTHON });
      await editor.openFile("main.py");
      await editor.status(BUSY, 120_000);
      known.total = (await progress(editor, (found) => found.done > 20 && found.indexed > 0)).total;
      await editor.focusEditor();
      await editor.command("Headway: Cancel a Job…");
      await editor.pick("Index");
      const askedAtMs = Date.now();
      await editor.status(IDLE, 60_000);
      console.log(`      idle ${String(Date.now() - askedAtMs)} ms after it was asked for`);
      await editor.command("View: Show Headway");
      await eventually(async () => (await jobs(editor)).some((text) => /^Index stopped, stopped/.test(text)), "the job, stopped", 60_000);
      await now.shot("index-stopped");
      known.done = indexed(await editor.statusTooltip());
      assert.ok(known.done > 0 && known.done < MODULES, `${String(known.done)} of ${String(MODULES)} files`);
      assert.deepEqual(await editor.notifications(), []);
      await editor.focusEditor();
    });
    await now.check("what was done before the stop is found, and that it is not all is said", async (editor) => {
      await editor.command("Headway: Search");
      await editor.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: "Headway: Search" }).waitFor();
      await editor.type("method");
      await eventually(async () => (await editor.quickPickRows()).some((text) => text.startsWith("method_")), "a hit", 60_000);
      await eventually(async () => /index \d+ %/.test(await editor.page.locator(".quick-input-widget:visible .quick-input-title").innerText()), "how much is indexed");
      await now.shot("search-stopped-index");
      await editor.press("Escape");
    });
    await now.check("after a restart it goes on where it was, and reaches the end", async (editor) => {
      await editor.command("Headway: Restart Server");
      const { total } = await progress(editor, (found) => found.total > 0);
      assert.ok(total <= known.total - known.done, `${String(total)} files are left, of ${String(known.total)} with ${String(known.done)} done`);
      await editor.focusEditor();
      await editor.status(IDLE, 300_000);
      await eventually(async () => /Index: 2\.0k files/.test(await editor.statusTooltip()), "all files", 60_000);
      await editor.focusEditor();
    });
    await now.check("while the server is stopped typing brings no message, and the menu says what helps", async (editor) => {
      await editor.openFile("main.py");
      await editor.command("Headway: Stop Server");
      await editor.status(/Stopped/);
      await eventually(() => editor.servers().length === 0, "no server", 30_000);
      await editor.focusEditor();
      await editor.goTo(9);
      await editor.type("Order.cancel_with");
      await editor.press("Control+Space");
      await editor.press("Escape");
      await editor.press("Control+S");
      await editor.type(".total(");
      await editor.press("F12");
      assert.deepEqual(await editor.notifications(), []);
      const rows = await editor.openStatusMenu();
      assert.ok(rows.some((text) => text.includes("Start Server")), rows.join("; "));
      await now.shot("menu-without-server");
      await editor.press("Escape");
    });
    await now.check("tests that are run then say why they are not, and run once it is started", async (editor) => {
      await openExplorer(editor);
      await editor.command("Headway: Restart Server");
      await editor.status(UP, 60_000);
      await row(editor, /^tests\b/, 120_000);
      await editor.command("Headway: Stop Server");
      await editor.status(/Stopped/);
      await editor.command("Test: Run All Tests");
      await row(editor, /^tests.*(Errored|Failed)/, 60_000);
      await now.shot("tests-without-server");
      assert.deepEqual(await editor.notifications(), []);
      await editor.command("Headway: Restart Server");
      await editor.status(UP, 60_000);
      await editor.command("Test: Run All Tests");
      await row(editor, /^tests.*Passed/, 120_000);
    });
  });
}

interface Progress {
  readonly done: number;
  readonly total: number;
  readonly indexed: number;
}

/** How many files the index has at least: the tooltip says 1.2k for 1,150. */
function indexed(tooltip: string): number {
  const [, count = "0", thousands = ""] = /Index: ([\d.]+)(k?) files/.exec(tooltip) ?? [];
  return thousands === "" ? Number(count) : Number(count) * 1000 - 50;
}

/** How far the index is, as the tooltip says. */
function progress(editor: Editor, enough: (found: Progress) => boolean): Promise<Progress> {
  const ask = async (): Promise<Progress | undefined> => {
    const text = await editor.statusTooltip();
    const [, done, total] = /\((\d+) of (\d+)\)/.exec(text) ?? [];
    const found = { done: Number(done ?? 0), total: Number(total ?? 0), indexed: indexed(text) };
    return enough(found) ? found : undefined;
  };
  return eventually(ask, "how far the index is", 120_000);
}

/** What a screen reader says of each row of the scheduler view. */
function jobs(editor: Editor): Promise<string[]> {
  return editor.page
    .locator('[id="workbench.view.extension.headway"] .monaco-list-row')
    .evaluateAll((elements) => elements.map((element) => (element.getAttribute("aria-label") ?? "").replace(/\u00a0/g, " ")));
}
