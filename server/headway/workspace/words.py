"""Words of names and text, as people would search for them. Pure.

Identifiers are split at camel humps, underscores and digits; the full-text table stems what it is given.
"""

from __future__ import annotations

import keyword
import re
from functools import lru_cache
from typing import Final

_WORD = re.compile(r"\w+")
_BODY_WORD = re.compile(r"[^\W\d_]\w{2,63}")
_ASCII_BODY_WORD = re.compile(r"[A-Za-z]\w{2,63}", re.ASCII)  # the same, twice as fast, for text that is only that
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_LONGEST_WORD = 64
_CODE_NOISE = frozenset(word.lower() for word in [*keyword.kwlist, "self", "cls"])
_STOP_WORDS = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "in"),
        *("into", "is", "it", "its", "of", "on", "or", "so", "that", "the", "their", "them", "then", "there"),
        *("these", "they", "this", "to", "was", "we", "what", "when", "where", "which", "who", "will", "with"),
        *("you", "your"),
    }
)
# Words of questions that bodies are stored without, so that what few names hold them would seem to be meant, or that
# tell no definition from another.
_ASKING_NOISE: Final = frozenset(
    {
        *("about", "because", "been", "but", "else", "false", "have", "if", "just", "may", "might", "must", "no"),
        *("none", "not", "return", "returned", "returns", "should", "such", "than", "true", "very", "were", "whether"),
        *("would",),
    }
)
_LEAST_QUESTION: Final = 3  # fewer may be a name that is written apart
MAX_QUERY_WORDS = 32
_MOST_TOLD: Final = 65_536


@lru_cache(maxsize=16_384)
def split_identifier(name: str) -> tuple[str, ...]:
    """Return the lower-case parts of an identifier: `HTTPServer_v2` gives http, server, v, 2."""
    return tuple(part.lower() for part in _HUMP.findall(name))


@lru_cache(maxsize=16_384)
def searchable(name: str) -> str:
    """Return the parts of an identifier and, where there are several, the whole of it in one word."""
    parts = split_identifier(name)
    if len(parts) < 2:
        return " ".join(parts)
    return " ".join((*parts, "".join(parts)))


def body_words(text: str, limit: int) -> str:
    """Return the parts of the different words of source text, without keywords, in order of appearance.

    Args:
        limit: At most so many different identifiers or words are kept.
    """
    seen = dict.fromkeys((_ASCII_BODY_WORD if text.isascii() else _BODY_WORD).findall(text))
    kept = list(filter(None, map(_TOLD.__getitem__, seen)))
    return " ".join(kept[:limit])


class _Told(dict[str, str]):
    """Words of bodies as they are stored, empty for what every body holds.

    As a cache that begins anew when it is full: nearly every word is there, and one that also knows which word was
    used last takes twice as long to say so.
    """

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_TOLD:
            self.clear()
        # In parts only: who writes a long word in one piece means a name, and those are stored in one piece, too.
        told = "" if word.lower() in _CODE_NOISE else " ".join(filter(_tells, split_identifier(word)))
        self[word] = told
        return told


_TOLD: Final = _Told()


def _tells(part: str) -> bool:
    return part not in _STOP_WORDS and (len(part) > 1 or not part.isascii())


def telling(text: str) -> str:
    """Return the words of prose without those that no query is looked up by."""
    return " ".join(word for word in text.split() if word.lower() not in _STOP_WORDS)


def query_words(query: str) -> list[str]:
    """Return the words of a query as `searchable` would have stored them, without those that say nothing.

    Any string is a query; one without words gives none. At most `MAX_QUERY_WORDS` words are kept.
    """
    found: dict[str, None] = {}
    for word in _WORD.findall(query[:4_000]):
        for part in split_identifier(word[:_LONGEST_WORD]):
            found.setdefault(part)
        if len(found) >= MAX_QUERY_WORDS:
            break
    told = [word for word in found if word not in _STOP_WORDS]
    return (told or list(found))[:MAX_QUERY_WORDS]


def question_words(query: str) -> list[str]:
    """Return the words of a question; none where a query is none, but may be a name or a part of one.

    A question is written in three words or more, and as many of them say something. An identifier among them is also
    looked for in one piece, as names are stored. What was written last stays last: it may not be finished.
    """
    told = [word for word in query_words(query) if word not in _ASKING_NOISE]
    if min(len(told), len(query.split())) < _LEAST_QUESTION:
        return []
    parts = (split_identifier(word) for word in _WORD.findall(query[:4_000]) if len(word) <= _LONGEST_WORD)
    whole = ["".join(some) for some in parts if len(some) > 1]
    return [*whole, *told][-MAX_QUERY_WORDS:]
