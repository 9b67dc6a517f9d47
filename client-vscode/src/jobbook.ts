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

/** Keeps the newest of each job: all that have not ended, and the newest that have. To take something in costs little. */
export class JobBook {
  private readonly active = new Map<string, JobInfo>();
  private readonly ended = new Map<string, JobInfo>();
  private paused: ReadonlySet<PriorityName> = new Set();
  private atWork: ReadonlySet<string> = new Set();
  /** The sections as they were last asked for; undefined: something has changed since. */
  private sections: Readonly<Record<Section, readonly JobInfo[]>> | undefined;

  /** Takes what is known of a job now. What has ended never changes again. */
  take(job: JobInfo): void {
    const { jobId } = job;
    if (!hasEnded(job) && this.ended.has(jobId)) {
      return;
    }
    this.sections = undefined;
    if (hasEnded(job)) {
      this.active.delete(jobId);
      this.ended.set(jobId, job);
      forgetOldest(this.ended, MOST_ENDED, (one) => one.finishedAt ?? one.createdAt);
    } else {
      this.active.set(jobId, job);
      forgetOldest(this.active, MOST_ACTIVE, (one) => one.createdAt);
    }
  }

  /** Takes which priorities are paused and which jobs have a worker now. */
  takeQueue(queue: QueueState): void {
    this.sections = undefined;
    this.paused = new Set(queue.pausedPriorities);
    this.atWork = new Set(queue.running.map((task) => task.jobId));
  }

  /** Another server knows nothing of the jobs of the last one. */
  clear(): void {
    this.sections = undefined;
    this.active.clear();
    this.ended.clear();
    this.paused = new Set();
    this.atWork = new Set();
  }

  job(jobId: string): JobInfo | undefined {
    return this.active.get(jobId) ?? this.ended.get(jobId);
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
  in(section: Section): readonly JobInfo[] {
    this.sections ??= this.sorted();
    return this.sections[section];
  }

  private sorted(): Readonly<Record<Section, readonly JobInfo[]>> {
    const found: Record<Section, JobInfo[]> = { running: [], waiting: [], paused: [], recent: [...this.ended.values()] };
    this.active.forEach((job) => found[this.sectionOf(job)].push(job));
    const byUrgency = (a: JobInfo, b: JobInfo): number =>
      PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority) || a.createdAt - b.createdAt;
    found.running.sort((a, b) => a.createdAt - b.createdAt);
    found.waiting.sort(byUrgency);
    found.paused.sort(byUrgency);
    found.recent.sort((a, b) => (b.finishedAt ?? b.createdAt) - (a.finishedAt ?? a.createdAt));
    return found;
  }
}

/** Leaves out the oldest where one is too many. */
function forgetOldest(jobs: Map<string, JobInfo>, most: number, age: (job: JobInfo) => number): void {
  if (jobs.size > most) {
    const oldest = [...jobs.values()].reduce((a, b) => (age(b) < age(a) ? b : a));
    jobs.delete(oldest.jobId);
  }
}

/** The next priority that a person may give a job, or undefined where there is none: CRITICAL is the editor's own. */
export function shifted(priority: PriorityName, by: -1 | 1): PriorityName | undefined {
  const next = PRIORITIES[PRIORITIES.indexOf(priority) + by];
  return priority === "CRITICAL" || next === "CRITICAL" ? undefined : next;
}
