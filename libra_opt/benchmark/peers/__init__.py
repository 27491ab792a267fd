"""The alternatives a user would pick, each solving the same document to the same gap; what each is given is said in its module."""

from libra_opt.benchmark.peers.registry import run_peer

__all__ = ["run_peer"]
