// Search in the real editor: the list that fills while one types, previews, the kept results, similar code.
import assert from "node:assert/strict";
import { eventually, type Editor } from "./editor.ts";
import type { Scenario } from "./scenario.ts";

/** In a workspace where `shop.py` defines `price`, and its tests stand in `tests/test_price.py`. */
export async function searchChecks(now: Scenario): Promise<void> {
  await now.check("the search is there for the first key, also while the server does not answer", async (editor) => {
    await editor.openFile("shop.py");
    const [server] = editor.servers();
    assert.ok(server !== undefined, "there is no server");
    process.kill(server, "SIGSTOP");
    try {
      await editor.press("F1");
      const box = editor.page.locator(".quick-input-widget:visible input").first();
      await box.fill(">Headway: Search");
      const entry = editor.page.locator(".quick-input-widget .monaco-list-row", { hasText: "Headway: Search" }).first();
      await entry.waitFor();
      const askedAtMs = Date.now();
      await entry.click();
      await editor.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: "Headway: Search" }).waitFor();
      console.log(`      the box is there ${String(Date.now() - askedAtMs)} ms after it was asked for`);
      await editor.type("price");
      assert.equal(await box.inputValue(), "price");
    } finally {
      process.kill(server, "SIGCONT");
    }
    await eventually(async () => (await editor.quickPickRows()).some((text) => text.startsWith("price")), "the hit, once it does", 60_000);
    await editor.press("Escape");
    assert.equal(await editor.page.locator(".tabs-container .tab.dirty").count(), 0, "nothing was typed into a file");
  });
  await now.check("a search shows hits while one types, and the file of the one in front", async (editor) => {
    await editor.openFile("test_price.py");
    await typed(editor, "price kind:function");
    const found = await eventually(async () => (await editor.quickPickRows()).find((text) => text.includes("shop.py:1")), "the hit", 60_000);
    assert.ok(found.startsWith("price"), found);
    await eventually(async () => (await activeTab(editor)) === "shop.py", "its file in front");
    await now.shot("search");
    await editor.press("Escape");
    await eventually(async () => (await activeTab(editor)) === "test_price.py", "the file from before");
  });
  await now.check("filters narrow, and one that is unknown is named", async (editor) => {
    await typed(editor, "price path:tests/**");
    await eventually(async () => {
      const rows = await editor.quickPickRows();
      return rows.length > 0 && rows.every((text) => text.includes("tests/") || text.includes("test_price.py"));
    }, "hits of the tests alone", 60_000);
    await editor.type(" lang:klingon");
    await eventually(async () => (await editor.quickPickRows()).some((text) => text.includes("klingon")), "that there is no such language");
    await editor.press("Escape");
  });
  await now.check("results are kept in a view, by file", async (editor) => {
    await typed(editor, "price");
    await eventually(async () => (await editor.quickPickRows()).length > 1, "hits", 60_000);
    await editor.page.locator(".quick-input-titlebar .action-label.codicon-list-tree, .quick-input-widget .codicon-list-tree").first().click();
    await eventually(async () => (await results(editor)).some((text) => text.startsWith("shop.py")), "the file in the view");
    await now.shot("search-results");
    assert.ok(!(await editor.notifications()).some((text) => text.includes("open editor")), "a preview that another took the place of is nobody's business");
  });
  await now.check("similar code is found, and never the code itself", async (editor) => {
    await editor.openFile("test_price.py");
    await editor.goTo(7);
    await editor.command("Headway: Find Similar Code");
    await eventually(async () => (await editor.page.locator(".pane-body .message, .pane .message").allInnerTexts()).join(" ").includes("similar to line 7"), "what was looked for");
    await eventually(async () => {
      const names = await results(editor); // those of the search before stand there until the first new one comes
      return names.some((text) => text.startsWith("test_of_two")) && !names.some((text) => text.startsWith("test_of_one"));
    }, "what is like it, without itself");
    await now.shot("search-similar");
  });
}

/** The doctor's document and the walkthrough: what is for people who look for help. */
export async function helpChecks(now: Scenario): Promise<void> {
  await now.check("the doctor writes what it found and what is to be mended", async (editor) => {
    await editor.command("Headway: Doctor");
    await eventually(async () => (await activeTabText(editor)).includes("Headway Doctor"), "the document", 120_000);
    const shown = await eventually(async () => {
      const texts = await Promise.all(editor.page.frames().map((frame) => frame.locator("body").innerText({ timeout: 1_000 }).catch(() => "")));
      return texts.find((text) => text.includes("Looked at"));
    }, "its table", 60_000);
    assert.match(shown, /psutil/);
    console.log(`      ${/\d+ notifications of the server.*/.exec(shown)?.[0] ?? assert.fail(shown)}`);
    await now.shot("doctor");
  });
}

async function activeTabText(editor: Editor): Promise<string> {
  return (await editor.page.locator(".tabs-container .tab.active").first().innerText()).trim();
}

/** Opens the search and types into it: the box must be there before the first key. */
async function typed(editor: Editor, text: string): Promise<void> {
  await editor.command("Headway: Search");
  await editor.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: "Headway: Search" }).waitFor();
  await editor.type(text);
}

function activeTab(editor: Editor): Promise<string | null> {
  return editor.page.locator(".tabs-container .tab.active").first().getAttribute("data-resource-name");
}

function results(editor: Editor): Promise<string[]> {
  return editor.page
    .locator(".part.sidebar .pane-body .monaco-list-row")
    .evaluateAll((elements) => elements.map((element) => element.textContent.replace(/\u00a0/g, " ").trim()));
}
