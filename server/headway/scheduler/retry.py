"""Whether and when a failed attempt is repeated. Pure: time and chance are arguments.

Errors are classified by type, by the table `CLASSES` that users extend with `classify`; never by their message.
"""

from __future__ import annotations

import errno
import math
from typing import Final

from headway.scheduler.config import RetryDefaults
from headway.scheduler.errors import StepError
from headway.scheduler.model import ErrorKind, Failure, Jitter, RetryPolicy

RETRYABLE: Final = frozenset(
    {
        ErrorKind.NETWORK,
        ErrorKind.TIMEOUT,
        ErrorKind.SERVICE_UNAVAILABLE,
        ErrorKind.RATE_LIMITED,
        ErrorKind.RESOURCE_BUSY,
    }
)
# Tried again only where the caller gave a number, or as `may_retry` says.
ON_REQUEST: Final = frozenset({ErrorKind.UNKNOWN})
# The other side is alive and asks for patience.
_PATIENT: Final = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.RESOURCE_BUSY})

CLASSES: Final[dict[type[BaseException], ErrorKind]] = {
    TimeoutError: ErrorKind.TIMEOUT,
    ConnectionError: ErrorKind.NETWORK,
    EOFError: ErrorKind.NETWORK,
    BlockingIOError: ErrorKind.RESOURCE_BUSY,
    PermissionError: ErrorKind.PERMISSION_DENIED,
    FileNotFoundError: ErrorKind.NOT_FOUND,
    NotADirectoryError: ErrorKind.NOT_FOUND,
    IsADirectoryError: ErrorKind.INVALID_INPUT,
    ModuleNotFoundError: ErrorKind.NOT_FOUND,
    MemoryError: ErrorKind.OUT_OF_MEMORY,
    UnicodeError: ErrorKind.DATA_CORRUPTION,
    ValueError: ErrorKind.INVALID_INPUT,
    TypeError: ErrorKind.INVALID_INPUT,
    NotImplementedError: ErrorKind.INVALID_INPUT,
}
# Of exceptions whose module need not be loaded; the names are looked up along the MRO.
CLASS_NAMES: Final[dict[str, ErrorKind]] = {
    "sqlite3.OperationalError": ErrorKind.RESOURCE_BUSY,
    "sqlite3.DatabaseError": ErrorKind.DATA_CORRUPTION,
    "socket.gaierror": ErrorKind.NETWORK,
    "ssl.SSLError": ErrorKind.NETWORK,
    "json.decoder.JSONDecodeError": ErrorKind.DATA_CORRUPTION,
    "pickle.PickleError": ErrorKind.INVALID_INPUT,
    "zlib.error": ErrorKind.DATA_CORRUPTION,
}
_ERRNO: Final[dict[int, ErrorKind]] = {
    errno.EAGAIN: ErrorKind.RESOURCE_BUSY,
    errno.EBUSY: ErrorKind.RESOURCE_BUSY,
    errno.EMFILE: ErrorKind.RESOURCE_BUSY,
    errno.ENFILE: ErrorKind.RESOURCE_BUSY,
    errno.ENOMEM: ErrorKind.OUT_OF_MEMORY,
    errno.ENETUNREACH: ErrorKind.NETWORK,
    errno.EHOSTUNREACH: ErrorKind.NETWORK,
    errno.ETIMEDOUT: ErrorKind.TIMEOUT,
}


def classify(kind: type[BaseException], as_kind: ErrorKind) -> None:
    """Say what failures of an exception type (and its subclasses) count as, here and in workers that import you."""
    CLASSES[kind] = as_kind


def kind_of(error: BaseException) -> ErrorKind:
    """Return the kind of an exception: its own word, else the nearest class in the tables, else its errno."""
    if isinstance(error, StepError):
        return error.kind
    for base in type(error).__mro__:
        found = CLASSES.get(base) or CLASS_NAMES.get(f"{base.__module__}.{base.__qualname__}")
        if found is not None:
            return found
        if base is OSError and isinstance(error, OSError):
            return _ERRNO.get(error.errno or 0, ErrorKind.UNKNOWN)
    return ErrorKind.UNKNOWN


