// Formatting of everything the status item says. Pure: words come from `t`, so that tests need no editor.
import type { Phase } from "./phase";
import { problemText } from "./problems";
import { PRIORITIES, type ActiveJob, type JobInfo, type PauseReason, type PriorityName, type QueueState } from "./protocol";

/** `vscode.l10n.t`, or a stand-in. */
export type Translate = (message: string, ...args: (string | number | boolean)[]) => string;

export interface StatusInput {
  readonly phase: Phase;
  /** The newest that the running server said; absent until it has said something. */
  readonly queue: QueueState | undefined;
  /** What the server warns of now. */
  readonly alerts: readonly string[];
  readonly trusted: boolean;
  /** When paused work goes on by itself; missing: when it is resumed. */
  readonly pausedUntilMs?: number | undefined;
}

export type Look = "starting" | "idle" | "restricted" | "busy" | "paused" | "degraded" | "error" | "stopped" | "restarting";

const ICONS: Readonly<Record<Look, string>> = {
  starting: "$(loading~spin)",
  idle: "$(check)",
  restricted: "$(shield)",
  busy: "$(sync~spin)",
  paused: "$(debug-pause)",
  degraded: "$(warning)",
  error: "$(error)",
  stopped: "$(circle-slash)",
  restarting: "$(history)",
};

/** Commands that the tooltip's links may run. */
export const TOOLTIP_COMMANDS = [
  "headway.pauseBackground",
  "headway.resumeBackground",
  "headway.jobs.focus",
  "headway.showTimeline",
  "headway.showLog",
  "headway.restart",
  "headway.chooseInterpreter",
  "workbench.trust.manage",
] as const;

/** The tooltip stays short; the list of jobs and the log have the rest. */
const MOST_JOBS = 5;
const MOST_ALERTS = 3;

type TooltipCommand = (typeof TOOLTIP_COMMANDS)[number];

/** How the item looks: one of a few states that differ by icon, and by colour where something is wrong. */
export function look(input: StatusInput): Look {
  switch (input.phase.kind) {
    case "stopped":
      return "stopped";
    case "preparing":
    case "starting":
      return "starting";
    case "waiting":
      return "restarting";
    case "failed":
      return "error";
    case "running":
      break;
  }
  const state = input.queue?.state ?? "starting";
  return state === "idle" && !input.trusted ? "restricted" : state;
}

/** Waiting and running tasks of all priorities. */
export function totals(queue: QueueState): { queued: number; running: number } {
  const depths = PRIORITIES.map((priority) => queue.queues[priority]);
  return {
    queued: depths.reduce((sum, depth) => sum + depth.queued, 0),
    running: depths.reduce((sum, depth) => sum + depth.running, 0),
  };
}

/** A count in at most four characters: 7, 412, 1.2k, 20k. */
export function compact(count: number): string {
  if (count < 1000) {
    return String(count);
  }
  const thousands = count / 1000;
  return thousands < 9.95 ? `${thousands.toFixed(1)}k` : `${Math.round(thousands)}k`;
}

/** Fills up with spaces as wide as a digit, so that the text keeps its width while numbers change. */
export function padded(text: string, width: number): string {
  return text.padEnd(width, "\u2007");
}

/** The item's text, with its icon. */
export function statusText(input: StatusInput): string {
  const now = look(input);
  const name = `${ICONS[now]} Headway`;
  if (input.queue === undefined || (now !== "busy" && now !== "paused")) {
    return name;
  }
  const { queued, running } = totals(input.queue);
  const waiting = `$(layers) ${padded(compact(queued), 4)}`;
  return now === "paused" ? `${name} ${waiting}` : `${name} ${padded(percent(input.queue), 5)} $(play) ${padded(compact(running), 2)} ${waiting}`;
}

/** How far all jobs together are whose end is known; "" where there is none. */
function percent(queue: QueueState): string {
  const known = queue.jobs.filter((job) => job.progress !== null && (job.total ?? 0) > 0);
  const total = known.reduce((sum, job) => sum + (job.total ?? 0), 0);
  const done = known.reduce((sum, job) => sum + job.done, 0);
  return total === 0 ? "" : `${Math.floor((100 * done) / total)} %`;
}

