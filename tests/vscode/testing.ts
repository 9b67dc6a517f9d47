// The Test Explorer in the real editor, with the real pytest.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually, type Editor } from "./editor.ts";
import { prepared, ROOT, scenario, TOP, UNHURRIED, UP, VSIX, type Scenario } from "./scenario.ts";
import { helpChecks, searchChecks } from "./search.ts";
import { standIn } from "./sharing.ts";
import { write } from "./workspace.ts";

const SHOP = `def price(amount: int) -> dict[str, int]:
    if amount > 9:
        return {"amount": amount, "total": 0}
    return {"amount": amount, "total": 2 * amount}
`;

const TESTS = `import shop


class TestPrice:
    def test_of_one(self):
        print("said by the test")
        assert shop.price(1)["total"] == 2

    def test_of_two(self):
        assert shop.price(2) == {"amount": 2, "total": 5}


def test_of_none():
    assert shop.price(0)["total"] == 0
`;

/** A test that leaves its process's number and waits to be stopped. */
const SLOW = `import os, time


def test_slow():
    with open("slow.pid", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)
`;

const PYTHON = join(ROOT, ".venv", "bin", "python");

/** What the Python Debugger extension does when something is to be attached to, with the real debugpy inside. */
function pythonDebugger(): string {
  const folder = execFileSync(PYTHON, ["-I", "-c", "import debugpy; print(debugpy.__path__[0])"]).toString().trim();
  const program = `const { debug, DebugAdapterServer } = require("vscode");
    const createDebugAdapterDescriptor = ({ configuration: { connect } }) => new DebugAdapterServer(connect.port, connect.host);
    exports.activate = ({ subscriptions }) => subscriptions.push(debug.registerDebugAdapterDescriptorFactory("debugpy", { createDebugAdapterDescriptor }));`;
  const contributes = { debuggers: [{ type: "debugpy", label: "Python Debugger", languages: ["python"] }], breakpoints: [{ language: "python" }] };
  const about = { main: "./main.js", engines: { vscode: "^1.96.0" }, activationEvents: ["onDebug"], contributes };
  return standIn("ms-python", "debugpy", { about, program, folder, place: "bundled/libs/debugpy" });
}

