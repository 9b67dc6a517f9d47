// The jobs that the server has told about, as the scheduler view lists them. Pure: instants are passed in.
import { PRIORITIES, type JobInfo, type JobState, type PriorityName, type QueueState } from "./protocol";

/** Where a job stands in the list. */
export type Section = "running" | "waiting" | "paused" | "recent";
export const SECTIONS: readonly Section[] = ["running", "waiting", "paused", "recent"];

/** As many as `headway/snapshot` gives. */
const MOST_ENDED = 50;
/** A job that has not ended takes memory until it does; a flood of them is not worth a list of its own. */
const MOST_ACTIVE = 500;
const ENDED: ReadonlySet<JobState> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

export function hasEnded(job: JobInfo): boolean {
  return ENDED.has(job.state);
}

/** Keeps the newest of each job: all that have not ended, and the newest that have. */
export class JobBook {
  private readonly jobs = new Map<string, JobInfo>();
  private paused: ReadonlySet<PriorityName> = new Set();
  private atWork: ReadonlySet<string> = new Set();

  /** Takes what is known of a job now. What has ended never changes again. */
  take(job: JobInfo): void {
    const known = this.jobs.get(job.jobId);
    if (known !== undefined && hasEnded(known) && !hasEnded(job)) {
      return;
    }
    this.jobs.set(job.jobId, job);
    this.forget(hasEnded, MOST_ENDED, (one) => one.finishedAt ?? one.createdAt);
    this.forget((one) => !hasEnded(one), MOST_ACTIVE, (one) => one.createdAt);
  }

  /** Takes which priorities are paused and which jobs have a worker now. */
  takeQueue(queue: QueueState): void {
    this.paused = new Set(queue.pausedPriorities);
    this.atWork = new Set(queue.running.map((task) => task.jobId));
  }

  /** Another server knows nothing of the jobs of the last one. */
  clear(): void {
    this.jobs.clear();
    this.paused = new Set();
    this.atWork = new Set();
  }

  job(jobId: string): JobInfo | undefined {
    return this.jobs.get(jobId);
  }

  sectionOf(job: JobInfo): Section {
    if (hasEnded(job)) {
      return "recent";
    }
    if (job.state === "PAUSED" || (this.paused.has(job.priority) && !this.atWork.has(job.jobId))) {
      return "paused";
    }
    return job.state === "PENDING" ? "waiting" : "running";
  }

  /** The jobs of a section: what goes on in the order of its start, what waits by urgency, what has ended newest first. */
  in(section: Section): JobInfo[] {
    const found = [...this.jobs.values()].filter((job) => this.sectionOf(job) === section);
    if (section === "recent") {
      return found.sort((a, b) => (b.finishedAt ?? b.createdAt) - (a.finishedAt ?? a.createdAt));
    }
    const rank = (job: JobInfo): number => (section === "running" ? 0 : PRIORITIES.indexOf(job.priority));
    return found.sort((a, b) => rank(a) - rank(b) || a.createdAt - b.createdAt);
  }

  private forget(which: (job: JobInfo) => boolean, most: number, age: (job: JobInfo) => number): void {
    const found = [...this.jobs.values()].filter(which);
    if (found.length > most) {
      const oldest = found.reduce((a, b) => (age(b) < age(a) ? b : a));
      this.jobs.delete(oldest.jobId);
    }
  }
}

/** The next priority that a person may give a job, or undefined where there is none: CRITICAL is the editor's own. */
export function shifted(priority: PriorityName, by: -1 | 1): PriorityName | undefined {
  const next = PRIORITIES[PRIORITIES.indexOf(priority) + by];
  return priority === "CRITICAL" || next === "CRITICAL" ? undefined : next;
}
