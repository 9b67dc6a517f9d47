"""The `headway/*` methods and their payloads, as they stand on the wire; `docs/lsp-extensions.md` explains each.

Shapes only: keys are camelCase JSON, times are milliseconds (`…Ms`), instants Unix milliseconds, sizes MiB (`…Mb`). The
extension mirrors this module in `client-vscode/src/protocol.ts`; a test holds both and the document together.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

PROTOCOL_VERSION: Final = 1

# Server to client.
QUEUE_STATE: Final = "headway/queueState"
JOB_UPDATED: Final = "headway/jobUpdated"
ALERT: Final = "headway/alert"
# Client to server, notifications.
TRUST_GRANTED: Final = "headway/trustGranted"
# Client to server, requests.
SNAPSHOT: Final = "headway/snapshot"
SUBMIT: Final = "headway/submit"
CANCEL_JOB: Final = "headway/cancelJob"
RETRY_JOB: Final = "headway/retryJob"
SET_PRIORITY: Final = "headway/setPriority"
PAUSE: Final = "headway/pause"
RESUME: Final = "headway/resume"
SEARCH: Final = "headway/search"
TIMELINE: Final = "headway/timeline"
METRICS: Final = "headway/metrics"

# Commands of `workspace/executeCommand`.
REINDEX: Final = "headway.reindex"
PAUSE_BACKGROUND: Final = "headway.pauseBackground"
RESUME_BACKGROUND: Final = "headway.resumeBackground"
RUN_TESTS: Final = "headway.runTests"
ANALYZE_WORKSPACE: Final = "headway.analyzeWorkspace"
CLEAR_CACHE: Final = "headway.clearCache"
COMMANDS: Final = (
    REINDEX,
    PAUSE_BACKGROUND,
    RESUME_BACKGROUND,
    RUN_TESTS,
    ANALYZE_WORKSPACE,
    CLEAR_CACHE,
)

PriorityName: TypeAlias = Literal["CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH"]
ServerState: TypeAlias = Literal["starting", "idle", "busy", "paused", "degraded", "error"]
PauseReason: TypeAlias = Literal["user", "battery", "memory", "cpu"]
AlertLevel: TypeAlias = Literal["warning", "critical", "resolved"]
TestEventKind: TypeAlias = Literal[
    "found", "class", "deselected", "started", "passed", "failed", "skipped", "error", "covered", "debugger"
]
Why: TypeAlias = Literal["lexical", "semantic", "both"]


class HeadwayCapability(TypedDict):
    """`capabilities.experimental.headway` in the answer to `initialize`."""

    protocol: int
    jobTypes: list[str]
    probes: bool


class InitializationOptions(TypedDict, total=False):
    """What the client may send with `initialize`; every part may be missing."""

    settings: dict[str, Any]
    cacheDir: str
    trusted: bool


class QueueDepth(TypedDict):
    """Tasks of one level. Paused ones count as queued."""

    queued: int
    running: int


class RunningTask(TypedDict):
    """A task that has a worker now. `stuck`, only where it is true: it was ended, but what it runs does not stop."""

    taskId: str
    jobId: str
    name: str
    priority: PriorityName
    elapsedMs: float
    stuck: NotRequired[bool]


class ActiveJob(TypedDict):
    """A job that has not ended. `progress` is null while the total is not known."""

    jobId: str
    type: str
    title: str
    progress: float | None
    done: int
    total: int | None


class ResourceUse(TypedDict):
    """One resource: what there is, what running tasks hold, what is kept free for CRITICAL work."""

    total: float
    used: float
    reserved: float


class Pressure(TypedDict):
    """How pressed the machine is, 0 to 1; null where it is not known."""

    cpu: float | None
    memory: float | None
    gpu: float | None
    onBattery: bool | None


class Latency(TypedDict):
    """Answer times of one kind of request."""

    count: int
    p50Ms: float
    p95Ms: float
    p99Ms: float


class TaskTimes(TypedDict):
    """How long 95 % of the newest tasks of a priority waited and ran; null where none has ended."""

    waitP95Ms: float | None
    runP95Ms: float | None


class Indexed(TypedDict):
    """How far the index is, in short."""

    files: int
    symbols: int
    state: str


class QueueState(TypedDict):
    """`headway/queueState`: what the scheduler does, in summary."""

    seq: int
    at: float
    state: ServerState
    queues: dict[str, QueueDepth]
    pausedPriorities: list[PriorityName]
    pauseReason: PauseReason | None
    running: list[RunningTask]
    jobs: list[ActiveJob]
    resources: dict[str, ResourceUse]
    pressure: Pressure
    latency: dict[str, Latency]
    alerts: int
    message: str | None
    times: NotRequired[dict[PriorityName, TaskTimes]]
    indexed: NotRequired[Indexed]
    truncated: NotRequired[bool]


class ErrorInfo(TypedDict):
    """Why a job, task or step did not succeed."""

    kind: str
    message: str


class StepInfo(TypedDict):
    """A step of a task."""

    name: str
    state: str
    runMs: float | None
    error: ErrorInfo | None


class TaskInfo(TypedDict):
    """A task of a job."""

    taskId: str
    name: str
    state: str
    dependsOn: list[str]
    waitMs: float | None
    runMs: float | None
    attempt: int
    error: ErrorInfo | None
    steps: list[StepInfo]
    truncated: NotRequired[bool]


class JobInfo(TypedDict):
    """A JobView: `headway/jobUpdated`, and the answer to `headway/submit` (there with `result`)."""

    jobId: str
    type: str
    title: str
    priority: PriorityName
    state: str
    progress: float | None
    createdAt: float
    startedAt: float | None
    finishedAt: float | None
    attempt: int
    error: ErrorInfo | None
    tasks: list[TaskInfo]
    truncated: bool
    result: NotRequired[Any]


class Alert(TypedDict):
    """`headway/alert`: a threshold was passed, by more than before, or no longer."""

    alertId: str
    metric: str
    labels: dict[str, str]
    level: AlertLevel
    value: float
    threshold: float
    since: float
    message: str


class Worker(TypedDict):
    """A worker process."""

    pid: int
    role: str
    busy: bool
    rssMb: float | None
    restarts: int


class IndexInfo(TypedDict):
    """What the index of the workspace holds."""

    files: int
    symbols: int
    chunks: int
    bytes: int
    state: str
    skipped: dict[str, int]


class Snapshot(QueueState):
    """The answer to `headway/snapshot`: the newest QueueState and more."""

    recentJobs: list[JobInfo]
    activeAlerts: list[Alert]
    workers: list[Worker]
    index: IndexInfo
    versions: dict[str, str]


class SubmitParams(TypedDict):
    """Params of `headway/submit`."""

    type: str
    arguments: dict[str, Any]
    priority: NotRequired[PriorityName]
    title: NotRequired[str]
    workDoneToken: NotRequired[int | str]
    partialResultToken: NotRequired[int | str]


class TestPlace(TypedDict):
    """A line that a failure went through."""

    uri: str
    line: int
    message: str


class TestEvent(TypedDict):
    """What a job of type `tests` has just found or run; parts of its result come as lists of these."""

    event: TestEventKind
    folder: str
    id: str
    uri: NotRequired[str]
    line: NotRequired[int]
    durationMs: NotRequired[float]
    message: NotRequired[str]
    output: NotRequired[str]
    trace: NotRequired[list[TestPlace]]
    expected: NotRequired[str]
    actual: NotRequired[str]
    executed: NotRequired[list[list[int]]]
    missing: NotRequired[list[list[int]]]
    port: NotRequired[int]


class TestParts(TypedDict):
    """The value of `$/progress` under a `partialResultToken` of a job of type `tests`."""

    tests: list[TestEvent]


class JobParams(TypedDict):
    """Params of `headway/cancelJob` and `headway/retryJob`."""

    jobId: str


class SetPriorityParams(TypedDict):
    """Params of `headway/setPriority`."""

    jobId: str
    priority: PriorityName


class PauseParams(TypedDict, total=False):
    """Params of `headway/pause` and `headway/resume`."""

    priorities: list[PriorityName]


class SearchParams(TypedDict):
    """Params of `headway/search`."""

    query: str
    limit: NotRequired[int]
    path: NotRequired[str]
    kinds: NotRequired[list[str]]
    languages: NotRequired[list[str]]
    partialResultToken: NotRequired[int | str]


class SearchHit(TypedDict):
    """A definition that answers a query."""

    uri: str
    range: dict[str, Any]
    selectionRange: dict[str, Any]
    name: str
    kind: str
    container: str | None
    score: float
    snippet: str
    why: Why


class MeaningInfo(TypedDict):
    """How search by meaning stands; `coverage` is the share of the indexed files that have vectors."""

    state: Literal["off", "building", "complete", "unavailable"]
    coverage: float


class SearchResult(TypedDict):
    """The answer to `headway/search`."""

    hits: list[SearchHit]
    state: Literal["complete", "indexing"]
    coverage: float
    meaning: MeaningInfo


class TimelineParams(TypedDict, total=False):
    """Params of `headway/timeline`."""

    sinceMs: float


class Answered(TypedDict):
    """An answer that a person waited for."""

    at: float
    tookMs: float


class Timeline(TypedDict):
    """The answer to `headway/timeline`: trace events, and what else a timeline shows."""

    traceEvents: list[dict[str, Any]]
    originAt: float
    queueState: QueueState
    workers: list[Worker]
    completions: list[Answered]
    completionSlaMs: float | None
