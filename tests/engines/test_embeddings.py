"""What an endpoint's answers mean."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from headway.engines.embeddings import (
    Endpoint,
    EndpointAnswerError,
    EndpointConfig,
    Setback,
    request_body,
    texts_of,
    vectors_of,
)
from tests.endpoint import Fault, endpoint


def setback(fault: Fault) -> Setback:
    with endpoint() as peer:
        peer.fault = lambda texts: fault
        config = EndpointConfig(url=peer.url, model="m", api_key="sk-1")

        async def scenario() -> Setback:
            asked = Endpoint(config)
            try:
                answer = await asked.ask(request_body(config, ["a"]), 30.0)
            finally:
                asked.close()
            assert isinstance(answer, Setback)
            return answer

        return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((429, "overloaded"), (503, "overloaded"), (401, "refused"), (404, "refused"), (302, "refused")),
        *((400, "unfit"), (413, "unfit"), (500, "unfit"), (502, "unavailable"), (504, "unavailable")),
    ],
)
def test_a_status_says_what_to_do(status: int, kind: str) -> None:
    found = setback((status, {}, b'{"error": {"message": "because\\n of   it"}}'))
    assert (found.kind, found.reason) == (kind, f"HTTP {status}: because of it")


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("99999999", 3600.0), ("soon", None), ("nan", None)]
)
def test_retry_after_is_taken(header: str, seconds: float | None) -> None:
    assert setback((429, {"Retry-After": header}, b"")).retry_after_s == seconds


def test_retry_after_may_be_a_date() -> None:
    found = setback((503, {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(minutes=5), usegmt=True)}, b""))
    assert found.retry_after_s is not None
    assert 200 < found.retry_after_s <= 300


def test_what_is_asked_is_json_with_the_dimensions_that_are_wanted() -> None:
    config = EndpointConfig(url="http://h", model="m", dimensions=8)
    body = request_body(config, ["a", "ü"])
    assert json.loads(body) == {"model": "m", "input": ["a", "ü"], "dimensions": 8}
    assert texts_of(body) == ["a", "ü"]


def test_vectors_come_in_the_order_of_the_texts() -> None:
    answer = {"data": [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1.0, 2.0]}]}
    assert vectors_of(json.dumps(answer).encode(), 2) == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("{}", "KeyError"),
        ("[]", "TypeError"),
        ("no", "JSONDecodeError"),
        ('{"data": [{"embedding": ["x"]}]}', "ValueError"),
        ('{"data": []}', "0 vectors for 1"),
        ('{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}', "2 vectors for 1"),
        ('{"data": ' + "[" * 5000, "RecursionError|JSONDecodeError"),
    ],
)
def test_what_holds_no_vectors_is_an_error(answer: str, fault: str) -> None:
    with pytest.raises(EndpointAnswerError, match=re.compile(fault)):
        vectors_of(answer.encode(), 1)


def test_vectors_of_different_lengths_are_an_error() -> None:
    with pytest.raises(EndpointAnswerError, match="length"):
        vectors_of(b'{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}', 2)


def test_the_key_stands_in_no_representation() -> None:
    assert "sk-1" not in repr(EndpointConfig(url="http://h", model="m", api_key="sk-1"))
