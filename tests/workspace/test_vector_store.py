"""Vectors on disk: by content, of one model, and without what nobody uses."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from headway.workspace.database import StoreDamagedError
from headway.workspace.vector_store import VectorsSpec, VectorStore, clear, open_vectors, remove_unused
from headway.workspace.vectors import quantised


def vector(seed: int, dimensions: int = 384) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(0, 1) for _ in range(dimensions)]


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


@pytest.fixture
def spec(tmp_path: Path) -> VectorsSpec:
    return VectorsSpec(path=str(tmp_path / "v" / "a.sqlite"), model="m")


def test_a_file_is_there_when_all_its_passages_are(spec: VectorsSpec) -> None:
    with VectorStore(spec) as store:
        assert store.is_of_same_model(vector(0)) is False or store.dimensions == 384
        store.put({key(1): quantised(vector(1)), key(2): b""})
        assert store.known_keys([key(1), key(2), key(3)]) == {key(1), key(2)}
        whole, part = (b"whole", [(0, 2, key(1)), (4, 12, key(2))]), (b"part", [(0, 2, key(3))])
        assert store.put_contents([whole, part], day=1) == 1
        assert store.known_contents([b"whole", b"part"]) == {b"whole"}
        first, second = store.contents([b"whole"])[b"whole"]
        assert (first.ordinal, first.kind, second.ordinal, second.kind) == (0, 2, 4, 12)
        assert store.vectors([first.vector_id, second.vector_id]) == {first.vector_id: quantised(vector(1))}


def test_another_model_behind_the_same_name_leaves_nothing(spec: VectorsSpec) -> None:
    with VectorStore(spec) as store:
        assert store.is_of_same_model(vector(0))
        store.put({key(1): quantised(vector(1))})
        epoch = store.epoch
        nearly = [value + 0.001 for value in vector(0)]
        assert store.is_of_same_model(nearly)
        assert (store.known_keys([key(1)]), store.epoch) == ({key(1)}, epoch)
        assert not store.is_of_same_model(vector(9))
        assert (store.known_keys([key(1)]), store.epoch) == (set(), epoch + 1)
        assert not store.is_of_same_model(vector(9, 64))
        assert store.dimensions == 64


def test_what_nobody_has_used_for_long_is_forgotten(spec: VectorsSpec) -> None:
    with VectorStore(spec) as store:
        store.put({key(n): quantised(vector(n)) for n in (1, 2, 3)})
        store.put_contents([(b"old", [(0, 2, key(1)), (1, 2, key(2))])], day=100)
        store.put_contents([(b"new", [(0, 2, key(2)), (1, 2, key(3))])], day=150)
        store.use([], day=155)
        assert store.known_contents([b"old", b"new"]) == {b"old", b"new"}
        store.use([b"new"], day=161)  # within a week: not looked at
        assert store.known_contents([b"old"]) == {b"old"}
        store.use([b"new"], day=162)
        assert store.known_contents([b"old", b"new"]) == {b"new"}
        assert store.known_keys([key(1), key(2), key(3)]) == {key(2), key(3)}


def test_a_passage_takes_less_than_half_a_kilobyte(spec: VectorsSpec) -> None:
    with VectorStore(spec) as store:
        _, empty = store.stats()
        for start in range(0, 4_000, 40):
            numbers = range(start, start + 40)
            keys = {n: random.Random(n).randbytes(16) for n in numbers}
            store.put({keys[n]: bytes(384) for n in numbers})
            files = [(random.Random(-n).randbytes(16), numbers[n - start : n - start + 8]) for n in numbers[::8]]
            store.put_contents([(file, [(n, 12, keys[n]) for n in some]) for file, some in files], day=1)
        count, size = store.stats()
        assert count == 4_000
        assert (size - empty) / count < 500


def test_one_that_is_no_database_or_of_another_model_is_made_anew(spec: VectorsSpec) -> None:
    other = VectorsSpec(path=spec.path, model="n")
    VectorStore(spec).close()
    with pytest.raises(StoreDamagedError, match="for something else"):
        VectorStore(other)
    assert open_vectors(other).dimensions is None
    clear(other)
    Path(spec.path).write_bytes(b"no database at all" * 1000)
    assert open_vectors(spec).known_keys([key(1)]) == set()
    clear(spec)
    assert not Path(spec.path).exists()


def test_databases_of_models_that_nobody_uses_any_more_are_removed(tmp_path: Path) -> None:
    specs = {name: VectorsSpec(path=str(tmp_path / f"{name}.sqlite"), model=name) for name in ("here", "old", "new")}
    for spec in specs.values():
        with VectorStore(spec) as store:
            store.put({key(1): quantised(vector(1))})
    (tmp_path / "other.txt").write_text("")
    long_ago_s = time.time() - 61 * 86_400
    for path in tmp_path.iterdir():
        if not path.name.startswith("new"):
            os.utime(path, (long_ago_s, long_ago_s))
    remove_unused(str(tmp_path), specs["here"].path)
    assert {path.name for path in tmp_path.iterdir()} == {"here.sqlite", "new.sqlite", "other.txt"}
    remove_unused(str(tmp_path / "none"), specs["here"].path)  # no folder is nothing to remove
    with VectorStore(specs["here"]) as store:
        assert store.known_keys([key(1)]) == {key(1)}
