// A run of tests: what is asked of the server, and what the editor shows while it goes on.
import * as vscode from "vscode";
import { NotRunningError } from "./client";
import type { Context } from "./context";
import { attach, debuggerFolder, whenLeft } from "./debugging";
import { stateText } from "./labels";
import * as protocol from "./protocol";
import { failureText, outcomeLine, targetOf, terminal } from "./testids";
import { leaves, type TestTree } from "./testtree";

export interface RunOptions {
  readonly how: "run" | "failed first" | "coverage" | "debug";
}

/** The lines of each covered file, for as long as the editor holds its summary. */
const DETAILS = new WeakMap<vscode.FileCoverage, vscode.StatementCoverage[]>();

export function loadDetails(coverage: vscode.FileCoverage): vscode.StatementCoverage[] {
  return DETAILS.get(coverage) ?? [];
}

/** Runs what a person asked for. Whatever happens, every test has an end and the run is ended. */
export async function runTests(
  context: Context,
  controller: vscode.TestController,
  tree: TestTree,
  request: vscode.TestRunRequest,
  options: RunOptions,
  token: vscode.CancellationToken,
): Promise<void> {
  const debug = options.how === "debug" ? await debuggerFolder() : undefined;
  if (options.how === "debug" && debug === undefined) {
    return;
  }
  const run = controller.createTestRun(request);
  const chosen = request.include ?? [...controller.items].map(([, item]) => item);
  const excluded = new Set(leaves(request.exclude ?? []).map((item) => item.id));
  const open = new Map(leaves(chosen).map((item) => [item.id, item]));
  excluded.forEach((id) => open.delete(id));
  open.forEach((item) => run.enqueued(item));
  const follower = new Follower(run, tree, open);
  const source = new vscode.CancellationTokenSource();
  const title = titleOf(request);
  const owned = [token.onCancellationRequested(() => source.cancel()), source, ...(debug === undefined ? [] : [whenLeft(title, () => source.cancel())])];
  // Tests that no debugger has come to would wait for ever.
  const join = (folder: string, port: number): void => {
    attach(folder, port, run, title).catch((error: unknown) => {
      follower.giveUp(reasonOf(context, error));
      source.cancel();
    });
  };
  try {
    const params = { type: "tests", arguments: { ...argumentsOf(tree, request, options), ...(debug === undefined ? {} : { debugger: debug }) }, title };
    const view = await context.server.follow(
      protocol.runTests,
      params,
      (parts) => parts.tests.forEach((event) => (event.port === undefined ? follower.take(event) : join(event.folder, event.port))),
      source.token,
    );
    if (view.state === "FAILED") {
      follower.giveUp(view.error?.message ?? vscode.l10n.t("{0} failed", view.title));
    }
  } catch (error) {
    if (!source.token.isCancellationRequested) {
      follower.giveUp(reasonOf(context, error));
    }
  } finally {
    vscode.Disposable.from(...owned).dispose();
    run.end();
  }
}

function reasonOf(context: Context, error: unknown): string {
  if (error instanceof NotRunningError) {
    const input = { phase: context.server.phase, queue: undefined, alerts: [], trusted: vscode.workspace.isTrusted };
    return vscode.l10n.t("Headway's server is not running. {0}", stateText(input, vscode.l10n.t));
  }
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}

function titleOf(request: vscode.TestRunRequest): string {
  const [first, ...more] = request.include ?? [];
  return first === undefined || more.length > 0 ? vscode.l10n.t("Run tests") : vscode.l10n.t("Run {0}", first.label);
}

/** What pytest remembers of the last runs is asked of itself. */
const CACHED: Readonly<Record<RunOptions["how"], readonly string[]>> = {
  run: [],
  "failed first": ["--failed-first"],
  coverage: [],
  debug: [],
};

function argumentsOf(tree: TestTree, request: vscode.TestRunRequest, options: RunOptions): Readonly<Record<string, unknown>> {
  const target = (item: vscode.TestItem): string[] => {
    const place = tree.placeOf(item);
    return place === undefined ? [] : [targetOf(place, vscode.Uri.parse(place.folder).fsPath)];
  };
  const left = (item: vscode.TestItem): string[] => {
    const place = tree.placeOf(item);
    return place === undefined ? [] : [`--deselect=${targetOf(place, "").slice(1)}`];
  };
  return {
    targets: (request.include ?? []).flatMap(target),
    extraArgs: [...CACHED[options.how], ...(request.exclude ?? []).flatMap(left)],
    coverage: options.how === "coverage",
  };
}

