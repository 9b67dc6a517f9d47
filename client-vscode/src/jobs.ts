// The list of jobs: what runs can be stopped, what failed can be tried again and says why.
import * as vscode from "vscode";
import type { Context } from "./context";
import { escapedIcons, jobStateText, milliseconds } from "./labels";
import * as protocol from "./protocol";

interface Row extends vscode.QuickPickItem {
  readonly job?: protocol.JobInfo;
}

const STOP = { iconPath: new vscode.ThemeIcon("debug-stop"), tooltip: vscode.l10n.t("Stop this job") };
const RETRY = { iconPath: new vscode.ThemeIcon("debug-rerun"), tooltip: vscode.l10n.t("Try this job again") };

export async function showJobs(context: Context): Promise<void> {
  const pick = vscode.window.createQuickPick<Row>();
  pick.title = vscode.l10n.t("Headway: jobs");
  pick.placeholder = vscode.l10n.t("Running and recent jobs");
  pick.matchOnDescription = true;
  pick.busy = true;
  pick.show();
  const refresh = async (): Promise<void> => {
    const snapshot = await context.server.ask(protocol.snapshot, {});
    pick.items = rows(snapshot.recentJobs);
    pick.busy = false;
  };
  await new Promise<void>((resolve, reject) => {
    pick.onDidTriggerItemButton(({ item, button }) => {
      if (item.job !== undefined) {
        act(context, item.job, button === STOP).then(refresh).catch(reject);
      }
    });
    pick.onDidAccept(() => pick.hide());
    pick.onDidHide(() => resolve());
    refresh().catch(reject);
  }).finally(() => pick.dispose());
}

/** Lets a person choose what is to be stopped. */
export async function cancelOne(context: Context): Promise<void> {
  const snapshot = await context.server.ask(protocol.snapshot, {});
  const active = snapshot.recentJobs.filter((job) => ["PENDING", "RUNNING", "PAUSED"].includes(job.state));
  if (active.length === 0) {
    vscode.window.setStatusBarMessage(vscode.l10n.t("Headway: nothing runs that could be cancelled"), 4000);
    return;
  }
  const picked = await vscode.window.showQuickPick(rows(active), { title: vscode.l10n.t("Headway: cancel a job") });
  if (picked?.job !== undefined) {
    await context.server.ask(protocol.cancelJob, { jobId: picked.job.jobId });
  }
}

async function act(context: Context, job: protocol.JobInfo, stop: boolean): Promise<void> {
  await (stop
    ? context.server.ask(protocol.cancelJob, { jobId: job.jobId })
    : context.server.ask(protocol.retryJob, { jobId: job.jobId }));
}

function rows(jobs: readonly protocol.JobInfo[]): Row[] {
  if (jobs.length === 0) {
    return [{ label: vscode.l10n.t("No jobs yet") }];
  }
  return jobs.map((job) => {
    const active = ["PENDING", "RUNNING", "PAUSED"].includes(job.state);
    const again = job.state === "FAILED" || job.state === "CANCELLED";
    const tookMs = job.startedAt === null || job.finishedAt === null ? null : job.finishedAt - job.startedAt;
    const parts = [jobStateText(job, vscode.l10n.t), ...(tookMs === null ? [] : [milliseconds(tookMs, vscode.l10n.t)])];
    return {
      job,
      label: `${icon(job.state)} ${escapedIcons(job.title)}`,
      description: parts.join(" · "),
      ...(job.error === null ? {} : { detail: escapedIcons(job.error.message) }),
      buttons: active ? [STOP] : again ? [RETRY] : [],
    };
  });
}

function icon(state: protocol.JobState): string {
  switch (state) {
    case "PENDING":
      return "$(watch)";
    case "RUNNING":
      return "$(sync~spin)";
    case "PAUSED":
      return "$(debug-pause)";
    case "COMPLETED":
      return "$(check)";
    case "FAILED":
      return "$(error)";
    case "CANCELLED":
      return "$(circle-slash)";
  }
}
