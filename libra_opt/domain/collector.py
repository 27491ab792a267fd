"""The garbage collector, held back while many objects are made that stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector: where everything made stays, it would walk over all of it again and again, for longer than it takes to make it.

    Afterwards everything counts as old (frozen and released at once, unless the caller keeps objects frozen), so that what was made is not
    walked over twice more, as young and as middle-aged, before it is left alone.
    """
    pause = gc.isenabled()
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            if gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
