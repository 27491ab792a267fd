"""Recordings: every state and its plan, on disk before anybody acts on it; read again, and solved again."""

from libra_opt.recorder.pair import RECORDING_FORMAT, Pair, versions
from libra_opt.recorder.reading import is_recording, last_pair, pairs_in, read_pairs
from libra_opt.recorder.recorder import Recorder
from libra_opt.recorder.replay import Difference, Replayed, replay

__all__ = ["RECORDING_FORMAT", "Difference", "Pair", "Recorder", "Replayed", "is_recording", "last_pair", "pairs_in", "read_pairs", "replay", "versions"]
