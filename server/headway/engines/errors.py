"""What can go wrong with an engine, one class for each reaction of a caller."""

from __future__ import annotations


class EngineError(Exception):
    """Base of all refusals of an engine; catch it to fall back on what is known without it."""


class EngineUnavailableError(EngineError):
    """The engine does not run, or died while it was asked. Fall back; it may come back by itself."""

    def __init__(self, engine: str, reason: str) -> None:
        super().__init__(engine, reason)
        self.engine = engine
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.engine} is not available: {self.reason}"


class EngineAnswerError(EngineError):
    """The engine answered with an error. `stale`: only because a text changed meanwhile; ask again."""

    def __init__(self, engine: str, method: str, code: int, message: str) -> None:
        super().__init__(engine, method, code, message)
        self.engine = engine
        self.method = method
        self.code = code
        self.message = message

    @property
    def stale(self) -> bool:
        """Whether the texts were changed while it was working (ContentModified, ServerCancelled)."""
        return self.code in (-32801, -32802)

    def __str__(self) -> str:
        return f"{self.engine} answered {self.method} with error {self.code}: {self.message}"


class EngineMissingError(EngineError):
    """The program was not found or cannot be started. Install it or correct the setting; asking again is no use."""

    def __init__(self, engine: str, detail: str) -> None:
        super().__init__(engine, detail)
        self.engine = engine
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.engine} cannot be started: {self.detail}"