/** Puts what a run tells into the editor's run. */
class Follower {
  private readonly said = new Set<string>();

  constructor(
    private readonly run: vscode.TestRun,
    private readonly tree: TestTree,
    /** Tests that were asked for and have not ended. */
    private readonly open: Map<string, vscode.TestItem>,
  ) {}

  take(event: protocol.TestEvent): void {
    if (event.event === "covered") {
      return this.cover(event);
    }
    if (event.event === "found" || event.event === "class" || event.event === "deselected") {
      return;
    }
    // What a run finds is a test, too, be it known or not.
    const item = this.tree.find(event.folder, event.id) ?? this.tree.add(event);
    const line = outcomeLine(event);
    if (line !== undefined) {
      this.run.appendOutput(`${terminal(line)}\r\n`, undefined, item);
    }
    if (event.output !== undefined) {
      this.run.appendOutput(`${terminal(event.output.trimEnd())}\r\n`, undefined, item);
    }
    switch (event.event) {
      case "started":
        return this.run.started(item);
      case "passed":
        this.run.passed(item, event.durationMs);
        break;
      case "skipped":
        this.run.skipped(item);
        break;
      case "failed":
        this.run.failed(item, message(event, item), event.durationMs);
        break;
      case "error":
        // Of a file that cannot be read all tests are without an end.
        for (const leaf of leaves([item])) {
          this.run.errored(leaf, message(event, item), event.durationMs);
          this.open.delete(leaf.id);
        }
        break;
    }
    this.open.delete(item.id);
  }

  /** The run could not be carried out: what has not ended ends with the reason, which is written once. */
  giveUp(reason: string): void {
    this.run.appendOutput(`${terminal(reason)}\r\n`);
    const told = new vscode.TestMessage(reason);
    this.open.forEach((item) => this.run.errored(item, told));
    this.open.clear();
  }

  private cover(event: protocol.TestEvent): void {
    if (event.uri === undefined || this.said.has(event.uri)) {
      return;
    }
    this.said.add(event.uri);
    const details = [...statements(event.executed ?? [], true), ...statements(event.missing ?? [], false)];
    const coverage = vscode.FileCoverage.fromDetails(vscode.Uri.parse(event.uri), details);
    DETAILS.set(coverage, details);
    this.run.addCoverage(coverage);
  }
}

function statements(ranges: readonly (readonly number[])[], executed: boolean): vscode.StatementCoverage[] {
  return ranges.flatMap(([first = 1, last = first]) =>
    Array.from({ length: last - first + 1 }, (_, index) => new vscode.StatementCoverage(executed, new vscode.Position(first - 1 + index, 0))),
  );
}

function message(event: protocol.TestEvent, item: vscode.TestItem): vscode.TestMessage {
  const text = failureText(event.message ?? "");
  const told =
    event.expected !== undefined && event.actual !== undefined
      ? vscode.TestMessage.diff(text, event.expected, event.actual)
      : new vscode.TestMessage(text);
  const trace = event.trace ?? [];
  // Where the test's own file comes in last is where a person looks first.
  const place = trace.findLast(({ uri }) => vscode.Uri.parse(uri).toString() === item.uri?.toString()) ?? trace.at(-1);
  if (place !== undefined) {
    told.location = new vscode.Location(vscode.Uri.parse(place.uri), new vscode.Position(place.line, 0));
  } else if (item.uri !== undefined && item.range !== undefined) {
    told.location = new vscode.Location(item.uri, item.range);
  }
  if (trace.length > 1) {
    told.stackTrace = trace.toReversed().map(({ uri, line, message }) => {
      const file = vscode.Uri.parse(uri);
      return new vscode.TestMessageStackFrame(message === "" ? (file.path.split("/").at(-1) ?? uri) : message, file, new vscode.Position(line, 0));
    });
  }
  return told;
}
