"""What clients submit, entered in the order in which it came, however long the reading of one of them takes.

What is read at once is entered at once. What takes longer is read in turns with the rest of the loop, and what comes
behind it waits for it, so that nobody overtakes. Knows nothing of what is submitted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from headway.session.ports import Submission, Submitted

_TURN_S: Final = 0.003


class Submitting:
    """See the module; used on the loop.

    Args:
        enter: Submits, or raises why not.
    """

    def __init__(self, enter: Callable[[Submission], Submitted]) -> None:
        self._enter = enter
        self._line: deque[tuple[Iterator[Submission | None], asyncio.Future[Submitted]]] = deque()

    def take(self, made: Submission | Iterator[Submission | None]) -> Submitted | asyncio.Future[Submitted]:
        """Enter a submission, now or in its turn.

        Args:
            made: A submission, or what gives one in the end and before that, every millisecond or so, None.

        Returns:
            What was submitted; a future of it where that takes longer. Whoever cancels the future gives it up.

        Raises:
            InvalidArgumentError, SubmissionError: It is refused. A future has these as its exception.
        """
        if isinstance(made, Submission):
            if not self._line:
                return self._enter(made)
            made = iter((made,))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Submitted] = loop.create_future()
        self._line.append((made, future))
        if len(self._line) == 1:
            loop.call_soon(self._work)
        return future

    def _work(self) -> None:
        loop = asyncio.get_running_loop()
        making, future = self._line[0]
        until_s = loop.time() + _TURN_S
        while not future.done():
            try:
                found = next(making)
                if found is not None:
                    future.set_result(self._enter(found))
            except Exception as error:  # noqa: BLE001 - Whatever it is, it is the answer to the request that asked.
                future.set_exception(error)
            if loop.time() >= until_s:
                break
        if future.done():
            self._line.popleft()
        if self._line:
            loop.call_soon(self._work)