/** Tests found, run, changed, stopped and covered, in one window. */
export async function testExplorer(): Promise<void> {
  const workspace = join(TOP, "tested");
  write(workspace, "shop.py", SHOP);
  write(workspace, "tests/test_price.py", TESTS);
  const settings = { ...UNHURRIED, "headway.tests.python": PYTHON, "testing.automaticallyOpenPeekView": "never", "files.exclude": { "**/__pycache__": true } };
  await scenario("tests and search", { workspace, vsix: [VSIX, pythonDebugger()], settings, ...prepared() }, async (now) => {
    await now.check("tests are found when a file of them is opened", async (editor) => {
      editor.setSettings({ "headway.tests.python": PYTHON }); // The user's count at the start only; a debugger has them read again.
      await editor.openFile("test_price.py");
      await editor.status(UP, 120_000);
      await openExplorer(editor);
      await row(editor, /^tests\b/, 120_000);
      await expanded(editor);
      for (const name of ["test_price.py", "TestPrice", "test_of_one", "test_of_two", "test_of_none"]) {
        await row(editor, new RegExp(`^${name}\\b`));
      }
      await now.shot("tests-found");
    });
    await now.check("a run shows what passed and what failed, with both values", async (editor) => {
      await editor.command("Test: Run All Tests");
      await row(editor, /test_of_two.*Failed/, 60_000);
      await row(editor, /test_of_one.*Passed/);
      await row(editor, /test_of_none.*Passed/);
      await now.shot("tests-run");
      await editor.page.getByText("'total': 4} !=").first().click();
      const shown = await eventually(async () => {
        const text = (await editor.page.locator(".test-output-peek, .zone-widget").allInnerTexts()).join(" ").replace(/\u00a0/g, " ");
        return text.includes("Expected") || text.includes("'total': 5") ? text : undefined;
      }, "the failure with both values");
      assert.ok(shown.includes("4") && shown.includes("5"), shown);
      await now.shot("tests-diff");
      await editor.press("Escape");
    });
    await now.check("a test stops at a breakpoint, goes on and passes", async (editor) => {
      await toggleBreakpoint(editor);
      await editor.command("Test: Debug Test at Cursor");
      await editor.page.waitForSelector(".debug-top-stack-frame-line, .debug-focused-stack-frame-line", { timeout: 120_000 });
      await eventually(async () => (await editor.page.locator(".debug-viewlet, .debug-pane").allInnerTexts()).join().includes("test_of_one"), "the frame", 60_000);
      await now.shot("tests-debug");
      await editor.command("Debug: Continue");
      await editor.page.waitForSelector(".debug-toolbar", { state: "hidden", timeout: 60_000 });
      await toggleBreakpoint(editor);
      await openExplorer(editor);
      await row(editor, /test_of_one.*Passed/, 60_000);
    });
    await now.check("a run whose debugging is ended ends, too", async (editor) => {
      await toggleBreakpoint(editor);
      await editor.command("Test: Debug Test at Cursor");
      await editor.page.waitForSelector(".debug-top-stack-frame-line, .debug-focused-stack-frame-line", { timeout: 120_000 });
      await editor.command("Debug: Disconnect");
      await editor.page.waitForSelector(".debug-toolbar", { state: "hidden", timeout: 60_000 });
      await toggleBreakpoint(editor);
      await eventually(() => !running("pytest_child.py", workspace), "the end of the run's process", 60_000);
      await openExplorer(editor);
    });
    await now.check("a test that comes or goes on disk comes or goes in the tree", async (editor) => {
      write(workspace, "tests/test_price.py", `${TESTS}\n\ndef test_that_came():\n    pass\n`);
      await row(editor, /^test_that_came\b/, 60_000);
      write(workspace, "tests/test_price.py", TESTS);
      await eventually(async () => !(await rows(editor)).some((text) => text.startsWith("test_that_came")), "the test gone", 60_000);
      write(workspace, "tests/test_broken.py", "import no_such_module\n");
      await row(editor, /^test_broken.py\b/, 60_000);
      await now.shot("tests-broken-file");
      rmSync(join(workspace, "tests", "test_broken.py"));
      await eventually(async () => !(await rows(editor)).some((text) => text.startsWith("test_broken.py")), "the file gone", 60_000);
    });
    await now.check("coverage of a run is shown by file", async (editor) => {
      await editor.command("Test: Run All Tests with Coverage");
      const file = editor.page.locator(".test-coverage-list-item, .test-coverage-list .monaco-list-row", { hasText: "shop.py" }).first();
      await file.waitFor({ timeout: 60_000 });
      await now.shot("tests-coverage");
      assert.match((await file.getAttribute("aria-label")) ?? (await file.innerText()), /75/);
    });
    await now.check("a run is stopped with its process", async (editor) => {
      write(workspace, "tests/test_slow.py", SLOW);
      const mark = join(workspace, "slow.pid");
      await openExplorer(editor);
      await row(editor, /^test_slow.py\b/, 60_000);
      await editor.command("Test: Run All Tests");
      const pid = await eventually(() => (existsSync(mark) ? Number(readFileSync(mark, "utf8")) : 0), "the slow test", 60_000);
      await editor.command("Test: Cancel Test Run");
      await eventually(() => !existsSync(`/proc/${String(pid)}`), "the end of its process", 60_000);
      await now.shot("tests-stopped");
    });
    await searchChecks(now);
    await helpChecks(now);
  });
}

/** What the Test Explorer says in a folder that nobody has vouched for. */
export async function testsInRestrictedMode(now: Scenario): Promise<void> {
  await now.check("the Test Explorer says why it is empty in Restricted Mode", async (editor) => {
    await openExplorer(editor);
    await row(editor, /Restricted Mode/, 60_000);
    await now.shot("tests-restricted");
  });
}

/** Sets the breakpoint in a test, or takes it away; the cursor stays in the test. */
async function toggleBreakpoint(editor: Editor): Promise<void> {
  await editor.openFile("test_price.py");
  await editor.goTo(7);
  await editor.command("Debug: Toggle Breakpoint");
}

/** Whether a process with this in its command line works in a folder. */
function running(part: string, folder: string): boolean {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(part) && readlinkSync(`/proc/${pid}/cwd`) === folder;
      } catch {
        return false; // It has ended since.
      }
    });
}

export async function openExplorer(editor: Editor): Promise<void> {
  await editor.command("Testing: Focus on Test Explorer View");
}

/** Opens every node of the tree. */
async function expanded(editor: Editor): Promise<void> {
  const closed = editor.page.locator('.test-explorer .monaco-list-row[aria-expanded="false"] .monaco-tl-twistie').first();
  await eventually(async () => {
    if (await closed.isVisible()) {
      await closed.click({ timeout: 2_000 });
    }
    return (await rows(editor)).some((text) => text.startsWith("test_of_two"));
  }, "the whole tree");
}

/** Spoken texts of the tree's rows. */
function rows(editor: Editor): Promise<string[]> {
  return editor.page
    .locator(".test-explorer .monaco-list-row")
    .evaluateAll((elements) => elements.map((element) => `${element.textContent.trim()} ${element.getAttribute("aria-label") ?? ""}`));
}

export function row(editor: Editor, spoken: RegExp, timeoutMs?: number): Promise<string> {
  return eventually(async () => (await rows(editor)).find((text) => spoken.test(text)), `a row with ${String(spoken)}`, timeoutMs).catch(
    async (error: unknown) => {
      throw new Error(`there are ${JSON.stringify(await rows(editor))}`, { cause: error });
    },
  );
}
