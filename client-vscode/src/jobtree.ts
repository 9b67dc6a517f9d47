// The tree behind the scheduler view: which nodes there are, what each shows, and which have changed since. Pure.
import { SECTIONS, type JobBook, type Section } from "./jobbook";
import { jobRow, restRow, sectionRow, stepRow, taskRow, type Row } from "./jobwords";
import type { Translate } from "./labels";
import type { JobInfo, TaskInfo } from "./protocol";

/** A node. The same thing is always the same object: the editor tells nodes apart by that. */
export interface JobNode {
  readonly key: string;
  readonly kind: "section" | "job" | "task" | "step" | "rest";
  readonly section: Section;
  readonly jobId?: string | undefined;
  readonly taskId?: string | undefined;
  readonly step?: number | undefined;
}

/** Most nodes that are remembered for their identity; far more than anybody opens. */
const MOST_NODES = 20_000;

/** Something the editor was given, with the job that it was made of where nothing else counts. */
interface Shown<T> {
  readonly what: T;
  readonly of: JobInfo | undefined;
}

export class JobTree {
  private nodes = new Map<string, JobNode>();
  /** What the editor was given, by key: rows and the keys of children. The root's key is empty. */
  private readonly shownRows = new Map<string, Shown<string>>();
  private readonly shownChildren = new Map<string, Shown<readonly string[]>>();

  constructor(
    private readonly book: JobBook,
    private readonly nowMs: () => number,
    private readonly t: Translate,
  ) {}

  /** A node's children, or the sections. The editor is taken to know them from now on. */
  children(node?: JobNode): JobNode[] {
    const found = this.childrenOf(node);
    this.shownChildren.set(node?.key ?? "", { what: found.map((child) => child.key), of: this.resting(node) });
    return found;
  }

  /** A node's row, undefined where what it stood for is gone. The editor is taken to show it from now on. */
  row(node: JobNode): Row | undefined {
    const row = this.rowOf(node);
    this.shownRows.set(node.key, { what: fingerprint(row), of: this.resting(node) });
    return row;
  }

  expandable(node: JobNode): boolean {
    return this.childrenOf(node).length > 0;
  }

  parent(node: JobNode): JobNode | undefined {
    switch (node.kind) {
      case "section":
        return undefined;
      case "job":
        return this.node({ kind: "section", section: node.section });
      case "task":
        return this.node({ kind: "job", section: node.section, jobId: node.jobId });
      case "rest":
      case "step":
        return node.taskId === undefined
          ? this.node({ kind: "job", section: node.section, jobId: node.jobId })
          : this.node({ kind: "task", section: node.section, jobId: node.jobId, taskId: node.taskId });
    }
  }

  /** The nodes that no longer show what is true, topmost only; "all" where the sections themselves have changed. */
  changed(): JobNode[] | "all" {
    const shown = this.shownChildren.get("");
    const sections = this.childrenOf();
    if (shown === undefined || !sameKeys(shown.what, sections)) {
      return "all";
    }
    return sections.flatMap((section) => this.changedBelow(section));
  }

  /** The editor forgets all that it was given. */
  forget(): void {
    this.nodes = new Map();
    this.shownRows.clear();
    this.shownChildren.clear();
  }

  job(node: JobNode): JobInfo | undefined {
    return node.jobId === undefined ? undefined : this.book.job(node.jobId);
  }

  task(node: JobNode): TaskInfo | undefined {
    return this.job(node)?.tasks.find((task) => task.taskId === node.taskId);
  }

  private changedBelow(node: JobNode): JobNode[] {
    const row = this.shownRows.get(node.key);
    if (row === undefined) {
      return []; // It was never shown.
    }
    const known = this.shownChildren.get(node.key);
    const resting = this.resting(node);
    if (resting !== undefined && row.of === resting && (known === undefined || known.of === resting)) {
      return []; // Most of a long list is as it was, and is not put into words anew.
    }
    const children = this.childrenOf(node);
    if (row.what !== fingerprint(this.rowOf(node)) || (known !== undefined && !sameKeys(known.what, children))) {
      return [node];
    }
    return known === undefined ? [] : children.flatMap((child) => this.changedBelow(child));
  }

  /** What a job's row and all below it say, where that does not change by time alone: the row of one that runs does. */
  private resting(node: JobNode | undefined): JobInfo | undefined {
    const job = node?.kind === "job" ? this.job(node) : undefined;
    return job === undefined || (job.startedAt !== null && job.finishedAt === null) ? undefined : job;
  }

  private childrenOf(node?: JobNode): JobNode[] {
    if (node === undefined) {
      return SECTIONS.filter((section) => this.book.in(section).length > 0).map((section) => this.node({ kind: "section", section }));
    }
    const { section } = node;
    switch (node.kind) {
      case "section":
        return this.book.in(section).map((job) => this.node({ kind: "job", section, jobId: job.jobId }));
      case "job": {
        const job = this.job(node);
        const tasks = (job?.tasks ?? []).map((task) =>
          this.node({ kind: "task", section, jobId: node.jobId, taskId: task.taskId }),
        );
        return job?.truncated === true ? [...tasks, this.node({ kind: "rest", section, jobId: job.jobId })] : tasks;
      }
      case "task": {
        const task = this.task(node);
        if (task === undefined || (task.steps.length < 2 && task.truncated !== true)) {
          return []; // A task's only step says what the task says.
        }
        const of = { section, jobId: node.jobId, taskId: task.taskId };
        const steps = task.steps.map((_, step) => this.node({ kind: "step", ...of, step }));
        return task.truncated === true ? [...steps, this.node({ kind: "rest", ...of })] : steps;
      }
      case "step":
      case "rest":
        return [];
    }
  }

  private rowOf(node: JobNode): Row | undefined {
    if (node.kind === "section") {
      return sectionRow(node.section, this.book.in(node.section).length, this.t);
    }
    if (node.kind === "rest") {
      return restRow(this.t);
    }
    if (node.kind === "job") {
      const job = this.job(node);
      return job === undefined ? undefined : jobRow(job, node.section, this.nowMs(), this.t);
    }
    const task = this.task(node);
    if (node.kind === "task") {
      return task === undefined ? undefined : taskRow(task, this.t);
    }
    const step = node.step === undefined ? undefined : task?.steps[node.step];
    return step === undefined ? undefined : stepRow(step, this.t);
  }

  private node(of: Omit<JobNode, "key">): JobNode {
    const key = [of.kind, of.section, of.jobId, of.taskId, of.step].filter((word) => word !== undefined).join("/");
    const known = this.nodes.get(key);
    if (known !== undefined) {
      return known;
    }
    if (this.nodes.size >= MOST_NODES) {
      this.forget(); // The next look finds all changed, and the editor asks anew.
    }
    const made = { ...of, key };
    this.nodes.set(key, made);
    return made;
  }
}

function fingerprint(row: Row | undefined): string {
  return row === undefined ? "" : [row.label, row.description, row.icon, row.color, row.context].join("\n");
}

function sameKeys(keys: readonly string[], nodes: readonly JobNode[]): boolean {
  return keys.length === nodes.length && nodes.every((node, index) => node.key === keys[index]);
}
