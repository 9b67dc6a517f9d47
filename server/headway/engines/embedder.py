"""The steps by which a folder's index gets vectors, as worker processes run them. Values in, values out.

Each is one bounded piece of work. What was kept is recognised by its content, so a step that is run again after its
process died does no harm, and nothing is asked for twice. A file is read through `read_file`: what is kept out of the
index for its name is sent nowhere either.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from headway.engines.embeddings import EndpointAnswerError, EndpointConfig, request_body, texts_of, vectors_of
from headway.workspace.database import StoreError
from headway.workspace.files import Skipped, read_file
from headway.workspace.opened import FolderSpec, open_store
from headway.workspace.passages import content_key, passages
from headway.workspace.store import fingerprint
from headway.workspace.vector_store import VectorsSpec, forget_open, open_vectors, remove_unused
from headway.workspace.vectors import UnfitVectorError, quantised

_T = TypeVar("_T")

_BATCH_FILES: Final = 8
SENTINEL: Final = "How does the scheduler decide which task runs next?"
_SHORTEST_CHARS: Final = 100

# A file's passages as (ordinal, kind, key), by the content's key.
Contents = tuple[tuple[bytes, tuple[tuple[int, int, bytes], ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """Which files of a folder lack vectors: `batches` of paths joined by NUL, of `total` indexed files."""

    total: int = 0
    batches: tuple[str, ...] = ()
    trouble: str | None = None

    @property
    def files(self) -> int:
        return sum(batch.count("\0") + 1 for batch in self.batches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Some passages to be asked for: the body to send, and their keys in its order."""

    body: bytes
    keys: tuple[bytes, ...]
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a batch of files needs: what is to be asked for, and what is to be noted when all of it is here."""

    requests: tuple[Request, ...] = ()
    contents: Contents = ()
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of an answer.

    Args:
        again: Smaller requests in the place of one that brought nothing fit to keep.
        is_dropped: What there was is another model's, and is gone.
    """

    passages: int = 0
    again: tuple[Request, ...] = ()
    is_dropped: bool = False
    trouble: str | None = None


def lacking(spec: FolderSpec, vectors: VectorsSpec) -> Lacking:
    """Compare a folder's index with the vectors that there are."""

    def look() -> Lacking:
        known = {path: file for path, file in open_store(spec).known().items() if file.skipped is None}
        keys = {path: content_key(path, file.digest, fingerprint()) for path, file in known.items()}
        store = open_vectors(vectors)
        remove_unused(os.path.dirname(vectors.path), vectors.path)
        here = store.known_contents(keys.values())
        store.use(here, _today())
        newest = sorted(keys, key=lambda path: -known[path].stamp)
        missing = [path for path in newest if keys[path] not in here]
        cuts = range(0, len(missing), _BATCH_FILES)
        return Lacking(total=len(known), batches=tuple("\0".join(missing[at : at + _BATCH_FILES]) for at in cuts))

    return _guarded(vectors, look, lambda trouble: Lacking(trouble=trouble))


def gather(
    spec: FolderSpec, vectors: VectorsSpec, config: EndpointConfig, prefix: str, size: int, batch: str
) -> Gathered:
    """Read files and return which of their passages have no vector yet.

    Args:
        prefix: What the model wants before each passage.
        size: At most so many passages in a request.
    """

    def collect() -> Gathered:
        store = open_store(spec)
        paths = batch.split("\0")
        known, definitions = store.get(paths), store.definitions(paths)
        contents = []
        texts: dict[bytes, str] = {}
        for path in paths:
            file = read_file(os.path.join(spec.root, path), spec.options.read)
            # What is not on disk as it was indexed, as an unsaved text, has its turn when it is.
            if path not in known or isinstance(file, Skipped) or file.digest != known[path].digest:
                continue
            found = passages(path, file.text, definitions.get(path, ()))
            keyed = tuple((passage.ordinal, passage.kind, passage.key) for passage in found)
            texts.update((key, passage.text) for passage, (_, _, key) in zip(found, keyed, strict=True))
            contents.append((content_key(path, file.digest, fingerprint()), keyed))
        here = open_vectors(vectors).known_keys(texts)
        wanted = [key for key in texts if key not in here]
        requests = (_request(config, wanted[at : at + size], texts, prefix) for at in range(0, len(wanted), size))
        return Gathered(requests=tuple(requests), contents=tuple(contents))

    return _guarded(vectors, collect, lambda trouble: Gathered(trouble=trouble))


def _request(config: EndpointConfig, keys: Sequence[bytes], texts: dict[bytes, str], prefix: str) -> Request:
    return Request(body=request_body(config, [prefix + texts[key] for key in keys]), keys=tuple(keys))


def check_model(vectors: VectorsSpec, answer: bytes, query_prefix: str = "") -> Kept:
    """Take the answer for `SENTINEL`; where the model is another than it was, all its vectors are dropped.

    Args:
        query_prefix: What the model wants before each query; kept beside its vectors.
    """

    def check() -> Kept:
        (vector,) = vectors_of(answer, 1)
        store = open_vectors(vectors)
        store.note_query_prefix(query_prefix)
        return Kept(is_dropped=not store.is_of_same_model(vector))

    try:
        return _guarded(vectors, check, lambda trouble: Kept(trouble=trouble))
    except (EndpointAnswerError, UnfitVectorError) as error:
        return Kept(trouble=f"the endpoint's answer cannot be used: {error}")


def keep(vectors: VectorsSpec, config: EndpointConfig, request: Request, answer: bytes | None) -> Kept:
    """Keep what was answered; None: the endpoint does not take this request.

    One that cannot be answered is cut in two, and a single passage is made shorter; what is too short for that is
    noted as having no vector, so that nobody asks for it again.
    """

    def store() -> Kept:
        opened = open_vectors(vectors)
        try:
            if answer is None:
                return _smaller(config, request)
            found = vectors_of(answer, len(request.keys))
            if len(found[0]) != opened.dimensions:
                return Kept(trouble=f"vectors of {len(found[0])} numbers, where there were {opened.dimensions}")
            kept = dict(zip(request.keys, map(quantised, found), strict=True))
        except (EndpointAnswerError, UnfitVectorError):
            return _smaller(config, request)
        opened.put(kept)
        return Kept(passages=len(kept))

    def _smaller(config: EndpointConfig, request: Request) -> Kept:
        texts = texts_of(request.body)
        if len(texts) > 1:
            half = len(texts) // 2
            parts = ((texts[:half], request.keys[:half]), (texts[half:], request.keys[half:]))
            return Kept(again=tuple(Request(body=request_body(config, t), keys=k) for t, k in parts))
        if len(texts[0]) > _SHORTEST_CHARS:
            shorter = request_body(config, [texts[0][: len(texts[0]) // 2]])
            return Kept(again=(Request(body=shorter, keys=request.keys),))
        open_vectors(vectors).put({request.keys[0]: b""})
        return Kept()

    return _guarded(vectors, store, lambda trouble: Kept(trouble=trouble))


def settle(vectors: VectorsSpec, contents: Contents) -> int:
    """Note which passages files have; return of how many all vectors are here."""
    return _guarded(vectors, lambda: open_vectors(vectors).put_contents(contents, _today()), lambda trouble: 0)


def _guarded(vectors: VectorsSpec, call: Callable[[], _T], failed: Callable[[str], _T]) -> _T:
    try:
        return call()
    except StoreError as error:
        forget_open(vectors.path)
        return failed(str(error))


def _today() -> int:
    return int(time.time() // 86_400)
