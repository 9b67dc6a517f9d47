// How jobs, tasks and steps are told: rows of the scheduler view, their tooltips, and the text that is copied. Pure.
import { hasEnded, shifted, type Section } from "./jobbook";
import { escaped, jobStateText, milliseconds, type Translate } from "./labels";
import type { ErrorInfo, JobInfo, PriorityName, StepInfo, TaskInfo } from "./protocol";

/** What stands in one row. `spoken` is what a screen reader says instead of label and description. */
export interface Row {
  readonly label: string;
  readonly description: string;
  readonly icon: string;
  /** Id of a theme colour for the icon; empty: the text's own. */
  readonly color: string;
  readonly spoken: string;
  /** What may be done with it, for `when` clauses: `job;cancel;raise`. */
  readonly context: string;
}

const ICONS: Readonly<Record<string, readonly [string, string]>> = {
  PENDING: ["watch", ""],
  READY: ["watch", ""],
  RUNNING: ["sync~spin", "charts.blue"],
  PAUSED: ["debug-pause", "charts.yellow"],
  COMPLETED: ["pass", "testing.iconPassed"],
  FAILED: ["error", "testing.iconFailed"],
  CANCELLED: ["circle-slash", ""],
  SKIPPED: ["debug-step-over", "testing.iconSkipped"],
};

export function sectionRow(section: Section, count: number, t: Translate): Row {
  const label = sectionText(section, t);
  return { label, description: String(count), icon: "", color: "", spoken: t("{0}, {1} jobs", label, count), context: "section" };
}

function sectionText(section: Section, t: Translate): string {
  switch (section) {
    case "running":
      return t("Running");
    case "waiting":
      return t("Waiting");
    case "paused":
      return t("Paused");
    case "recent":
      return t("Recent");
  }
}

export function jobRow(job: JobInfo, section: Section, nowMs: number, t: Translate): Row {
  const held = section === "paused";
  const parts = [held ? t("paused") : jobStateText(job, t), duration(job, nowMs, t), hasEnded(job) ? "" : urgencyText(job.priority, t)];
  // That it was stopped says all; by whom is in the tooltip.
  const description = joined([...parts, job.state === "CANCELLED" ? "" : firstLine(job.error)]);
  const [icon, color] = iconOf(held ? "PAUSED" : job.state);
  return { label: job.title, description, icon, color, spoken: `${job.title}, ${description.replaceAll(" · ", ", ")}`, context: jobContext(job) };
}

export function taskRow(task: TaskInfo, t: Translate): Row {
  const again = task.attempt > 1 ? t("attempt {0}", task.attempt) : "";
  return rowOf(task.name, task.state, joined([workStateText(task.state, t), ran(task.runMs, t), again, firstLine(task.error)]), "task");
}

export function stepRow(step: StepInfo, t: Translate): Row {
  return rowOf(step.name, step.state, joined([workStateText(step.state, t), ran(step.runMs, t), firstLine(step.error)]), "step");
}

/** The row that stands for what the server did not list. */
export function restRow(t: Translate): Row {
  const label = t("and more, which are not listed");
  return { label, description: "", icon: "ellipsis", color: "", spoken: label, context: "rest" };
}

function rowOf(label: string, state: string, description: string, context: string): Row {
  const [icon, color] = iconOf(state);
  return { label, description, icon, color, spoken: `${label}, ${description.replaceAll(" · ", ", ")}`, context };
}

/** It is about the whole workspace and fed bit by bit: to do it again is to ask for it anew, not to repeat its tasks. */
export function isWhole(job: JobInfo): boolean {
  return job.type === "index" || job.type === "analysis";
}

/** What may be done with a job, as words that `when` clauses look for. */
export function jobContext(job: JobInfo): string {
  if (hasEnded(job)) {
    return job.state !== "COMPLETED" || isWhole(job) ? "job;retry" : "job";
  }
  const raise = shifted(job.priority, -1) === undefined ? "" : ";raise";
  const lower = shifted(job.priority, 1) === undefined ? "" : ";lower";
  return `job;cancel${raise}${lower}`;
}

