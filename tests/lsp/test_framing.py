"""Bytes become bodies, whatever their headers look like and however they are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.lsp.framing import BrokenFramingError, Framer, frame


def check(stream: bytes, expected: list[bytes], *, piece: int = 7) -> None:
    framer = Framer()
    found: list[bytes] = []
    for start in range(0, len(stream), piece):
        found += framer.feed(stream[start : start + piece])
    assert found == expected
    assert not framer.inside


@given(bodies=st.lists(st.binary(max_size=60), max_size=8), piece=st.integers(1, 100))
def test_what_is_framed_comes_out_again(bodies: list[bytes], piece: int) -> None:
    check(b"".join(frame(body) for body in bodies), bodies, piece=piece)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"CONTENT-LENGTH:   2  \r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        b"X-Other: a:b\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_headers_in_any_form(head: bytes) -> None:
    check(head + b"{}" + head + b"[]", [b"{}", b"[]"])


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: two\r\n\r\n", b"Content-Length: -2\r\n\r\n", b"Content-Type: x\r\n\r\n", b"hello\r\n\r\n"],
)
def test_broken_headers_are_said(head: bytes) -> None:
    with pytest.raises(BrokenFramingError):
        Framer().feed(head)


def test_a_header_without_an_end_is_broken() -> None:
    with pytest.raises(BrokenFramingError):
        Framer().feed(b"x" * 20_000)


def test_a_body_that_is_too_long_is_skipped_and_the_next_one_read() -> None:
    framer = Framer(max_body_bytes=10)
    found = framer.feed(frame(b"x" * 11) + frame(b"ok"))
    assert found == [b"ok"]
    assert framer.skipped == 1


def test_many_messages_at_once_and_a_header_in_two_parts() -> None:
    framer = Framer()
    assert framer.feed(frame(b"{}") + b"Content-Length: 0\r\n\r\n" + frame(b"[]") + b"Content-Len") == [
        b"{}",
        b"",
        b"[]",
    ]
    assert framer.inside
    assert framer.feed(b"gth: 1\r\n\r\n1") == [b"1"]
    assert not framer.inside
