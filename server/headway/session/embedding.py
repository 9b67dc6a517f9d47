"""One job that gives the files of some folders vectors: what its tasks are, and what becomes of their results.

The source looks for files that lack vectors, reads some, asks the endpoint for what is new in them, keeps the answers,
and goes on. What is kept is kept for good, so that a job that ends early, whatever ended it, lost nothing: the next one
goes on from there. Changed on the loop only.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from headway.engines import embedder, local_model
from headway.engines.embedder import Gathered, Kept, Lacking, Request
from headway.engines.embeddings import Answer, Endpoint, EndpointConfig, Setback, request_body
from headway.scheduler.model import StepKind, Task
from headway.session.answers import Answers
from headway.session.pace import Pace
from headway.settings import EmbeddingsSettings
from headway.workspace.opened import FolderSpec
from headway.workspace.vector_store import VectorsSpec

_REQUEST_LIMIT_S: Final = 50.0
# Longer than this a job does not stand still: it ends, and another one begins when it is time.
_LONGEST_STANDSTILL_S: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What embedding is done with, as long as the settings are the same."""

    settings: EmbeddingsSettings
    config: EndpointConfig
    endpoint: Endpoint | None  # None: the model on this machine
    vectors: VectorsSpec
    pace: Pace

    @property
    def server(self) -> str:
        """Whom vectors are asked of, for people."""
        return local_model.SERVER if self.endpoint is None else self.endpoint.server

    @property
    def passages(self) -> Callable[..., Any]:
        """What gives passages vectors: a coroutine function, or, for the model here, a function for a worker."""
        return local_model.answer_passages if self.endpoint is None else self.endpoint.ask

    @property
    def query(self) -> Callable[..., Any]:
        """The same for a query."""
        return local_model.answer_query if self.endpoint is None else self.endpoint.ask


