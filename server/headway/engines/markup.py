"""In what form the client shows texts. A module of its own, as `initialize` must not wait for the engines' imports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Markup:
    """Where the client shows Markdown; elsewhere it gets plain text."""

    hover: bool
    signatures: bool
    documentation: bool  # of completion items


ALL_MARKDOWN = Markup(hover=True, signatures=True, documentation=True)
