// Two folders in one window: their tests, runs of a part of them, and what a person is told there.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, type Editor } from "./editor.ts";
import { prepared, ROOT, scenario, TOP, UNHURRIED, UP } from "./scenario.ts";
import { openExplorer, row } from "./testing.ts";
import { write } from "./workspace.ts";

/** Notes in a file which tests have run. */
const noted = (name: string, body: string): string => `def test_${name}():
    with open("ran.txt", "a") as file:
        file.write("${name} ")
    ${body}
`;

export async function twoFolders(): Promise<void> {
  const top = join(TOP, "two");
  write(top, "bakery/bread.py", "def loaf(weight):\n    return weight\n\n\nloaf(1)\n");
  write(top, "bakery/tests/test_bread.py", noted("bread", "pass") + noted("loaf", "assert 1 == 2"));
  write(top, "bakery/tests/test_cake.py", noted("cake", "pass"));
  write(top, "mill/deep/test_flour.py", noted("flour", "pass"));
  write(top, "mill/test_grain.py", noted("grain", "pass"));
  write(top, "two.code-workspace", JSON.stringify({ folders: [{ path: "bakery" }, { path: "mill" }] }));
  const ran = (folder: string): string[] => {
    const file = join(top, folder, "ran.txt");
    const names = readdirSync(join(top, folder)).includes("ran.txt") ? readFileSync(file, "utf8").trim().split(" ") : [];
    write(top, join(folder, "ran.txt"), "");
    return names.filter((name) => name !== "");
  };
  const settings = { ...UNHURRIED, "headway.tests.python": join(ROOT, ".venv", "bin", "python"), "testing.automaticallyOpenPeekView": "never" };
  await scenario("two folders", { workspace: join(top, "two.code-workspace"), settings, ...prepared() }, async (now) => {
    await now.check("the tests of both folders are found", async (editor) => {
      editor.setSettings({ "headway.tests.python": join(ROOT, ".venv", "bin", "python") });
      await editor.status(UP, 120_000);
      await editor.openFile("test_cake.py");
      await openExplorer(editor);
      await row(editor, /^bakery/, 120_000);
      await row(editor, /^mill/, 60_000);
    });
    await now.check("one file is run alone", async (editor) => {
      await editor.focusEditor();
      await editor.command("Test: Run Tests in Current File");
      await eventually(() => ran("bakery").join() === "cake", "the run of one file", 120_000);
      assert.deepEqual(ran("mill"), []);
    });
    await now.check("one folder is run alone", async (editor) => {
      await openExplorer(editor);
      const mill = editor.page.locator(".test-explorer .monaco-list-row", { hasText: "mill" }).first();
      await mill.hover();
      await mill.locator('[aria-label^="Run Test"]').first().click();
      await row(editor, /^mill.*Passed/, 120_000);
      assert.deepEqual(ran("mill").sort(), ["flour", "grain"]);
      assert.deepEqual(ran("bakery"), []);
    });
    await now.check("all are run, and those that failed alone", async (editor) => {
      await editor.command("Test: Run All Tests");
      await row(editor, /^bakery.*Failed/, 120_000);
      assert.deepEqual([...ran("bakery"), ...ran("mill")].sort(), ["bread", "cake", "flour", "grain", "loaf"]);
      await now.shot("tests-two-folders");
      await editor.command("Test: Rerun Failed Tests");
      await eventually(() => ran("bakery").join() === "loaf", "the one that failed", 120_000);
    });
    await now.check("all are run with those first that failed, by the profile for that", async (editor) => {
      await openExplorer(editor);
      await editor.page.locator(".test-explorer .monaco-list-row", { hasText: "bakery" }).first().click({ button: "right" });
      await editor.page.locator(".monaco-menu .action-label", { hasText: "Execute Using Profile" }).first().click();
      await eventually(async () => (await editor.quickPickRows()).some((text) => text.startsWith("Run, Failed First")), "the profile");
      await now.shot("tests-profiles");
      await editor.pick("Run, Failed First");
      const written = (): string => readFileSync(join(top, "bakery", "ran.txt"), "utf8").trim();
      await eventually(() => written() === "loaf bread cake", "the one that failed, then the others", 120_000);
      ran("bakery");
    });
    await now.check("that debugging needs an extension is said, with the way to it", async (editor) => {
      await editor.command("Test: Debug All Tests");
      await editor.notification("Debugging tests needs the extension Python Debugger");
      await now.shot("tests-no-debugger");
      assert.deepEqual(await editor.notificationButtons("Debugging tests needs"), ["Show the Extension"]);
      await editor.command("Notifications: Clear All Notifications");
    });
    await now.check("an engine that is missing is said by the status item, with the reason", async (editor) => {
      editor.setSettings({ "headway.ty.path": "/opt/nowhere/ty" });
      await editor.status(/nowhere/, 60_000);
      await editor.statusTooltip();
      await now.shot("degraded");
      await editor.focusEditor();
    });
    await now.check("the walkthrough shows its steps with their pictures", async (editor) => {
      await editor.command("Welcome: Open Walkthrough...");
      await editor.pick("Headway");
      await editor.page.waitForSelector(".getting-started-step", { timeout: 60_000 });
      await eventually(async () => (await editor.page.locator(".getting-started-media img").count()) > 0, "a picture");
      await now.shot("walkthrough");
    });
    await now.check("what the server is alarmed by is told once for its kind, with what helps", async (editor) => {
      lowerLimit(editor.storage);
      editor.setSettings({ "headway.ty.path": "" });
      await editor.command("Headway: Restart Server");
      await editor.notification("task has waited for", 60_000);
      await now.shot("alert");
      assert.equal((await editor.notifications()).length, 1, "one for all priorities");
      assert.deepEqual(await editor.notificationButtons("task has waited for"), ["Show Timeline", "Show Scheduler", "Don't Show Again"]);
      assert.ok(alarms(editor) > 1, "the server was alarmed by more than one priority");
      await editor.page.locator(".notifications-toasts .notification-list-item").getByText("Show Scheduler").click();
      await editor.page.locator('[id="workbench.view.extension.headway"]').waitFor();
      const before = alarms(editor);
      await editor.command("Headway: Restart Server");
      await eventually(() => alarms(editor) > before, "another alarm", 60_000);
      assert.deepEqual(await editor.notifications(), []);
    });
    await now.check("what a person does not want to be told again is told in no later window", async (editor) => {
      await editor.reload();
      await editor.notification("task has waited for", 90_000);
      await editor.page.locator(".notifications-toasts .notification-list-item").getByText("Don't Show Again").click();
      await eventually(async () => (await editor.notifications()).length === 0, "no message");
      const before = alarms(editor);
      await editor.reload();
      await eventually(() => alarms(editor) > before, "another alarm", 90_000);
      await editor.openStatusMenu(); // It comes by the way that a message would have come by before.
      await editor.press("Escape");
      assert.deepEqual(await editor.notifications(), []);
    });
    await now.check("what the start took is told by the editor", async (editor) => {
      await editor.command("Developer: Show Running Extensions");
      const list = editor.page.locator(".runtime-extensions-editor .monaco-list").first();
      const ours = list.locator(".monaco-list-row", { hasText: "Headway" }).first();
      // The slowest stands first, and only rows in view are there to be read.
      await eventually(async () => {
        await list.hover();
        await editor.page.mouse.wheel(0, 200);
        return ours.isVisible();
      }, "the row of the extension", 60_000);
      const text = await ours.locator(".activation-time").innerText();
      const serving = editor.loggedAtMs("the server runs as process") - editor.loggedAtMs("starting ");
      console.log(`      ${text}; the server answered ${String(serving)} ms after it was started`);
      assert.match(text, /\d+ms/);
    });
  });
}

/** How often the server has been alarmed so far. */
function alarms(editor: Editor): number {
  return editor.log().split("alert (critical)").length - 1;
}

/** Has the server be alarmed at once, by work that has not waited at all. */
function lowerLimit(storage: string): void {
  const files = readdirSync(storage, { recursive: true, encoding: "utf8" });
  const rules = join(storage, files.find((file) => file.endsWith(join("headway", "scheduler", "alerts.py"))) ?? "missing");
  const text = readFileSync(rules, "utf8");
  const lower = text.replace("threshold=60.0,\n        worse=300.0,\n        clear=48.0", "threshold=-1.0,\n        worse=-1.0,\n        clear=-1.0");
  assert.notEqual(lower, text);
  writeFileSync(rules, lower);
}
