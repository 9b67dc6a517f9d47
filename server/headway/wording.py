"""Sentences for people, which remember how they were made, so that the edge can say them in another language.

Whoever has something to say to a person says it in English here; in which language it arrives is decided where it
leaves the process. Knows no language and no client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Said(str):
    """An English sentence with its `pattern` and the `facts` in it; everywhere else it is a string like any other."""

    pattern: str
    facts: Mapping[str, object]


def say(pattern: str, **facts: object) -> Said:
    """Return the sentence that `pattern.format(**facts)` is. Facts may be sentences themselves.

    The pattern is a literal, as translations are looked up by it.
    """
    said = Said(pattern.format(**facts))
    said.pattern, said.facts = pattern, facts
    return said


def joined(between: str, sentences: Iterable[str]) -> Said:
    """Return several sentences as one."""
    facts = {f"s{number}": sentence for number, sentence in enumerate(sentences)}
    said = Said(between.join(facts.values()))
    said.pattern, said.facts = between.join(f"{{{name}}}" for name in facts), facts
    return said
