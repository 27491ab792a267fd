"""Recordings: series of one source with what in them was recorded, derived and assumed; and how text becomes such series.

Converters (in `adapters`) make recordings and whatever scores or replays them takes them, so neither knows the other.
"""

from libra_opt.recordings.recording import Measured, Recording
from libra_opt.recordings.table import Document, Table, read_objects, read_table

__all__ = ["Document", "Measured", "Recording", "Table", "read_objects", "read_table"]