class Embedding:
    """See the module. `ask(...)` of `answers` makes its tasks.

    Args:
        specs: The folders, each with a name for people.
        counted: Called with how many files lack vectors, when that is known.
    """

    def __init__(
        self, kit: Kit, answers: Answers, specs: Sequence[tuple[str, FolderSpec]], counted: Callable[[int], None]
    ) -> None:
        self.total = 0  # indexed files
        self.left = 0  # of those, without vectors
        self.setback: Setback | None = None  # why it ended early, where the endpoint is the reason
        self.trouble: str | None = None  # the same, where the disk is
        self.is_heard = False  # the endpoint has answered
        self._kit = kit
        self._answers = answers
        self._specs = specs
        self._counted = counted
        self._plans: list[tuple[str, FolderSpec, Lacking]] = []
        self._is_dropped = False  # all vectors that there were: they were another model's
        self._waiting: deque[Request] = deque()
        self._came: deque[tuple[Request, bytes | None]] = deque()
        self._out = 0  # tasks that are under way
        self._asked = 0  # requests among them
        self._numbers = 0
        self._news = asyncio.Event()

    def gives_up(self) -> bool:
        """Say whether it ends before all is done."""
        return self.setback is not None or self.trouble is not None

    async def tasks(self) -> AsyncIterator[Task]:
        """Give the tasks, one after another."""
        async for task in self._look():
            yield task
        if not self.left or self.gives_up():
            return
        async for task in self._model():
            yield task
        if self._is_dropped:
            async for task in self._look():
                yield task
        for name, spec, found in self._plans:
            for batch in found.batches:
                if self.gives_up():
                    return
                async for task in self._batch(name, spec, batch):
                    yield task

    async def _look(self) -> AsyncIterator[Task]:
        """Find out which files lack vectors."""
        self._plans.clear()
        for name, spec in self._specs:
            task, answer = self._asking(f"what of {name} lacks vectors", embedder.lacking, spec, self._kit.vectors)
            yield task
            found: Lacking | None = await answer
            if found is None or found.trouble is not None:
                self.trouble = found.trouble if found is not None else "the index could not be read"
                return
            self._plans.append((name, spec, found))
        self.total = sum(found.total for _, _, found in self._plans)
        self.left = sum(found.files for _, _, found in self._plans)
        self._counted(self.left)

    async def _model(self) -> AsyncIterator[Task]:
        """Find out whether the endpoint answers, and as the model that it was."""
        kit = self._kit
        body = request_body(kit.config, [embedder.SENTINEL])
        while not self.gives_up():
            task, asked = self._asking("ask the endpoint", kit.passages, body, _REQUEST_LIMIT_S, is_request=True)
            yield task
            answer: Answer | Setback | None = await asked
            if isinstance(answer, Answer):
                self.is_heard = True
                task, checked = self._asking(
                    "look at the model", embedder.check_model, kit.vectors, answer.body, kit.settings.query_prefix
                )
                yield task
                kept: Kept | None = await checked
                if kept is None or kept.trouble is not None:
                    self.trouble = kept.trouble if kept is not None else "the vectors could not be opened"
                else:
                    self._is_dropped = kept.is_dropped
                return
            self._failed(answer)
            if answer is not None and answer.kind == "unfit":
                self.setback = answer  # If it does not take one short sentence, it will take nothing.
            if not self.gives_up():
                await asyncio.sleep(kit.pace.wait_s(self._now_s()))

    async def _batch(self, name: str, spec: FolderSpec, batch: str) -> AsyncIterator[Task]:
        kit = self._kit
        size, prefix = kit.pace.size(kit.settings.batch_size), kit.settings.passage_prefix
        task, answer = self._asking(
            f"read {name}/{batch.partition(chr(0))[0]}",
            embedder.gather,
            *(spec, kit.vectors, kit.config, prefix, size, batch),
        )
        yield task
        gathered: Gathered | None = await answer
        if gathered is None or gathered.trouble is not None:
            self.trouble = gathered.trouble if gathered is not None else "files could not be read"
            return
        self._waiting.extend(gathered.requests)
        while (step := await self._next()) is not None:
            yield step
        files = batch.count("\0") + 1
        # What is here is noted also where the endpoint failed: those files are done.
        task, settled = self._asking("note files", embedder.settle, kit.vectors, gathered.contents, weight=files)
        yield task
        done: int | None = await settled
        self.left = max(0, self.left - (done or 0))

    async def _next(self) -> Task | None:
        """Return the next request, or the keeping of an answer, as soon as its time has come; None: all is done."""
        kit = self._kit
        while True:
            if self._came:
                request, answer = self._came.popleft()
                keep = partial(self._kept, request)
                task, _ = self._asking(
                    "keep vectors", embedder.keep, kit.vectors, kit.config, request, answer, take=keep
                )
                return task
            if self.gives_up():
                self._waiting.clear()
            wait_s = kit.pace.wait_s(self._now_s())
            may_ask = self._asked < kit.pace.limit and not kit.pace.queries
            if self._waiting and may_ask and not wait_s:
                request = self._waiting.popleft()
                take = partial(self._answered, request)
                body = request.body
                task, _ = self._asking("ask", kit.passages, body, _REQUEST_LIMIT_S, take=take, is_request=True)
                return task
            if not self._waiting and not self._out:
                return None
            self._news.clear()
            try:
                async with asyncio.timeout(wait_s if self._waiting and wait_s else None):
                    await self._news.wait()
            except TimeoutError:
                continue

    def _asking(
        self,
        what: str,
        call: Callable[..., Any],
        *args: Any,
        take: Callable[[Any], None] | None = None,
        weight: float = 0.0,
        is_request: bool = False,
    ) -> tuple[Task, asyncio.Future[Any]]:
        self._numbers += 1
        self._out += 1
        self._asked += is_request

        def took(value: Any) -> None:
            self._out -= 1
            self._asked -= is_request
            if take is not None:
                take(value)
            self._news.set()

        kind = StepKind.ASYNC if is_request and self._kit.endpoint is not None else StepKind.PROCESS
        return self._answers.asking(f"embed {self._numbers}: {what}", call, *args, kind=kind, take=took, weight=weight)

    def wake(self) -> None:
        """Look again whether something may be sent."""
        self._news.set()

    def _answered(self, request: Request, answer: Answer | Setback | None) -> None:
        if isinstance(answer, Answer):
            self._kit.pace.succeeded(len(request.keys), answer.took_s)
            self._came.append((request, answer.body))
            return
        self._failed(answer)
        kind = "unavailable" if answer is None else answer.kind
        is_last_try = kind == "unfit" and request.tries > 0
        if is_last_try or (kind == "slow" and len(request.keys) > 1):
            self._came.append((request, None))  # Smaller ones may be taken, or be quicker.
        else:
            self._waiting.appendleft(replace(request, tries=request.tries + (kind == "unfit")))

    def _failed(self, setback: Setback | None) -> None:
        pace, now_s = self._kit.pace, self._now_s()
        setback = setback or Setback(kind="unavailable", reason="the request was broken off")
        match setback.kind:
            case "refused":
                self.setback = setback
            case "unavailable":
                pace.unavailable(now_s, random.random())
            case "overloaded" | "slow":
                pace.overloaded(now_s, setback.retry_after_s, random.random())
            case "unfit":
                pass
        if pace.wait_s(now_s) > _LONGEST_STANDSTILL_S:
            self.setback = setback

    def _kept(self, request: Request, kept: Kept | None) -> None:
        if kept is None:
            self.trouble = "vectors could not be kept"
        elif kept.trouble is not None:
            self.trouble = kept.trouble
        else:
            self._waiting.extendleft(reversed(kept.again))

    @staticmethod
    def _now_s() -> float:
        return asyncio.get_running_loop().time()