/** The state in words, with its reason where it has one. */
export function stateText(input: StatusInput, t: Translate): string {
  const { phase, queue } = input;
  switch (phase.kind) {
    case "stopped":
      return t("Stopped");
    case "preparing":
      return t("Setting up the server's Python environment");
    case "starting":
      return t("Starting");
    case "waiting":
      return t("The server ended by itself and starts again in {0} s: {1}", Math.ceil(phase.delayMs / 1000), phase.detail);
    case "failed":
      return problemText(phase.problem, t);
    case "running":
      break;
  }
  if (queue === undefined) {
    return t("Starting");
  }
  switch (queue.state) {
    case "starting":
      return t("Starting");
    case "idle":
      return input.trusted ? t("Idle") : t("Idle, in Restricted Mode");
    case "busy": {
      const { queued, running } = totals(queue);
      const counts = t("{0} running, {1} waiting", running, queued);
      return queue.pauseReason === null ? counts : `${counts}. ${pauseText(queue.pauseReason, t)}`;
    }
    case "paused":
      return pausedText(queue.pauseReason, input.pausedUntilMs, t);
    case "degraded":
      return queue.message ?? t("Something does not work; the log says more");
    case "error":
      return queue.message ?? t("The server reports an error; the log says more");
  }
}

/** The state with the product's name before it, unless it says the name itself. */
export function titledState(input: StatusInput, t: Translate): string {
  const state = stateText(input, t);
  return state.includes("Headway") ? state : `Headway: ${state}`;
}

/** Why background work rests, and until when where that is known. */
function pausedText(reason: PauseReason | null, untilMs: number | undefined, t: Translate): string {
  const why = pauseText(reason, t);
  const time = untilMs === undefined ? "" : new Date(untilMs).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return time === "" || (reason ?? "user") !== "user" ? why : t("{0} until {1}", why, time);
}

/** Why background work rests. */
export function pauseText(reason: PauseReason | null, t: Translate): string {
  switch (reason) {
    case "battery":
      return t("Background work waits for mains power");
    case "memory":
      return t("Background work waits for free memory");
    case "cpu":
      return t("Background work waits: other programs need the CPU");
    case "user":
    case null:
      return t("Background work is paused");
  }
}

/** What a priority is called and what runs there. */
export function priorityText(priority: PriorityName, t: Translate): string {
  switch (priority) {
    case "CRITICAL":
      return t("Critical · completion, hover");
    case "HIGH":
      return t("High · navigation, search");
    case "NORMAL":
      return t("Normal · open files");
    case "LOW":
      return t("Low · tests");
    case "BATCH":
      return t("Batch · index, analysis");
  }
}

/** Server text as Markdown that says just that text: file names must not make links or icons. */
export function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~$&:@]/g, "\\$&").replace(/\s+/g, " ");
}

/** Server text where only `$(name)` has a meaning, as in quick picks. */
export function escapedIcons(text: string): string {
  return text.replaceAll("$(", "$\u200b(");
}

/** A job's state in a word, with how far it is. */
export function jobStateText(job: JobInfo, t: Translate): string {
  switch (job.state) {
    case "PENDING":
      return t("waiting");
    case "RUNNING":
      return job.progress === null ? t("running") : t("running, {0} %", Math.floor(job.progress * 100 + 1e-9));
    case "PAUSED":
      return t("paused");
    case "COMPLETED":
      return t("done");
    case "FAILED":
      return t("failed");
    case "CANCELLED":
      return t("stopped");
  }
}

/** A bar of ten characters. */
export function bar(progress: number): string {
  const full = Math.min(10, Math.max(0, Math.floor(progress * 10 + 1e-9)));
  return "▰".repeat(full) + "▱".repeat(10 - full);
}

/** How far a job is, in words. */
export function progressText(job: ActiveJob, t: Translate): string {
  if (job.progress === null || job.total === null) {
    return job.done > 0 ? t("{0} done", job.done) : t("just begun");
  }
  return t("{0} % ({1} of {2})", Math.floor(job.progress * 100 + 1e-9), job.done, job.total);
}

/** A duration that a person can read at a glance. */
export function milliseconds(value: number | null, t: Translate): string {
  if (value === null) {
    return "–";
  }
  return value < 10 ? t("{0} ms", value.toFixed(1)) : value < 10_000 ? t("{0} ms", Math.round(value)) : t("{0} s", (value / 1000).toFixed(1));
}

/** The tooltip, as Markdown with theme icons and links to TOOLTIP_COMMANDS. */
export function tooltip(input: StatusInput, t: Translate): string {
  const now = look(input);
  const parts = [`**Headway** — ${ICONS[now].replace("~spin", "")} ${escaped(stateText(input, t))}`];
  if (input.phase.kind === "running" && input.queue !== undefined) {
    parts.push(...queueParts(input.queue, t), ...alertParts(input.alerts, t));
  }
  if (!input.trusted && input.phase.kind === "running") {
    parts.push(`$(shield) ${escaped(t("Restricted Mode: nothing of this workspace is run, so no tests and none of its interpreters."))}`);
  }
  parts.push(links(input, t));
  return parts.join("\n\n");
}

