"""Whether this process can still be given memory. For what must be known when there is none: it takes none itself."""

from __future__ import annotations

import mmap
import sys

_ROOM_BYTES = 64 << 20  # what a step of ours may take at its largest; asked for, never touched


def has_room() -> bool:
    """Return whether a step could be given memory, as limits and the system stand (5 µs).

    The heap is not asked, since it may hold a large free block while nothing else can be mapped any more.
    """
    try:
        if sys.platform == "win32":
            mmap.mmap(-1, _ROOM_BYTES).close()
        else:  # private and writable: this is what limits of data and of address space count
            mmap.mmap(-1, _ROOM_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError):
        return False
    return True
