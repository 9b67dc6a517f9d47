// The commands of the palette. What a person asks for is answered in any case: done, failed and why, or not possible now.
import * as vscode from "vscode";
import { ResponseError } from "vscode-languageclient";
import { carryOut } from "./announcements";
import { NotRunningError, SilentError } from "./client";
import type { Context } from "./context";
import { cancelOne, showJobs } from "./jobs";
import { stateText } from "./labels";
import { showMenu } from "./menu";
import { oneAtATime } from "./patience";
import { remedies, remedyText } from "./problems";
import * as protocol from "./protocol";
import { waitedFor } from "./waiting";

export function activate(context: Context): vscode.Disposable {
  const { server } = context;
  const asked = (title: string, type: protocol.SubmitParams["type"]): (() => Promise<unknown>) =>
    oneAtATime(() => submit(context, title, { type, arguments: {} }));
  const analyzed = asked(vscode.l10n.t("Headway: analyzing the workspace"), "analysis");
  const tested = asked(vscode.l10n.t("Headway: running the tests"), "tests");
  const on = (name: string, run: () => Promise<unknown>): vscode.Disposable =>
    vscode.commands.registerCommand(`headway.${name}`, () => answered(context, run));
  return vscode.Disposable.from(
    on("showMenu", () => showMenu(context)),
    on("showJobs", () => showJobs(context)),
    on("cancelJob", () => cancelOne(context)),
    on("showLog", () => Promise.resolve(context.log.show(true))),
    on("restart", () => server.restart()),
    on("stop", () => server.stop()),
    on("chooseInterpreter", () => chooseInterpreter()),
    on("pauseBackground", () => server.ask(protocol.pause, {})),
    on("resumeBackground", () => server.ask(protocol.resume, {})),
    on("clearCache", () => server.execute(protocol.CLEAR_CACHE)),
    on("reindex", asked(vscode.l10n.t("Headway: indexing"), "index")),
    on("analyzeWorkspace", async () => sayAnalyzed(await analyzed())),
    on("runTests", async () => sayTested(context, await tested())),
  );
}

/** Runs what a person asked for and says so where it is not possible. */
async function answered(context: Context, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof NotRunningError) {
      return sayNotRunning(context);
    }
    if (error instanceof SilentError) {
      return saySilent(context);
    }
    if (error instanceof vscode.CancellationError) {
      return;
    }
    if (error instanceof ResponseError || context.server.phase.kind !== "running") {
      // The server refused, or ended meanwhile; both are told, with the log for the rest.
      return sayFailed(context, error instanceof Error ? error.message : String(error));
    }
    throw error;
  }
}

async function sayNotRunning(context: Context): Promise<void> {
  const { phase } = context.server;
  const state = stateText({ phase, queue: undefined, alerts: [], trusted: vscode.workspace.isTrusted }, vscode.l10n.t);
  const possible = phase.kind === "failed" ? remedies(phase.problem) : (["retry", "showLog"] as const);
  const buttons = possible.map((remedy) => ({ title: remedyText(remedy, vscode.l10n.t), remedy }));
  const text = vscode.l10n.t("Headway's server is not running. {0}", state);
  const picked = await vscode.window.showWarningMessage(text, ...buttons);
  if (picked !== undefined) {
    await carryOut(context, picked.remedy);
  }
}

async function saySilent(context: Context): Promise<void> {
  const restart = vscode.l10n.t("Restart Server");
  const text = vscode.l10n.t("Headway's server does not answer. A restart helps; nothing that was indexed is lost.");
  if ((await vscode.window.showWarningMessage(text, restart)) === restart) {
    await context.server.restart();
  }
}

async function sayFailed(context: Context, reason: string): Promise<void> {
  const showLog = vscode.l10n.t("Show Log");
  if ((await vscode.window.showErrorMessage(`Headway: ${reason}`, showLog)) === showLog) {
    context.log.show(true);
  }
}

/** Submits a job and waits for its end, in the window where that takes long. A failed one is told; the result is that of a completed one. */
async function submit(context: Context, title: string, params: protocol.SubmitParams): Promise<unknown> {
  const view = await waitedFor(title, (token, report) => context.server.watch(params, report, token));
  if (view.state === "FAILED") {
    await sayFailed(context, view.error?.message ?? vscode.l10n.t("{0} failed", view.title));
  }
  return view.state === "COMPLETED" ? view.result : undefined;
}

async function sayAnalyzed(result: unknown): Promise<void> {
  if (isCounts<protocol.AnalysisResult>(result, ["files", "diagnostics"])) {
    const show = vscode.l10n.t("Show Problems");
    const text = vscode.l10n.t("Headway analyzed {0} files and found {1} problems.", result.files, result.diagnostics);
    if ((await vscode.window.showInformationMessage(text, show)) === show) {
      await vscode.commands.executeCommand("workbench.actions.view.problems");
    }
  }
}

async function sayTested(context: Context, result: unknown): Promise<void> {
  if (isCounts<protocol.TestsResult>(result, ["passed", "failed", "skipped", "errors"])) {
    const { passed, failed, skipped, errors } = result;
    const text = vscode.l10n.t("Tests: {0} passed, {1} failed, {2} skipped, {3} errors.", passed, failed, skipped, errors);
    const showLog = vscode.l10n.t("Show Log");
    const picked = await (failed + errors > 0
      ? vscode.window.showWarningMessage(text, showLog)
      : vscode.window.showInformationMessage(text, showLog));
    if (picked === showLog) {
      context.log.show(true);
    }
  }
}

async function chooseInterpreter(): Promise<void> {
  const filters = process.platform === "win32" ? { filters: { [vscode.l10n.t("Programs")]: ["exe"] } } : {};
  const title = vscode.l10n.t("Python 3.11 or newer, for Headway's server");
  const picked = await vscode.window.showOpenDialog({ title, openLabel: vscode.l10n.t("Use This Python"), ...filters });
  const file = picked?.[0];
  if (file !== undefined) {
    await vscode.workspace.getConfiguration("headway").update("interpreter", file.fsPath, vscode.ConfigurationTarget.Global);
  }
}

function isCounts<T>(found: unknown, keys: readonly (keyof T & string)[]): found is T {
  return typeof found === "object" && found !== null && keys.every((key) => typeof Reflect.get(found, key) === "number");
}
