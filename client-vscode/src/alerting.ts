// Which of the server's alerts are worth a message, and what can be done about each. Pure.
import type { Alert } from "./protocol";

export type Action = "scheduler" | "timeline" | "pause" | "log";

/** What concerns the machine makes background work wait by itself: the status item says so, and nobody has to do anything. */
const SELF_MENDING = /^machine\./;
/** Background work may take its time; only who waits for an answer is told that answers are slow. */
const SLOW = /^(response|queue)\./;
const UNHURRIED: ReadonlySet<string | undefined> = new Set(["LOW", "BATCH"]);

/** Tells each kind of alert once while it lasts for a server, and never what a person has said not to tell again. */
export class Alerting {
  private readonly told = new Set<string>();

  constructor(private readonly muted: (kind: string) => boolean) {}

  /** Whether a person is to be told now. A warning that goes by itself is only shown with the status. */
  worthTelling(alert: Alert): boolean {
    const kind = alert.metric;
    const unhurried = SLOW.test(kind) && UNHURRIED.has(alert.labels["priority"]);
    if (alert.level !== "critical" || unhurried || SELF_MENDING.test(kind) || this.told.has(kind) || this.muted(kind)) {
      return false;
    }
    this.told.add(kind);
    return true;
  }
}

/** What helps, most useful first. */
export function actionsFor(alert: Alert): readonly Action[] {
  if (alert.metric === "tasks.failures" || alert.metric === "tasks.timeouts") {
    return ["scheduler", "log"];
  }
  return alert.metric === "queue.depth" ? ["scheduler", "pause"] : ["timeline", "scheduler"];
}
