"""Sizes of the models that generated jobs train, and what they need: published shapes, and the arithmetic on them."""

from dataclasses import dataclass
from typing import Final

__all__ = ["MODELS", "MODEL_SOURCES", "Model"]

_GIB: Final = 1024**3
_WEIGHT_BYTES: Final = 2
_OFFLOADED_BYTES: Final = 12
_ENGINE_GIB: Final = 6.0

MODEL_SOURCES: Final = (
    ("models: Qwen2.5 7B, 14B, 32B and 72B (Qwen2.5 Technical Report, arXiv 2412.15115), parameters of its model cards"),
    "weights: 2 bytes per parameter; 6 GiB per card for the engine itself (assumed)",
    (
        "inference must hold one engine and no more: short of memory for keys and values an engine preempts requests and recomputes them later, it does not "
        "die (vLLM documentation, Optimization and Tuning, Preemption); fewer engines decode fewer trajectories side by side"
    ),
    (
        "an update: 16 bytes per parameter in mixed precision with Adam (ZeRO, arXiv 1910.02054, section 3.1), which with activations fills 2, 4, 8, 16 cards "
        "to about 70 GiB each; with the optimiser's 12 bytes per parameter in host memory (ZeRO-Offload, arXiv 2101.06840) a quarter of that"
    ),
    "trajectories that decode side by side on a card: 32, 20, 12 and 8 by size (assumed); starting takes 60 to 120 s by size (assumed)",
)
"""Where the figures are from."""


@dataclass(frozen=True, slots=True)
class Model:
    """One size of model.

    Attributes
    ----------
    name
        What it is called.
    parameters
        In thousand millions.
    unit
        Cards that one inference engine spans (tensor parallel).
    gang
        Cards of an update.
    per_card
        Trajectories that decode side by side on one card.
    cold_seconds
        What starting takes when nothing is at hand.
    """

    name: str
    parameters: float
    unit: int
    gang: int
    per_card: int
    cold_seconds: float

    @property
    def weights_gib(self) -> float:
        """Weights of one copy."""
        return self.parameters * 1e9 * _WEIGHT_BYTES / _GIB

    @property
    def offloaded_gib(self) -> float:
        """State of the optimiser, which waits in host memory while cards roll out."""
        return self.parameters * 1e9 * _OFFLOADED_BYTES / _GIB

    @property
    def engine_gib(self) -> float:
        """What inference must hold: one engine with a copy of the weights."""
        return self.weights_gib + self.unit * _ENGINE_GIB


MODELS: Final = (
    Model("7b", 7.6, unit=1, gang=2, per_card=32, cold_seconds=60),
    Model("14b", 14.7, unit=1, gang=4, per_card=20, cold_seconds=75),
    Model("32b", 32.5, unit=2, gang=8, per_card=12, cold_seconds=90),
    Model("72b", 72.7, unit=4, gang=16, per_card=8, cold_seconds=120),
)
"""From small to large."""
