"""Why a demo could not be carried out. Each message says what, where and what to do."""


class DemoError(Exception):
    """The demo cannot go on; show the message and end with exit code 2."""


class ProjectError(DemoError):
    """The code to type in cannot be had or used. Name another folder, or make this one readable."""


class ServerEndedError(DemoError):
    """The server is gone or broke the protocol; nothing more can be asked of it. Read the end of its log."""

    def __init__(self, why: str, exit_code: int | None = None, log_tail: str = "") -> None:
        super().__init__(why, exit_code, log_tail)
        self.why = why
        self.exit_code = exit_code
        self.log_tail = log_tail

    def __str__(self) -> str:
        code = "" if self.exit_code is None else f" (exit code {self.exit_code})"
        tail = f"\nThe end of its log:\n{self.log_tail}" if self.log_tail else "\nIts log is empty."
        return f"the server {self.why}{code}{tail}"


class NoAnswerError(DemoError):
    """A request had no answer in time although the server lives. Run again: the machine may just have been busy."""

    def __init__(self, method: str, waited_s: float) -> None:
        super().__init__(method, waited_s)
        self.method = method
        self.waited_s = waited_s

    def __str__(self) -> str:
        return f"the server did not answer {self.method} within {self.waited_s:.0f} s"


class RefusedError(DemoError):
    """The server answered a request of the demo with an error."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(method, code, message)
        self.method = method
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"the server refused {self.method}: {self.message} ({self.code})"
