// Jobs to try the scheduler view's parts on.
import type { JobInfo, QueueState, TaskInfo } from "../src/protocol";

export const TASK: TaskInfo = {
  taskId: "j-1.0",
  name: "parse a.py",
  state: "RUNNING",
  dependsOn: [],
  waitMs: 3,
  runMs: 250,
  attempt: 2,
  error: null,
  steps: [
    { name: "read", state: "COMPLETED", runMs: 1, error: null },
    { name: "parse", state: "RUNNING", runMs: 249, error: null },
  ],
};

export const JOB: JobInfo = {
  jobId: "j-1",
  type: "index",
  title: "Index shop",
  priority: "BATCH",
  state: "RUNNING",
  progress: 0.42,
  createdAt: 1000,
  startedAt: 2000,
  finishedAt: null,
  attempt: 1,
  error: null,
  tasks: [TASK],
  truncated: false,
};

export const FAILED: JobInfo = {
  ...JOB,
  jobId: "j-2",
  title: "Run tests",
  type: "tests",
  priority: "LOW",
  state: "FAILED",
  finishedAt: 2500,
  error: { kind: "not_found", message: "pytest is missing\nInstall it." },
  tasks: [],
};

const NONE = { queued: 0, running: 0 };

export const queue = (paused: QueueState["pausedPriorities"], atWork: readonly string[]): QueueState => ({
  seq: 1,
  at: 0,
  state: "busy",
  queues: { CRITICAL: NONE, HIGH: NONE, NORMAL: NONE, LOW: NONE, BATCH: NONE },
  pausedPriorities: paused,
  pauseReason: "user",
  running: atWork.map((jobId) => ({ taskId: `${jobId}.0`, jobId, name: "", priority: "BATCH", elapsedMs: 1 })),
  jobs: [],
  resources: {},
  pressure: { cpu: null, memory: null, gpu: null, onBattery: null },
  latency: {},
  alerts: 0,
  message: null,
});