function queueParts(queue: QueueState, t: Translate): string[] {
  const parts = [table(queue, t)];
  for (const job of queue.jobs.slice(0, MOST_JOBS)) {
    const shownBar = job.progress === null || job.total === null ? "" : `${bar(job.progress)} `;
    parts.push(`${shownBar}${escaped(job.title)} — ${escaped(progressText(job, t))}`);
  }
  if (queue.jobs.length > MOST_JOBS) {
    parts.push(escaped(t("and {0} more jobs", queue.jobs.length - MOST_JOBS)));
  }
  const completion = queue.latency["completion"];
  if (completion !== undefined && completion.count > 0) {
    const [p50, p95] = [milliseconds(completion.p50Ms, t), milliseconds(completion.p95Ms, t)];
    parts.push(escaped(t("Completion: half within {0}, 95 % within {1} ({2} so far)", p50, p95, completion.count)));
  }
  const pressure = pressureText(queue, t);
  parts.push(escaped(indexText(queue, t)), escaped(resourceText(queue, t)), escaped(pressure === "" ? "" : t("This machine: {0}", pressure)));
  return parts.filter((part) => part !== "");
}

function alertParts(alerts: readonly string[], t: Translate): string[] {
  const parts = alerts.slice(0, MOST_ALERTS).map((alert) => `$(bell) ${escaped(alert)}`);
  return alerts.length > MOST_ALERTS ? [...parts, escaped(t("and {0} more warnings", alerts.length - MOST_ALERTS))] : parts;
}

function table(queue: QueueState, t: Translate): string {
  const rows = PRIORITIES.map((priority) => {
    const depth = queue.queues[priority];
    const rests = queue.pausedPriorities.includes(priority) ? ` $(debug-pause)` : "";
    const times = queue.times?.[priority];
    const took = [times?.waitP95Ms ?? null, times?.runP95Ms ?? null].map((value) => milliseconds(value, t));
    return `| ${[escaped(priorityText(priority, t)) + rests, depth.running, depth.queued, ...took].join(" | ")} |`;
  });
  const gap = "&nbsp;&nbsp;";
  const head = [t("Priority"), ...[t("Running"), t("Waiting"), t("Waited*"), t("Ran*")].map((name) => gap + escaped(name))];
  const note = `<small>${escaped(t("* 95 % of the newest tasks, at most"))}</small>`;
  return [`| ${head.join(" | ")} |`, "| :-- | --: | --: | --: | --: |", ...rows, "", note].join("\n");
}

/** The index in a line; empty where the server says nothing of it. */
function indexText(queue: QueueState, t: Translate): string {
  const { indexed } = queue;
  if (indexed === undefined || indexed.state === "off") {
    return "";
  }
  return t("Index: {0} files, {1} symbols", compact(indexed.files), compact(indexed.symbols));
}

/** What Headway's own work holds of what it may have. */
function resourceText(queue: QueueState, t: Translate): string {
  const { cpuCores: cores, memoryMb: memory, gpuCount: gpus } = queue.resources;
  const parts = [
    cores === undefined ? "" : t("{0} of {1} cores", round(cores.used), round(cores.total)),
    memory === undefined ? "" : t("{0} of {1} GiB", round(memory.used / 1024), round(memory.total / 1024)),
    gpus === undefined || gpus.total === 0 ? "" : t("{0} of {1} GPUs", gpus.used, gpus.total),
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : t("Its work holds {0}", parts.join(" · "));
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function pressureText(queue: QueueState, t: Translate): string {
  const percent = (value: number): string => `${Math.round(value * 100)} %`;
  const { cpu, memory, gpu, onBattery } = queue.pressure;
  const parts = [
    cpu === null ? "" : t("CPU {0}", percent(cpu)),
    memory === null ? "" : t("memory {0}", percent(memory)),
    gpu === null ? "" : t("GPU {0}", percent(gpu)),
    onBattery === true ? t("on battery") : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function links(input: StatusInput, t: Translate): string {
  const offered: [TooltipCommand, string, string][] = [];
  if (input.phase.kind === "running") {
    const paused = (input.queue?.pausedPriorities.length ?? 0) > 0;
    offered.push(
      paused
        ? ["headway.resumeBackground", "$(debug-start)", t("Resume background work")]
        : ["headway.pauseBackground", "$(debug-pause)", t("Pause background work")],
      ["headway.jobs.focus", "$(list-tree)", t("Jobs")],
      ["headway.showTimeline", "$(graph-line)", t("Timeline")],
    );
  }
  if (input.phase.kind === "failed" && (input.phase.problem.kind === "noPython" || input.phase.problem.kind === "chosenPython")) {
    offered.push(["headway.chooseInterpreter", "$(folder-opened)", t("Choose Python")]);
  }
  offered.push(["headway.showLog", "$(output)", t("Log")], ["headway.restart", "$(debug-restart)", t("Restart")]);
  if (!input.trusted) {
    offered.push(["workbench.trust.manage", "$(shield)", t("Trust")]);
  }
  return offered.map(([command, icon, title]) => `[${icon} ${title}](command:${command})`).join(" &nbsp; ");
}
