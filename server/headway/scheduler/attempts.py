"""What becomes of a failed attempt: again, when, or not; with a budget and a breaker per dependency. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.model import ErrorKind, Failure, Priority, Task
from headway.scheduler.records import TaskRecord
from headway.scheduler.retry import RETRYABLE, Breaker, RetryBudget, delay_s, may_retry

_INTERACTIVE = (Priority.CRITICAL, Priority.HIGH)


@dataclass(frozen=True, slots=True)
class Again:
    """The task runs again after a delay."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Over:
    """The task has failed for good."""

    failure: Failure


class Attempts:
    """Decides about failed attempts, and knows how the outside things fare that tasks depend on.

    Args:
        config: Numbers of retries by priority, budgets, breakers.
        draw: Uniform samples in [0, 1).
    """

    def __init__(self, config: SchedulerConfig, draw: Callable[[], float]) -> None:
        self._config = config
        self._draw = draw
        self._budgets: dict[str, RetryBudget] = {}
        self._breakers: dict[str, Breaker] = {}

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold. Budgets and breakers of dependencies that are known keep theirs."""
        self._config = config

    def could_retry(self, record: TaskRecord, failure: Failure) -> bool:
        """Return whether the number of retries allows one more, whatever a budget says."""
        return may_retry(failure, record.attempt, record.task.retry, self._config.retries[record.priority])

    def after_failure(self, record: TaskRecord, failure: Failure, now_s: float) -> Again | Over:
        """Decide about a task whose present attempt has failed."""
        policy = record.task.retry
        defaults = self._config.retries[record.priority]
        if failure.kind is ErrorKind.WORKER_DIED:
            record.deaths += 1
            if record.deaths >= self._config.quarantine_after_deaths:
                return Over(_quarantined(failure, record.deaths))
        if record.job.stopped or not may_retry(failure, record.attempt, policy, defaults):
            return Over(failure)
        if policy.dependency is not None and not self._budget(policy.dependency).spend():
            return Over(failure)
        delay = delay_s(failure, record.attempt, policy, defaults.stretch, self._draw())
        if now_s + delay >= record.pays_until_s:
            return Over(failure)
        return Again(delay)

    def hold_s(self, task: Task, now_s: float) -> float:
        """Return how long a task must leave its dependency alone; 0: it may start, and counts as sent."""
        dependency = task.retry.dependency
        if dependency is None:
            return 0.0
        breaker = self._breaker(dependency)
        wait_s = breaker.wait_s(now_s)
        if wait_s <= 0:
            breaker.sent()
        return wait_s

    def fails_fast(self, priority: Priority) -> bool:
        """Return whether work of a priority fails at once where its dependency is left alone, instead of waiting."""
        return priority in _INTERACTIVE

    def first_attempt(self, task: Task) -> None:
        if task.retry.dependency is not None:
            self._budget(task.retry.dependency).request()

    def ended(self, task: Task, failure: Failure | None, now_s: float) -> None:
        """Note how an attempt ended, for the breaker of what it depends on."""
        dependency = task.retry.dependency
        if dependency is None:
            return
        breaker = self._breaker(dependency)
        if failure is None:
            breaker.succeeded()
        elif failure.kind in RETRYABLE:
            breaker.failed(now_s)
        else:
            breaker.given_up()

    def _budget(self, dependency: str) -> RetryBudget:
        budget = self._budgets.get(dependency)
        if budget is None:
            budget = RetryBudget(self._config.retry_budget_share, self._config.retry_budget_floor)
            self._budgets[dependency] = budget
        return budget

    def _breaker(self, dependency: str) -> Breaker:
        breaker = self._breakers.get(dependency)
        if breaker is None:
            breaker = Breaker(self._config.breaker_failures, self._config.breaker_open_s)
            self._breakers[dependency] = breaker
        return breaker


def _quarantined(failure: Failure, deaths: int) -> Failure:
    return Failure(
        kind=failure.kind,
        message=f"{failure.message}; it ended {deaths} worker processes and is not tried again",
        type_name=failure.type_name,
        traceback=failure.traceback,
    )
