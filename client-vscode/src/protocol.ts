// The `headway/*` methods and payloads. Mirrors server/headway/lsp/protocol.py, name by name and key by key; a test holds
// both together. docs/lsp-extensions.md says what they mean. Times are milliseconds, instants Unix milliseconds, sizes MiB.
import type { WorkDone } from "./patience";

export const PROTOCOL_VERSION = 1;

export const QUEUE_STATE = "headway/queueState";
export const JOB_UPDATED = "headway/jobUpdated";
export const ALERT = "headway/alert";
export const TRUST_GRANTED = "headway/trustGranted";
export const SNAPSHOT = "headway/snapshot";
export const SUBMIT = "headway/submit";
export const CANCEL_JOB = "headway/cancelJob";
export const RETRY_JOB = "headway/retryJob";
export const SET_PRIORITY = "headway/setPriority";
export const PAUSE = "headway/pause";
export const RESUME = "headway/resume";
export const SEARCH = "headway/search";
export const TIMELINE = "headway/timeline";
export const METRICS = "headway/metrics";

export const REINDEX = "headway.reindex";
export const PAUSE_BACKGROUND = "headway.pauseBackground";
export const RESUME_BACKGROUND = "headway.resumeBackground";
export const RUN_TESTS = "headway.runTests";
export const ANALYZE_WORKSPACE = "headway.analyzeWorkspace";
export const CLEAR_CACHE = "headway.clearCache";

export const PRIORITIES = ["CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH"] as const;
export type PriorityName = (typeof PRIORITIES)[number];
export type ServerState = "starting" | "idle" | "busy" | "paused" | "degraded" | "error";
export type PauseReason = "user" | "battery" | "memory" | "cpu";
export type AlertLevel = "warning" | "critical" | "resolved";
export type Why = "lexical" | "semantic" | "both";
export type JobState = "PENDING" | "RUNNING" | "PAUSED" | "COMPLETED" | "FAILED" | "CANCELLED";

export interface HeadwayCapability {
  readonly protocol: number;
  readonly jobTypes: readonly string[];
  readonly probes: boolean;
}

export interface InitializationOptions {
  readonly settings?: unknown;
  readonly cacheDir?: string;
  readonly trusted?: boolean;
}

export interface QueueDepth {
  readonly queued: number;
  readonly running: number;
}

export interface RunningTask {
  readonly taskId: string;
  readonly jobId: string;
  readonly name: string;
  readonly priority: PriorityName;
  readonly elapsedMs: number;
  readonly stuck?: boolean;
}

/** A job that goes on. `progress` is 0…1; it and `total` are null while the total is not known. */
export interface ActiveJob {
  readonly jobId: string;
  readonly type: string;
  readonly title: string;
  readonly progress: number | null;
  readonly done: number;
  readonly total: number | null;
}

export interface ResourceUse {
  readonly total: number;
  readonly used: number;
  readonly reserved: number;
}

/** How pressed the machine is, 0…1; null where it is not known. */
export interface Pressure {
  readonly cpu: number | null;
  readonly memory: number | null;
  readonly gpu: number | null;
  readonly onBattery: boolean | null;
}

