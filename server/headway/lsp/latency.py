"""How long clients wait for answers, for `queueState.latency`."""

from __future__ import annotations

from headway.lsp.protocol import Latency
from headway.scheduler.sketch import Sketch

# What a person waits for, by the name that it has in `latency`.
WATCHED = {
    "textDocument/completion": "completion",
    "textDocument/hover": "hover",
    "textDocument/signatureHelp": "signatureHelp",
    "textDocument/definition": "definition",
    "headway/search": "search",
}


class Latencies:
    """Times from a request's arrival to its answer, by kind, in bounded memory."""

    def __init__(self) -> None:
        self._sketches: dict[str, Sketch] = {}

    def answered(self, method: str, took_s: float) -> None:
        """Count an answer that was no error."""
        name = WATCHED.get(method)
        if name is not None:
            self._sketches.setdefault(name, Sketch()).add(took_s)

    def current(self) -> dict[str, Latency]:
        """Return what was measured so far."""
        shown: dict[str, Latency] = {}
        for name, sketch in self._sketches.items():
            p50_s, p95_s, p99_s = (found or 0.0 for found in sketch.quantiles_at((0.5, 0.95, 0.99)))
            shown[name] = {
                "count": sketch.count,
                "p50Ms": p50_s * 1000,
                "p95Ms": p95_s * 1000,
                "p99Ms": p99_s * 1000,
            }
        return shown
