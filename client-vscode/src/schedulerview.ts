// The scheduler view: what runs, waits, rests and has ended, with what a person may do about it.
// Fed by `headway/jobUpdated` and `headway/queueState`; asks for a snapshot only when it comes into sight.
import * as vscode from "vscode";
import { NotRunningError, SilentError } from "./client";
import type { Context } from "./context";
import { JobBook, shifted } from "./jobbook";
import { JobTree, type JobNode } from "./jobtree";
import { factsTooltip, isWhole, jobFacts, jobText, taskFacts, urgencyText } from "./jobwords";
import { pauseText } from "./labels";
import { Pacer, SYSTEM_TIMER, type PacePolicy } from "./pacing";
import * as protocol from "./protocol";

const VIEW = "headway.jobs";
/** At most two refreshes a second. */
const PACE: PacePolicy = { gapMs: 500, passingGapMs: 500, settleMs: 0, holdMs: 0 };
/** While something runs its seconds go on, also where no message comes. */
const TICK_MS = 1000;

export function activate(context: Context): vscode.Disposable {
  const view = new SchedulerView(context);
  return new vscode.Disposable(() => view.dispose());
}

class SchedulerView implements vscode.TreeDataProvider<JobNode> {
  private readonly changes = new vscode.EventEmitter<JobNode[] | undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly book = new JobBook();
  private readonly tree = new JobTree(this.book, () => Date.now(), vscode.l10n.t);
  private readonly view: vscode.TreeView<JobNode>;
  private readonly pacer: Pacer<true>;
  private readonly owned: readonly { dispose(): unknown }[];
  private tick: NodeJS.Timeout | undefined;

