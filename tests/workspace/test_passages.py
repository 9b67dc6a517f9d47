"""Which texts a file is found by in meaning."""

from __future__ import annotations

from headway.workspace.index import index_text
from headway.workspace.passages import Passage, content_key, passages

SOURCE = '''"""Cars."""

LIMIT = 3


class Garage:
    size = 4

    def park_car(self, spot):
        """Put a car away."""
        return spot
'''


def of(path: str, source: str) -> list[Passage]:
    return passages(path, source, index_text(path, source).definitions)


def test_definitions_have_passages_and_names_of_values_have_none() -> None:
    found = of("lib/cars.py", SOURCE)
    assert [passage.text.partition("\n")[0] for passage in found] == [
        "cars: cars",
        "Garage: garage",
        "Garage.park_car: park car",
    ]
    assert found[2].text == (
        'Garage.park_car: park car\nPut a car away.\ndef park_car(self, spot):\n"""Put a car away."""\nreturn spot'
    )


def test_a_passage_is_the_same_wherever_it_stands_and_however_deep() -> None:
    one, two = of("a.py", "def f(x):\n    return x\n"), of("b/c.py", "# moved\n\ndef f(x):\n        return x\n")
    assert one[-1].key == two[-1].key


def test_long_texts_are_cut() -> None:
    found = of("a.py", "def f():\n" + "    call(something, other)\n" * 500)
    assert max(len(passage.text) for passage in found) <= 1_000


def test_data_and_prose_have_one_or_a_passage_for_each_heading() -> None:
    assert len(of("a.json", '{"a": {"b": 1}, "c": [1, 2]}')) == 1
    assert len(of("a.md", "# One\n\ntext\n\n## Two\n\nmore\n")) > 1


def test_a_content_s_key_depends_on_all_that_decides_its_passages() -> None:
    keys = {
        content_key("a.py", b"1", "f"),
        content_key("a.py", b"2", "f"),
        content_key("b.py", b"1", "f"),
        content_key("a.js", b"1", "f"),
        content_key("a.py", b"1", "g"),
    }
    assert len(keys) == 5
    assert content_key("x/a.py", b"1", "f") in keys