def may_retry(failure: Failure, attempts: int, policy: RetryPolicy, defaults: RetryDefaults) -> bool:
    """Return whether a task that has run `attempts` times (at least 1) and failed so may run again.

    A worker that died, and memory that ran out, are repeated once where the caller gave no number; memory never more
    than once. The caller's number wins over the default of the priority, never over the kind.
    """
    kind = failure.kind
    given = policy.max_retries
    if kind is ErrorKind.OUT_OF_MEMORY:
        return attempts <= min(1, 1 if given is None else given)
    if kind is ErrorKind.WORKER_DIED:
        return attempts <= (1 if given is None else given)
    if kind in RETRYABLE:
        return attempts <= (defaults.max_retries if given is None else given)
    return kind in ON_REQUEST and given is not None and attempts <= given


def backoff_s(attempt: int, policy: RetryPolicy, draw: float) -> float:
    """Return the delay before the next attempt.

    Args:
        attempt: Failures so far, at least 1.
        policy: Base, factor, cap and jitter.
        draw: Uniform sample in [0, 1), passed in to keep this pure.

    Returns:
        Seconds, in [0, policy.cap_s].

    Raises:
        ValueError: attempt is below 1.

    Source: M. Brooker, "Exponential Backoff and Jitter" (full jitter), 2015.
    """
    if attempt < 1:
        raise ValueError(f"attempt {attempt} is below 1")
    # The exponent is bounded so that a long failing streak does not overflow.
    plain = min(policy.cap_s, policy.base_s * policy.factor ** min(attempt - 1, 64))
    if policy.jitter is Jitter.FULL:
        return plain * draw
    return min(policy.cap_s, plain * (1 + policy.jitter_share * (2 * draw - 1)))


def delay_s(failure: Failure, attempt: int, policy: RetryPolicy, stretch: float, draw: float) -> float:
    """Return how long a task waits before its next attempt: backoff by priority, twice for who asks for patience.

    The time that the other side named is always waited for in full, also beyond the cap.
    """
    delay = backoff_s(attempt, policy, draw) * stretch
    if failure.kind in _PATIENT:
        delay *= 2
    delay = min(delay, policy.cap_s)
    return max(delay, failure.retry_after_s or 0.0)


class RetryBudget:
    """Keeps the retries against one dependency below a share of the requests to it.

    Source: Finagle's RetryBudget (a token bucket filled by requests, emptied by retries).
    """

    __slots__ = ("_most", "_share", "_tokens")

    def __init__(self, share: float, floor: int) -> None:
        self._share = share
        self._tokens = float(floor)
        self._most = max(10.0, float(floor))

    def request(self) -> None:
        """Count a first attempt."""
        self._tokens = min(self._most, self._tokens + self._share)

    def spend(self) -> bool:
        """Take the right to one retry. False: the budget is used up."""
        if self._tokens < 1 - 1e-9:
            return False
        self._tokens -= 1
        return True


class Breaker:
    """Leaves a dependency alone that keeps failing, then lets one try through to see.

    Source: M. Nygard, "Release It!", circuit breaker.
    """

    __slots__ = ("_failures", "_limit", "_open_s", "_probing", "opened_at_s")

    def __init__(self, failures: int, open_s: float) -> None:
        self._limit = failures
        self._open_s = open_s
        self._failures = 0
        self._probing = False
        self.opened_at_s = -math.inf

    @property
    def is_open(self) -> bool:
        return self._failures >= self._limit

    def wait_s(self, now_s: float) -> float:
        """Return how long to leave the dependency alone; 0: a request may go out now (and should then be `sent`)."""
        if not self.is_open:
            return 0.0
        if self._probing:
            # The one try that is out decides; look again in a while.
            return self._open_s
        return max(0.0, self.opened_at_s + self._open_s - now_s)

    def sent(self) -> None:
        self._probing = self.is_open

    def succeeded(self) -> None:
        self._failures = 0
        self._probing = False

    def failed(self, now_s: float) -> None:
        self._failures += 1
        self._probing = False
        if self.is_open:
            self.opened_at_s = now_s

    def given_up(self) -> None:
        """Note that a request ended without telling anything about the dependency (it was cancelled)."""
        self._probing = False