function iconOf(state: string): readonly [string, string] {
  return ICONS[state] ?? ["question", ""];
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

function firstLine(error: ErrorInfo | null): string {
  return error?.message.split("\n", 1)[0]?.trim() ?? "";
}

function ran(runMs: number | null, t: Translate): string {
  return runMs === null ? "" : milliseconds(runMs, t);
}

/** How long a job has been running, or ran; whole seconds while it runs, so that it changes calmly. */
function duration(job: JobInfo, nowMs: number, t: Translate): string {
  if (job.startedAt === null) {
    return "";
  }
  if (job.finishedAt !== null) {
    return milliseconds(job.finishedAt - job.startedAt, t);
  }
  return t("{0} s", Math.max(0, Math.floor((nowMs - job.startedAt) / 1000)));
}

/** What a priority is called, without what runs there. */
export function urgencyText(priority: PriorityName, t: Translate): string {
  switch (priority) {
    case "CRITICAL":
      return t("Critical");
    case "HIGH":
      return t("High");
    case "NORMAL":
      return t("Normal");
    case "LOW":
      return t("Low");
    case "BATCH":
      return t("Batch");
  }
}

/** A task's or step's state in a word. */
export function workStateText(state: string, t: Translate): string {
  switch (state) {
    case "PENDING":
    case "READY":
      return t("waiting");
    case "RUNNING":
      return t("running");
    case "COMPLETED":
      return t("done");
    case "FAILED":
      return t("failed");
    case "CANCELLED":
      return t("stopped");
    case "SKIPPED":
      return t("skipped");
    default:
      return state; // A newer server may know more states than we have words for.
  }
}

/** All that is known of a job, line by line: `[what, value]`. `instant` writes a point in time. */
export function jobFacts(job: JobInfo, nowMs: number, instant: (atMs: number) => string, t: Translate): [string, string][] {
  const ended = job.tasks.filter((task) => !["PENDING", "READY", "RUNNING"].includes(task.state)).length;
  const waitedMs = (job.startedAt ?? job.finishedAt ?? nowMs) - job.createdAt;
  const facts: [string, string][] = [
    [t("State"), jobStateText(job, t)],
    [t("Priority"), urgencyText(job.priority, t)],
    [t("Submitted"), instant(job.createdAt)],
    [t("Waited"), milliseconds(Math.max(0, waitedMs), t)],
  ];
  if (job.startedAt !== null) {
    facts.push([job.finishedAt === null ? t("Running for") : t("Ran for"), duration(job, nowMs, t)]);
  }
  if (job.finishedAt !== null) {
    facts.push([t("Ended"), instant(job.finishedAt)]);
  }
  if (job.attempt > 1) {
    facts.push([t("Attempt"), String(job.attempt)]);
  }
  if (job.tasks.length > 0) {
    const some = job.truncated ? t("{0} of those listed, which are not all", ended) : t("{0} of {1} have ended", ended, job.tasks.length);
    facts.push([t("Tasks"), some]);
  }
  if (job.error !== null) {
    facts.push(job.state === "CANCELLED" ? [t("Reason"), job.error.message] : [t("Error"), `${job.error.message} (${job.error.kind})`]);
  }
  return facts;
}

export function taskFacts(task: TaskInfo, t: Translate): [string, string][] {
  const facts: [string, string][] = [[t("State"), workStateText(task.state, t)]];
  if (task.waitMs !== null) {
    facts.push([t("Waited"), milliseconds(task.waitMs, t)]);
  }
  if (task.runMs !== null) {
    facts.push([task.state === "RUNNING" ? t("Running for") : t("Ran for"), milliseconds(task.runMs, t)]);
  }
  if (task.attempt > 1) {
    facts.push([t("Attempt"), String(task.attempt)]);
  }
  if (task.dependsOn.length > 0) {
    facts.push([t("Comes after"), task.dependsOn.slice(0, 10).join(", ")]);
  }
  if (task.error !== null) {
    facts.push([t("Error"), `${task.error.message} (${task.error.kind})`]);
  }
  return facts;
}

/** A tooltip as Markdown: the title, and a table of facts. */
export function factsTooltip(title: string, facts: readonly [string, string][]): string {
  const rows = facts.map(([what, value]) => `| ${escaped(what)} | ${escaped(value)} |`);
  return [`**${escaped(title)}**`, ["| | |", "| :-- | :-- |", ...rows].join("\n")].join("\n\n");
}

/** A job as plain text, for the clipboard: facts, then tasks and steps, indented. */
export function jobText(job: JobInfo, nowMs: number, t: Translate): string {
  const lines = [`${job.title} [${job.type}, ${job.jobId}]`];
  const instant = (atMs: number): string => new Date(atMs).toISOString();
  lines.push(...jobFacts(job, nowMs, instant, t).map(([what, value]) => `  ${what}: ${value}`));
  for (const task of job.tasks) {
    lines.push(`  - ${task.name}: ${taskRow(task, t).description}`);
    if (task.error !== null) {
      lines.push(`      ${task.error.kind}: ${task.error.message}`);
    }
    lines.push(...task.steps.filter(() => task.steps.length > 1).map((step) => `    - ${step.name}: ${stepRow(step, t).description}`));
  }
  return lines.join("\n");
}
