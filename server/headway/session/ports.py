"""What the session and its rooms say to each other and to the client. No LSP, no JSON, no scheduler.

A *room* is one capability's part of the session (indexing, completing, diagnosing, …). It gets a `SessionContext`,
through which it always sees the newest settings, folders and trust, and it is told what happens by the methods of
`Room`. The client is known only as a `ClientPort`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from headway.features.analysis import Finding
    from headway.scheduler import Job, JobHandle, JobOutcome, Priority, Scheduler
    from headway.settings import Settings
    from headway.workspace.documents import Document, Documents
    from headway.workspace.text import Text


class MessageLevel(enum.IntEnum):
    """How loudly a person is told something; the numbers are LSP's."""

    ERROR = 1
    WARNING = 2
    INFO = 3
    LOG = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A root of the workspace. `uri` is spelled as the client spelled it; `path` is None where it is no local file."""

    uri: str
    name: str
    path: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file on disk that was created, changed or deleted; `path` is None where the URI names no local file."""

    uri: str
    path: Path | None
    deleted: bool


class ClientPort(Protocol):
    """What the session may ask of the client; each call returns at once and never fails.

    The implementation sends nothing that the client did not say it supports.
    """

    @property
    def pulls_diagnostics(self) -> bool:
        """Whether the client asks for the findings of a Python document itself; then those are not published."""

    @property
    def watches_files(self) -> bool:
        """Whether the client reports changes on disk (`Room.files_changed`)."""

    def publish(self, uri: str, version: int | None, findings: Sequence[Finding], text: Text | None = None) -> None:
        """Show these findings for this version of a document (an empty list clears them).

        Args:
            text: What they are about, where the document is not open.
        """

    def refresh_diagnostics(self) -> None:
        """Ask a client that pulls diagnostics to pull them again."""

    def offer_keys(self, language: str, completion: Sequence[str], signatures: Sequence[str]) -> None:
        """Have the client ask behind these keys in documents of a language, besides those that it asks behind anyway.

        It is about completions and about help on parameters; what was offered for the language before is taken back.
        """

    def show(self, level: MessageLevel, text: str) -> None:
        """Tell the person something, once; not for anything that can repeat with each key."""


class SessionContext(Protocol):
    """What a room sees of the session: always the newest state."""

    @property
    def scheduler(self) -> Scheduler: ...

    @property
    def client(self) -> ClientPort: ...

    @property
    def documents(self) -> Documents: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def folders(self) -> tuple[Folder, ...]: ...

    @property
    def trusted(self) -> bool:
        """False: nothing of the workspace may be executed."""

    @property
    def cache_dir(self) -> Path:
        """Where this user's caches for this program are; may not exist yet."""

    def degraded(self, source: str, message: str | None) -> None:
        """Say that something of `source` is off (what, and what to do), or with None that it is well again.

        Shown as state `degraded` with this message in `headway/queueState`, until it is taken back.
        """


class Room:
    """One capability's part of the session. Each room overrides what concerns it; the rest does nothing.

    All methods are called on the event loop and must return within about a millisecond: work is submitted as jobs.
    """

    def announce(self) -> None:
        """`initialized` came: what this room will do by itself is among what waits from here on, before any `start`."""

    async def start(self) -> None:
        """The client is ready, and the rooms before this one are started; background work may be submitted."""

    async def close(self) -> None:
        """The server ends; open jobs are cancelled by the scheduler, children must be gone when this returns."""

    async def clear_cache(self) -> None:
        """Forget what can be found out anew, on disk, too, and begin again."""

    def settings_changed(self, previous: Settings) -> None:
        """`context.settings` is new."""

    def trust_granted(self) -> None:
        """`context.trusted` has become true: what was off may start."""

    def folders_changed(self) -> None:
        """`context.folders` is new."""

    def document_opened(self, document: Document) -> None:
        """A document is open now; its text in the editor counts from here on."""

    def document_changed(self, document: Document) -> None:
        """An open document has a new text and version."""

    def document_saved(self, document: Document) -> None:
        """An open document was written to disk."""

    def document_closed(self, uri: str) -> None:
        """The document is no longer open; the text on disk counts again."""

    def notebook_changed(self, others: Sequence[Document]) -> None:
        """Cells of a notebook were changed, came, went or moved; `others` are those of it whose text is what it was.

        What is known of them may no longer hold. Cells that are new, changed or gone are told as documents.
        """

    def files_changed(self, changes: Sequence[FileChange]) -> None:
        """Files changed on disk, as the client or a watcher saw it; merged, in order."""


class Parts:
    """What a job tells whoever follows it before it ends, in values of its source; dropped where nobody listens."""

    __slots__ = ("_listener",)

    def __init__(self) -> None:
        self._listener: Callable[[Any], None] | None = None

    def listen(self, listener: Callable[[Any], None] | None) -> None:
        """Give each value from here on to this listener, on the loop; None ends it."""
        self._listener = listener

    @property
    def wanted(self) -> bool:
        """Whether somebody listens."""
        return self._listener is not None

    def tell(self, value: Any) -> None:
        """Give a value to the listener, if there is one."""
        if self._listener is not None:
            self._listener(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job that a person asks for by `headway/submit`, and how its end becomes the `result` of the answer.

    `parts` is what it tells before that; None where it tells nothing.
    """

    job: Job
    result: Callable[[JobOutcome], Mapping[str, Any] | None]
    parts: Parts | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that was submitted for the client, and how its end becomes the answer's `result`."""

    handle: JobHandle
    submission: Submission


class JobSource(Protocol):
    """A room that makes jobs of one `headway/submit` type."""

    def submission(
        self, arguments: Mapping[str, Any], *, title: str | None, priority: Priority | None
    ) -> Submission | Iterator[Submission | None]:
        """Describe the job; nothing is submitted yet. What takes more than milliseconds to read is read bit by bit.

        Args:
            arguments: As they came over the wire, camelCase JSON.
            title: What the caller wants it to be called, or None for a title of the room's own.
            priority: The caller's wish, or None for the type's own level.

        Raises:
            InvalidArgumentError: A key is unknown, missing or has a wrong value; the key is named.
        """


class InvalidArgumentError(ValueError):
    """The caller's arguments are wrong. `key` is a path like "tasks[0].kind"; correct it and submit again."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(key, problem)
        self.key = key
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.key}: {self.problem}"
