// Tells a person what only a person can mend: one message for each problem, not one for each time it is met.
import * as vscode from "vscode";
import type { Context } from "./context";
import type { Phase, Problem } from "./phase";
import { problemText, remedies, remedyText, type Remedy } from "./problems";

/** After so many ends in a row a person is told that the server keeps ending; before, the status item shows it. */
const TELL_AFTER = 3;

export function activate(context: Context): vscode.Disposable {
  const told = new Set<string>();
  const listener = context.server.onPhase((phase) => {
    if (phase.kind === "running") {
      told.clear();
    }
    const problem = worthTelling(phase);
    if (problem === undefined) {
      return;
    }
    // That it keeps ending is one problem, however often and with whatever words.
    const key = problem.kind === "keepsStopping" ? problem.kind : JSON.stringify(problem);
    if (!told.has(key)) {
      told.add(key);
      void tell(context, problem);
    }
  });
  return listener;
}

function worthTelling(phase: Phase): Problem | undefined {
  if (phase.kind === "failed") {
    return phase.problem;
  }
  return phase.kind === "waiting" && phase.failures === TELL_AFTER
    ? { kind: "keepsStopping", times: phase.failures, detail: phase.detail }
    : undefined;
}

/** Shows the problem with its remedies and carries out the one that is picked. */
export async function tell(context: Context, problem: Problem): Promise<void> {
  const text = problemText(problem, vscode.l10n.t);
  context.log.error(text);
  const buttons = remedies(problem).map((remedy) => ({ title: remedyText(remedy, vscode.l10n.t), remedy }));
  const picked = await vscode.window.showErrorMessage(text, ...buttons);
  if (picked !== undefined) {
    await carryOut(context, picked.remedy);
  }
}

export async function carryOut(context: Context, remedy: Remedy): Promise<void> {
  switch (remedy) {
    case "chooseInterpreter":
      return void (await vscode.commands.executeCommand("headway.chooseInterpreter"));
    case "openSetting":
      return void (await vscode.commands.executeCommand("workbench.action.openSettings", "headway.interpreter"));
    case "retry":
      return context.server.restart();
    case "showLog":
      return context.log.show(true);
    case "rebuild":
      return context.server.rebuild();
  }
}
