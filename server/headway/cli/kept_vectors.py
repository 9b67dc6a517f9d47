"""Which vectors are there without an editor that says so: the model that was used last, and how its endpoint is asked.

Vectors are only where somebody has named an endpoint. The command line asks that one for a query's vector and sends it
nothing else. Its key is kept nowhere and comes from the environment.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from headway.settings import EmbeddingsSettings
from headway.workspace.vector_store import model_of

KEY_VARIABLE: Final = "HEADWAY_EMBEDDINGS_KEY"
_QUERY_LIMIT_MS: Final = 5_000.0  # a person waits for one answer, not for one at each key


def last_used(cache_dir: Path) -> EmbeddingsSettings | None:
    """Return the settings under which the newest vectors of a cache directory were made; None where there are none."""
    folder = cache_dir / "vectors"
    try:
        found = sorted(folder.glob("*.sqlite"), key=os.path.getmtime, reverse=True)
    except OSError:
        return None
    for path in found:
        kept = model_of(str(path))
        if kept is None:
            continue
        try:
            url, model, dimensions, passage_prefix = json.loads(kept[0])
        except (ValueError, TypeError):
            continue
        return EmbeddingsSettings(
            url=url,
            model=model,
            dimensions=dimensions,
            passage_prefix=passage_prefix,
            query_prefix=kept[1],
            api_key=os.environ.get(KEY_VARIABLE) or None,
            query_timeout_ms=_QUERY_LIMIT_MS,
        )
    return None