export interface Latency {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** How long 95 % of the newest tasks of a priority waited and ran; null where none has ended. */
export interface TaskTimes {
  readonly waitP95Ms: number | null;
  readonly runP95Ms: number | null;
}

export interface Indexed {
  readonly files: number;
  readonly symbols: number;
  readonly state: string;
}

export interface QueueState {
  readonly seq: number;
  readonly at: number;
  readonly state: ServerState;
  readonly queues: Readonly<Record<PriorityName, QueueDepth>>;
  readonly pausedPriorities: readonly PriorityName[];
  readonly pauseReason: PauseReason | null;
  readonly running: readonly RunningTask[];
  readonly jobs: readonly ActiveJob[];
  readonly resources: Readonly<Record<string, ResourceUse>>;
  readonly pressure: Pressure;
  readonly latency: Readonly<Record<string, Latency>>;
  readonly alerts: number;
  readonly message: string | null;
  readonly times?: Readonly<Record<PriorityName, TaskTimes>>;
  readonly indexed?: Indexed;
  readonly truncated?: boolean;
}

export interface ErrorInfo {
  readonly kind: string;
  readonly message: string;
}

export interface StepInfo {
  readonly name: string;
  readonly state: string;
  readonly runMs: number | null;
  readonly error: ErrorInfo | null;
}

export interface TaskInfo {
  readonly taskId: string;
  readonly name: string;
  readonly state: string;
  readonly dependsOn: readonly string[];
  readonly waitMs: number | null;
  readonly runMs: number | null;
  readonly attempt: number;
  readonly error: ErrorInfo | null;
  readonly steps: readonly StepInfo[];
  readonly truncated?: boolean;
}

export interface JobInfo {
  readonly jobId: string;
  readonly type: string;
  readonly title: string;
  readonly priority: PriorityName;
  readonly state: JobState;
  readonly progress: number | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly attempt: number;
  readonly error: ErrorInfo | null;
  readonly tasks: readonly TaskInfo[];
  readonly truncated: boolean;
  readonly result?: unknown;
}

export interface Alert {
  readonly alertId: string;
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly level: AlertLevel;
  readonly value: number;
  readonly threshold: number;
  readonly since: number;
  readonly message: string;
}

export interface Worker {
  readonly pid: number;
  readonly role: string;
  readonly busy: boolean;
  readonly rssMb: number | null;
  readonly restarts: number;
}

export interface IndexInfo {
  readonly files: number;
  readonly symbols: number;
  readonly chunks: number;
  readonly bytes: number;
  readonly state: string;
  readonly skipped: Readonly<Record<string, number>>;
}

export interface Snapshot extends QueueState {
  readonly recentJobs: readonly JobInfo[];
  readonly activeAlerts: readonly Alert[];
  readonly workers: readonly Worker[];
  readonly index: IndexInfo;
  readonly versions: Readonly<Record<string, string>>;
}

export interface SubmitParams {
  readonly type: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly priority?: PriorityName;
  readonly title?: string;
  readonly workDoneToken?: number | string;
  readonly partialResultToken?: number | string;
}

export type TestEventKind = "found" | "class" | "deselected" | "started" | "passed" | "failed" | "skipped" | "error" | "covered" | "debugger";

/** A line that a failure went through, counted from 0. */
export interface TestPlace {
  readonly uri: string;
  readonly line: number;
  readonly message: string;
}

/** What a job of type `tests` has just found or run. `id` is pytest's, relative to `folder`. */
export interface TestEvent {
  readonly event: TestEventKind;
  readonly folder: string;
  readonly id: string;
  readonly uri?: string;
  readonly line?: number;
  readonly durationMs?: number;
  readonly message?: string;
  readonly output?: string;
  readonly trace?: readonly TestPlace[];
  readonly expected?: string;
  readonly actual?: string;
  readonly executed?: readonly (readonly number[])[];
  readonly missing?: readonly (readonly number[])[];
  /** Where a debugger is waited for on the server's machine. */
  readonly port?: number;
}

/** The value of `$/progress` under a `partialResultToken` of a job of type `tests`. */
export interface TestParts {
  readonly tests: readonly TestEvent[];
}

export interface JobParams {
  readonly jobId: string;
}

export interface SetPriorityParams {
  readonly jobId: string;
  readonly priority: PriorityName;
}

export interface PauseParams {
  readonly priorities?: readonly PriorityName[];
}

export interface TimelineParams {
  readonly sinceMs?: number;
}

/** One event of the Chrome trace-event format; `ts` and `dur` are microseconds. */
export interface TraceEvent {
  readonly ph: string;
  readonly name: string;
  readonly tid: number;
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface Answered {
  readonly at: number;
  readonly tookMs: number;
}

export interface Timeline {
  readonly traceEvents: readonly TraceEvent[];
  readonly originAt: number;
  readonly queueState: QueueState;
  readonly workers: readonly Worker[];
  readonly completions: readonly Answered[];
  readonly completionSlaMs: number | null;
}

/** What `headway/pause` and `headway/resume` answer. */
export interface Paused {
  readonly pausedPriorities: readonly PriorityName[];
}

/** The result of a job of type `tests`. */
export interface TestsResult {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly errors: number;
  readonly collected: number;
  readonly canCover: boolean;
  /** Names of files that hold tests, as pytest is configured. */
  readonly patterns: readonly string[];
}

/** The result of a job of type `analysis`. */
export interface AnalysisResult {
  readonly files: number;
  readonly diagnostics: number;
}

export interface SearchParams {
  readonly query: string;
  readonly limit?: number;
  readonly path?: string;
  readonly kinds?: readonly string[];
  readonly languages?: readonly string[];
  readonly partialResultToken?: number | string;
}

export interface Place {
  readonly line: number;
  readonly character: number;
}

/** A definition that answers a query: `range` is the whole of it, `selectionRange` its name. */
export interface SearchHit {
  readonly uri: string;
  readonly range: { readonly start: Place; readonly end: Place };
  readonly selectionRange: { readonly start: Place; readonly end: Place };
  readonly name: string;
  readonly kind: string;
  readonly container: string | null;
  readonly score: number;
  readonly snippet: string;
  readonly why: Why;
}

export interface SearchParts {
  readonly hits: readonly SearchHit[];
}

export interface MeaningInfo {
  readonly state: "off" | "building" | "complete" | "unavailable";
  readonly coverage: number;
}

/** `coverage` is the share of the workspace that is indexed. */
export interface SearchResult {
  readonly hits: readonly SearchHit[];
  readonly state: "complete" | "indexing";
  readonly coverage: number;
  readonly meaning: MeaningInfo;
}

type Empty = Readonly<Record<string, never>>;

/** A request's method, with the types of its params and its result, which exist at compile time only. */
export interface Request<Params, Result> {
  readonly method: string;
  readonly types?: (params: Params) => Result;
}

/** A request that also answers bit by bit, under a `partialResultToken`. */
export interface Streamed<Params, Result, Part> extends Request<Params, Result> {
  readonly parts?: (part: Part) => void;
}

export const snapshot: Request<Empty, Snapshot> = { method: SNAPSHOT };
export const submit: Request<SubmitParams, JobInfo> = { method: SUBMIT };
export const search: Streamed<SearchParams, SearchResult, SearchParts> = { method: SEARCH };
export const watched: Streamed<SubmitParams, JobInfo, WorkDone> = { method: SUBMIT };
export const runTests: Streamed<SubmitParams, JobInfo, TestParts> = { method: SUBMIT };
export const cancelJob: Request<JobParams, { readonly cancelled: boolean }> = { method: CANCEL_JOB };
export const retryJob: Request<JobParams, JobParams> = { method: RETRY_JOB };
export const setPriority: Request<SetPriorityParams, { readonly changed: boolean }> = { method: SET_PRIORITY };
export const pause: Request<PauseParams, Paused> = { method: PAUSE };
export const resume: Request<PauseParams, Paused> = { method: RESUME };
export const timeline: Request<TimelineParams, Timeline> = { method: TIMELINE };
