"""The nodes that generated workloads run on, as their maker states them."""

from typing import Final

from libra_opt.domain import Amounts, Pool

__all__ = ["CARD_GIB", "NODE", "NODE_SOURCE", "h100_pool"]

CARD_GIB: Final = 80
"""Memory of one card."""

NODE: Final = {"gpu": 8, "gpu_mem": 8 * CARD_GIB, "cpu": 112, "mem": 2000, "net": 50}
"""What one node has, in the units of the default resources."""

NODE_SOURCE: Final = (
    "node: 8 cards of 80 GB, 112 cores, 2 TB of host memory (DGX H100, NVIDIA DGX BasePOD reference architecture, core components), counted as GiB; "
    "net is one of its 400 Gb/s ports, 50 GB/s; traffic inside a gang is assumed to stay on the compute fabric, which is not shared out"
)
"""What states of such nodes say of them."""


def h100_pool(cards: int) -> Pool:
    """Return a pool of so many exclusive cards, each with an eighth of a node."""
    return Pool(name="h100", capacity=Amounts({name: _plain(amount * cards / NODE["gpu"]) for name, amount in NODE.items()}), card_mem=f"{CARD_GIB}Gi")


def _plain(amount: float) -> int | float:
    return int(amount) if amount == int(amount) else round(amount, 1)
