"""Builds the rooms of a session: which there are, and who needs whom."""

from __future__ import annotations

from dataclasses import dataclass

from headway.engines.mirror import Encoding
from headway.session.completing import Completing
from headway.session.diagnosing import Diagnosing
from headway.session.indexing import Indexing
from headway.session.limits import Limits
from headway.session.meaning import Meaning
from headway.session.navigating import Navigating
from headway.session.other_engines import OtherEngines
from headway.session.python_engine import PythonEngine
from headway.session.searching import Searching
from headway.session.session import Session
from headway.session.testing import Testing

# When a client is ready and has documents open, somebody may be typing. For so long, in which ty gets warm, nothing is
# set going by itself.
FIRST_KEYS_S = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """The rooms that requests go to."""

    completing: Completing
    diagnosing: Diagnosing
    indexing: Indexing
    navigating: Navigating
    others: OtherEngines
    searching: Searching


def build_rooms(session: Session, engine: PythonEngine, encoding: Encoding) -> Rooms:
    """Build the other rooms and let the session know them all, in the order in which they start.

    Args:
        engine: The room of ty, which is there already.
        encoding: How the client counts columns; engines that can are asked to do the same.
    """
    diagnosing = Diagnosing(session, encoding, engine=engine, ruff_after_s=FIRST_KEYS_S)
    testing = Testing(session)
    indexing = Indexing(session, lambda: meaning.index_changed(), first_scan_after_s=FIRST_KEYS_S)
    meaning = Meaning(session, indexing)
    others = OtherEngines(session, encoding)
    navigating = Navigating(session, engine, others)
    completing = Completing(session, engine.ty, lambda: indexing.view, others)
    searching = Searching(session, indexing, meaning)
    session.rooms += [
        Limits(session),
        engine,
        others,
        completing,
        diagnosing,
        navigating,
        testing,
        indexing,
        meaning,
        searching,
    ]
    session.index_info = indexing.stats
    session.more_metrics = lambda: completing.guesses.exposition()
    session.job_sources["index"] = indexing
    session.job_sources["analysis"] = diagnosing
    session.job_sources["tests"] = testing
    if session.probes:
        from headway.session.probing import Probing  # only where a client may submit probes

        scheduler = session.scheduler
        session.job_sources["probe"] = Probing(scheduler.wall_ms, scheduler.snapshot)
    return Rooms(
        completing=completing,
        diagnosing=diagnosing,
        indexing=indexing,
        navigating=navigating,
        others=others,
        searching=searching,
    )
