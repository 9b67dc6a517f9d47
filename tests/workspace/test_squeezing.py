"""Texts of one database compressed with what they have in common. Real SQLite, real zlib."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.workspace.squeezing import COMMON_SCHEMA, Squeezer

WORDS = [f"{a}{b}_thing" for a in ("alpha", "beta", "gamma", "delta") for b in range(200)]


def text(seed: int, words: int = 300) -> bytes:
    return " ".join(random.Random(seed).choices(WORDS, k=words)).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(tmp_path / "db")) as db:
        db.executescript(COMMON_SCHEMA)
    return tmp_path / "db"


class Side:
    """One of several that have a database open."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.squeezer = Squeezer(self.db)
        self.written = 0

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self.written += 1
        self.db.execute("BEGIN IMMEDIATE")
        yield
        self.db.execute("COMMIT")

    def small(self, *texts: bytes) -> list[bytes]:
        return self.squeezer.small(texts, self.transaction)


@pytest.fixture
def sides(path: Path) -> Iterator[tuple[Side, Side]]:
    one, other = Side(path), Side(path)
    yield one, other
    one.db.close()
    other.db.close()


def test_what_is_squeezed_with_or_without_a_dictionary_comes_back(sides: tuple[Side, Side]) -> None:
    one, other = sides
    assert [other.squeezer.large(blob) for blob in one.small(b"", b"a", text(0))] == [b"", b"a", text(0)]
    (before,) = one.small(text(1))
    many = [text(number) for number in range(40)]
    after = one.small(*many)
    # Who had it open before there was a dictionary reads what came with it, and what was there before.
    assert [other.squeezer.large(blob) for blob in after] == many
    assert other.squeezer.large(before) == text(1)
    assert len(after[1]) < 0.9 * len(before)


def test_all_who_write_use_one_dictionary(sides: tuple[Side, Side]) -> None:
    one, other = sides
    many, others = [text(number) for number in range(40)], [text(number) for number in range(40, 80)]
    first, second = one.small(*many), other.small(*others)
    assert one.db.execute("SELECT count(*) FROM common").fetchone() == (1,)
    assert [one.squeezer.large(blob) for blob in second] == others
    assert [other.squeezer.large(blob) for blob in first] == many
    assert (one.written, other.written) == (1, 0)


def test_a_few_texts_make_no_dictionary(sides: tuple[Side, Side]) -> None:
    one, _ = sides
    one.small(*[text(number) for number in range(5)])
    assert one.written == 0
    assert one.db.execute("SELECT count(*) FROM common").fetchone() == (0,)


def test_a_dictionary_that_was_not_kept_is_not_used(sides: tuple[Side, Side]) -> None:
    one, other = sides
    many = [text(number) for number in range(40)]

    @contextlib.contextmanager
    def failing() -> Iterator[None]:
        one.db.execute("BEGIN IMMEDIATE")
        yield
        one.db.execute("ROLLBACK")
        raise sqlite3.OperationalError("disk full")

    with pytest.raises(sqlite3.OperationalError, match="disk full"):
        one.squeezer.small(many, failing)
    (blob,) = one.small(many[0])
    assert other.squeezer.large(blob) == many[0]


def test_damage_is_said_to_be(sides: tuple[Side, Side]) -> None:
    one, other = sides
    plain, squeezed = one.small(text(1))[0], one.small(*[text(number) for number in range(40)])[0]
    for blob in (plain[:-9], squeezed[:-9], b"", b"x", squeezed[:1] + b"\0" + squeezed[2:]):
        with pytest.raises(zlib.error):
            other.squeezer.large(blob)
    for statement in ("UPDATE common SET content = x'78da030000000001'", "DELETE FROM common"):
        one.db.execute(statement)
        with pytest.raises(zlib.error):
            Squeezer(one.db).large(squeezed)
