// The Test Explorer: tests are found and run by the server, in the workspace's own Python. Only in trusted workspaces, as
// finding them runs the workspace's code; elsewhere one item says so.
import * as vscode from "vscode";
import { NotRunningError } from "./client";
import type { Context } from "./context";
import * as protocol from "./protocol";
import { concernsAll, keyOf, mayHoldTests, pathOf } from "./testids";
import { loadDetails, runTests, type RunOptions } from "./testruns";
import { TestTree } from "./testtree";

/** Files of tests, until pytest has said what it goes by. */
const USUAL = ["test_*.py", "*_test.py"];
/** Several files that change together are looked at together. */
const REST_MS = 500;
const NOTE = "headway.note";

export function activate(context: Context): Owned {
  return new Explorer(context);
}

interface Owned {
  dispose(): void;
}

class Explorer implements Owned {
  private readonly controller = vscode.tests.createTestController("headway", "Headway");
  private readonly tree = new TestTree(this.controller);
  private readonly owned: Owned[] = [this.controller];
  private patterns: readonly string[] = USUAL;
  private coverage: vscode.TestRunProfile | undefined;
  /** Somebody has looked at the tests; from then on they are kept up to date. */
  private wanted = false;
  /** What has changed since it was last looked at: files, or everything. */
  private changed: Set<string> | "all" = new Set();
  private looking = false;
  private rest: NodeJS.Timeout | undefined;

