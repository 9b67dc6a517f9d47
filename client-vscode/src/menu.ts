// The menu behind the status item: what the server does now, and what a person may want of it.
import * as vscode from "vscode";
import { carryOut } from "./announcements";
import type { Context } from "./context";
import { look, titledState, type StatusInput } from "./labels";
import { remedies, remedyText } from "./problems";

interface Choice extends vscode.QuickPickItem {
  /** The command that it runs. */
  readonly id?: string;
  readonly run?: () => Thenable<unknown>;
}

export async function showMenu(context: Context): Promise<void> {
  const { phase, queue, alerts, pausedUntilMs } = context.server;
  const input: StatusInput = { phase, queue, alerts, pausedUntilMs, trusted: vscode.workspace.isTrusted };
  // What others have not registered, or not yet, is not offered.
  const present = new Set(await vscode.commands.getCommands(true));
  const offered = choices(context, input).filter((choice) => choice.id === undefined || present.has(choice.id));
  const picked = await vscode.window.showQuickPick<Choice>(offered, {
    title: titledState(input, vscode.l10n.t),
    placeHolder: vscode.l10n.t("What Headway should do"),
  });
  await picked?.run?.();
}

function choices(context: Context, input: StatusInput): Choice[] {
  const t = vscode.l10n.t;
  const offered: Choice[] = [];
  const { phase } = input;
  if (phase.kind === "failed") {
    offered.push(separator(t("To mend it")));
    for (const remedy of remedies(phase.problem).filter((remedy) => remedy !== "showLog")) {
      offered.push({ label: `$(lightbulb) ${remedyText(remedy, t)}`, run: () => carryOut(context, remedy) });
    }
  }
  if (phase.kind === "running") {
    offered.push(separator(t("Work")), ...work(input));
  }
  offered.push(separator(t("Server")), command("headway.showLog", "$(output)", t("Show Log")));
  offered.push(command("headway.doctor", "$(pulse)", t("Doctor"), t("looks what is wrong")));
  if (phase.kind === "stopped") {
    offered.push(command("headway.restart", "$(debug-start)", t("Start Server")));
  } else if (phase.kind !== "failed") {
    offered.push(
      command("headway.restart", "$(debug-restart)", t("Restart Server")),
      command("headway.stop", "$(debug-stop)", t("Stop Server"), t("until it is started from here")),
      command("headway.chooseInterpreter", "$(folder-opened)", t("Choose Python for the Server")),
    );
  }
  offered.push({
    label: `$(gear) ${t("Settings")}`,
    run: () => vscode.commands.executeCommand("workbench.action.openSettings", "headway."),
  });
  return offered;
}

function work(input: StatusInput): Choice[] {
  const t = vscode.l10n.t;
  const paused = (input.queue?.pausedPriorities.length ?? 0) > 0 && input.queue?.pauseReason === "user";
  const offered = [
    paused
      ? command("headway.resumeBackground", "$(debug-start)", t("Resume Background Work"), t("index, analysis, tests"))
      : command("headway.pauseBackground", "$(debug-pause)", t("Pause Background Work"), t("index, analysis, tests")),
    ...(paused ? [] : [command("headway.pauseForAnHour", "$(watch)", t("Pause for an Hour"), t("goes on by itself"))]),
    command("headway.cancelJob", "$(debug-stop)", t("Cancel a Job…")),
    command("headway.search", "$(search)", t("Search Code…")),
    command("headway.jobs.focus", "$(list-tree)", t("Show Scheduler"), t("what runs, waits and has ended")),
    command("headway.showTimeline", "$(graph-line)", t("Show Timeline"), t("of the last ten minutes")),
    command("headway.showJobs", "$(list-unordered)", t("Show Jobs"), t("running and recent, with their errors")),
    command("headway.reindex", "$(refresh)", t("Reindex Workspace")),
    command("headway.analyzeWorkspace", "$(checklist)", t("Analyze Workspace")),
  ];
  offered.push(
    look(input) === "restricted" || !input.trusted
      ? command("workbench.trust.manage", "$(shield)", t("Manage Workspace Trust"), t("tests and the workspace's Python need it"))
      : command("headway.runTests", "$(beaker)", t("Run Tests")),
    command("headway.clearCache", "$(trash)", t("Clear Cache"), t("the index is made anew")),
  );
  return offered;
}

function command(id: string, icon: string, title: string, description = ""): Choice {
  return { id, label: `${icon} ${title}`, description, run: () => vscode.commands.executeCommand(id) };
}

function separator(label: string): Choice {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}