  constructor(private readonly context: Context) {
    const { server } = context;
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true });
    const traits = { passing: () => false, urgent: () => false, same: () => false };
    this.pacer = new Pacer<true>(PACE, SYSTEM_TIMER, traits, () => this.refresh());
    this.owned = [
      this.view,
      this.changes,
      this.pacer,
      this.view.onDidChangeVisibility(({ visible }) => (visible ? this.read() : this.rest())),
      server.onJob((job) => this.touch(() => this.book.take(job))),
      server.onQueueState((queue) => this.touch(() => this.book.takeQueue(queue))),
      server.onPhase((phase) => {
        void vscode.commands.executeCommand("setContext", "headway.phase", phase.kind);
        if (phase.kind === "running") {
          this.read();
        } else {
          this.touch(() => this.book.clear());
        }
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.touch(() => undefined)),
      this.command("cancel", (job) => server.ask(protocol.cancelJob, { jobId: job.jobId })),
      this.command("retry", (job) => this.again(job)),
      this.command("raisePriority", (job) => this.shift(job, -1)),
      this.command("lowerPriority", (job) => this.shift(job, 1)),
      this.command("copy", (job) => Promise.resolve(vscode.env.clipboard.writeText(jobText(job, Date.now(), vscode.l10n.t)))),
    ];
    void vscode.commands.executeCommand("setContext", "headway.phase", server.phase.kind);
  }

  getChildren(node?: JobNode): JobNode[] {
    return this.tree.children(node);
  }

  getParent(node: JobNode): JobNode | undefined {
    return this.tree.parent(node);
  }

  getTreeItem(node: JobNode): vscode.TreeItem {
    const row = this.tree.row(node);
    const item = new vscode.TreeItem(row?.label ?? "");
    item.id = node.key;
    if (row !== undefined) {
      item.description = row.description;
      item.contextValue = row.context;
      item.accessibilityInformation = { label: row.spoken };
      if (row.icon !== "") {
        item.iconPath = new vscode.ThemeIcon(row.icon, row.color === "" ? undefined : new vscode.ThemeColor(row.color));
      }
    }
    const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
    item.collapsibleState = node.kind === "section" ? Expanded : this.tree.expandable(node) ? Collapsed : None;
    return item;
  }

  /** Tooltips are made when somebody points at a row: they are as new as that. */
  resolveTreeItem(item: vscode.TreeItem, node: JobNode): vscode.TreeItem {
    const job = this.tree.job(node);
    const task = this.tree.task(node);
    const t = vscode.l10n.t;
    if (job !== undefined && node.kind === "job") {
      const instant = (atMs: number): string => new Date(atMs).toLocaleTimeString(vscode.env.language);
      item.tooltip = new vscode.MarkdownString(factsTooltip(job.title, jobFacts(job, Date.now(), instant, t)));
    } else if (task !== undefined && node.kind === "task") {
      item.tooltip = new vscode.MarkdownString(factsTooltip(task.name, taskFacts(task, t)));
    } else if (node.step !== undefined) {
      item.tooltip = task?.steps[node.step]?.error?.message;
    }
    return item;
  }

  dispose(): void {
    this.rest();
    this.owned.forEach((one) => one.dispose());
  }

  /** A command for a job: of the row it is called on, else of the one that is selected. */
  private command(name: string, run: (job: protocol.JobInfo) => Promise<unknown>): vscode.Disposable {
    return vscode.commands.registerCommand(`${VIEW}.${name}`, async (clicked?: JobNode) => {
      const node = clicked ?? this.view.selection[0];
      const job = node === undefined ? undefined : this.tree.job(node);
      if (job === undefined) {
        return;
      }
      try {
        await run(job);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        const silent = error instanceof NotRunningError || error instanceof SilentError;
        void vscode.window.showWarningMessage(silent ? vscode.l10n.t("Headway's server does not answer now.") : `Headway: ${reason}`);
      }
      this.read();
    });
  }

  private async again(job: protocol.JobInfo): Promise<void> {
    const { server, log } = this.context;
    if (!isWhole(job)) {
      await server.ask(protocol.retryJob, { jobId: job.jobId });
      return;
    }
    // It is answered when it has ended, which the view shows; nobody waits for that here.
    server.request(protocol.submit, { type: job.type, arguments: {} }).catch((error: unknown) => log.info(`${job.title}: ${String(error)}`));
  }

  private async shift(job: protocol.JobInfo, by: -1 | 1): Promise<void> {
    const priority = shifted(job.priority, by);
    if (priority === undefined) {
      return;
    }
    const { changed } = await this.context.server.ask(protocol.setPriority, { jobId: job.jobId, priority });
    if (changed) {
      const said = vscode.l10n.t("{0}: {1} from now on", job.title, urgencyText(priority, vscode.l10n.t));
      vscode.window.setStatusBarMessage(said, 4000);
    }
  }

  /** Takes something in; what is shown follows, calmly. */
  private touch(take: () => void): void {
    take();
    this.pacer.offer(true);
  }

  /** Asks for all that the server remembers, unless nobody looks. */
  private read(): void {
    this.pacer.offer(true);
    if (!this.view.visible || this.context.server.phase.kind !== "running") {
      return;
    }
    this.context.server.ask(protocol.snapshot, {}).then(
      (snapshot) =>
        this.touch(() => {
          snapshot.recentJobs.forEach((job) => this.book.take(job));
          this.book.takeQueue(snapshot);
        }),
      (error: unknown) => this.context.log.debug(`the scheduler view has no snapshot: ${String(error)}`),
    );
  }

  private rest(): void {
    clearTimeout(this.tick);
    this.tick = undefined;
  }

  private refresh(): void {
    this.showBadge();
    if (!this.view.visible) {
      return this.rest();
    }
    this.view.message = this.message();
    const changed = this.tree.changed();
    if (changed === "all") {
      this.changes.fire(undefined);
    } else if (changed.length > 0) {
      this.changes.fire(changed);
    }
    this.rest();
    if (this.book.in("running").length > 0) {
      this.tick = setTimeout(() => this.pacer.offer(true), TICK_MS);
    }
  }

  private showBadge(): void {
    const value = this.book.in("running").length;
    if (value !== (this.view.badge?.value ?? 0)) {
      this.view.badge = value === 0 ? undefined : { value, tooltip: vscode.l10n.t("{0} running jobs", value) };
    }
  }

  /** What stands above the list: what holds it up. Empty where nothing does. */
  private message(): string {
    const { queue } = this.context.server;
    const parts = [
      queue !== undefined && queue.pausedPriorities.length > 0 ? `${pauseText(queue.pauseReason, vscode.l10n.t)}.` : "",
      queue?.message ?? "",
      vscode.workspace.isTrusted ? "" : vscode.l10n.t("Restricted Mode: nothing of this workspace is run, so no tests and none of its interpreters."),
    ].filter((part) => part !== "");
    return this.context.server.phase.kind === "running" ? parts.join(" ") : "";
  }
}