  constructor(private readonly context: Context) {
    const { controller } = this;
    controller.resolveHandler = (item) => (item === undefined ? this.want() : undefined);
    controller.refreshHandler = () => this.lookAgain("all");
    this.profile(vscode.l10n.t("Run"), vscode.TestRunProfileKind.Run, "run").isDefault = true;
    this.profile(vscode.l10n.t("Run, Failed First"), vscode.TestRunProfileKind.Run, "failed first");
    this.profile(vscode.l10n.t("Debug"), vscode.TestRunProfileKind.Debug, "debug").isDefault = true;
    const watcher = vscode.workspace.createFileSystemWatcher("**/{*.py,pytest.ini,pyproject.toml,tox.ini,setup.cfg}");
    const note = (uri: vscode.Uri): void => this.fileChanged(uri);
    this.owned.push(
      watcher,
      watcher.onDidChange(note),
      watcher.onDidCreate(note),
      watcher.onDidDelete(note),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.opened(editor)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.trusted()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.wanted && void this.lookAgain("all")),
      context.server.onPhase((phase) => phase.kind === "running" && this.wanted && void this.lookAgain("all")),
    );
    this.opened(vscode.window.activeTextEditor);
  }

  dispose(): void {
    clearTimeout(this.rest);
    vscode.Disposable.from(...this.owned).dispose();
  }

  private profile(label: string, kind: vscode.TestRunProfileKind, how: RunOptions["how"]): vscode.TestRunProfile {
    const made = this.controller.createRunProfile(label, kind, (request, token) =>
      runTests(this.context, this.controller, this.tree, request, { how }, token),
    );
    this.owned.push(made);
    return made;
  }

  /** A file of tests in front of a person is reason enough to look which there are. */
  private opened(editor: vscode.TextEditor | undefined): void {
    const name = editor?.document.uri.path.split("/").at(-1) ?? "";
    if (!this.wanted && editor?.document.uri.scheme === "file" && mayHoldTests(name, this.patterns)) {
      void this.want();
    }
  }

  private want(): Promise<void> {
    if (this.wanted) {
      return Promise.resolve();
    }
    this.wanted = true;
    return this.lookAgain("all");
  }

  private async trusted(): Promise<void> {
    if (this.wanted) {
      await this.context.server.notify(protocol.TRUST_GRANTED, {}); // It must be there before the question is.
      await this.lookAgain("all");
    }
  }

  private fileChanged(uri: vscode.Uri): void {
    const name = uri.path.split("/").at(-1) ?? "";
    if (!this.wanted || (!concernsAll(name) && !mayHoldTests(name, this.patterns) && !this.tree.has(uri))) {
      return;
    }
    if (concernsAll(name)) {
      this.changed = "all";
    } else if (this.changed !== "all") {
      this.changed.add(uri.toString());
    }
    clearTimeout(this.rest);
    this.rest = setTimeout(() => void this.look(), REST_MS);
  }

  private lookAgain(what: "all"): Promise<void> {
    this.changed = what;
    return this.look();
  }

  /** Looks at what has changed until nothing has; one look at a time. */
  private async look(): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      return this.say("untrusted", vscode.l10n.t("Tests are not looked for in Restricted Mode"), restrictedText());
    }
    if (this.looking) {
      return;
    }
    this.looking = true;
    try {
      while (this.changed === "all" || this.changed.size > 0) {
        const scope = this.changed === "all" ? undefined : this.changed;
        this.changed = new Set();
        await this.find(scope);
      }
    } catch (error) {
      if (!(error instanceof NotRunningError)) {
        this.context.log.warn(`tests were not found: ${String(error)}`);
      }
      this.changed = "all"; // It is looked again when the server is back, and when somebody asks.
    } finally {
      this.looking = false;
      this.controller.items.forEach((item) => (item.busy = false));
    }
  }

  /** Finds the tests of some files, or all of them, and shows each as soon as it is found. */
  private async find(files: ReadonlySet<string> | undefined): Promise<void> {
    const gone = files === undefined ? [] : await missing(files);
    const targets = [...(files ?? [])].filter((file) => !gone.includes(file)).map((file) => vscode.Uri.parse(file).fsPath);
    const kept = new Set<string>();
    if (files === undefined || targets.length > 0) {
      this.controller.items.forEach((item) => (item.busy = true));
      const params = { type: "tests", arguments: { collect: true, targets }, title: vscode.l10n.t("Find tests") };
      const view = await this.context.server.follow(protocol.runTests, params, (parts) => parts.tests.forEach((event) => this.take(event, kept)));
      if (view.state !== "COMPLETED") {
        const why = view.error?.message ?? vscode.l10n.t("{0} failed", view.title);
        return this.say("failed", vscode.l10n.t("The tests could not be found"), new vscode.MarkdownString().appendText(why));
      }
      this.learn(view.result);
    }
    this.controller.items.delete(NOTE);
    this.tree.prune(kept, files);
  }

  private take(event: protocol.TestEvent, kept: Set<string>): void {
    const key = keyOf(pathOf(event.folder, event.id));
    if (event.event === "found" || event.event === "class") {
      this.tree.add(event);
      kept.add(key);
    } else if (event.event === "error") {
      this.tree.fail(event);
      kept.add(key);
    } else if (event.event === "deselected") {
      kept.delete(key);
    }
  }

  /** What pytest said about itself. */
  private learn(result: unknown): void {
    const found = typeof result === "object" && result !== null ? (result as Partial<protocol.TestsResult>) : {};
    this.patterns = found.patterns !== undefined && found.patterns.length > 0 ? found.patterns : this.patterns;
    if (found.canCover === true && this.coverage === undefined) {
      this.coverage = this.profile(vscode.l10n.t("Run with Coverage"), vscode.TestRunProfileKind.Coverage, "coverage");
      this.coverage.loadDetailedCoverage = (_run, coverage) => Promise.resolve(loadDetails(coverage));
    }
  }

  /** One item that says why there are no tests, and what to do. */
  private say(kind: string, label: string, text: vscode.MarkdownString): void {
    this.context.log.info(`tests (${kind}): ${label}`);
    const item = this.controller.createTestItem(NOTE, label);
    item.error = text;
    this.controller.items.add(item);
  }
}

function restrictedText(): vscode.MarkdownString {
  const text = new vscode.MarkdownString(
    vscode.l10n.t(
      "Finding and running tests runs the workspace's code. [Trust the workspace](command:workbench.trust.manage) to see them here.",
    ),
  );
  text.isTrusted = { enabledCommands: ["workbench.trust.manage"] };
  return text;
}

/** Those of some files that are no longer there. */
async function missing(files: ReadonlySet<string>): Promise<string[]> {
  const looked = [...files].map(async (file) => {
    try {
      await vscode.workspace.fs.stat(vscode.Uri.parse(file));
      return [];
    } catch (error) {
      if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") {
        return [file];
      }
      throw error;
    }
  });
  return (await Promise.all(looked)).flat();
}
