"""Builds the rooms of a session: which there are, and who needs whom."""

from __future__ import annotations

from dataclasses import dataclass

from headway.session.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """The rooms that requests go to."""


def build_rooms(session: Session) -> Rooms:
    """Build the rooms and let the session know them, in the order in which they start."""
    return Rooms()
