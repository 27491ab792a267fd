"""The section ``[scheduler]`` of a loop beside Ray."""

from typing import Annotated

from libra_opt.domain.base import Flag, Name, Real, Text, Value

__all__ = ["Settings"]


class Settings(Value):
    """Where the cluster is, and how its nodes are read.

    Attributes
    ----------
    address
        Of the cluster, as ``ray.init`` takes it; ``auto``: the one of this machine, or of the variable RAY_ADDRESS.
    pool_label
        Label of nodes whose value is their pool. A node without it is in the pool of its accelerator type, else in ``gpu`` where it has cards.
    default_pool
        What the pool of nodes without label and cards is called.
    gpu_mem, net
        The custom resources of nodes that count memory of cards in GiB, and network in GB/s.
    report_seconds
        What a group reported longer ago than this does not count.
    history_seconds
        Length of one entry of a history.
    autoscale
        Ask Ray's autoscaler for nodes for all that the groups can use. Nodes may cost money.
    timeout_seconds
        How long one request may take.
    """

    address: Text = "auto"
    pool_label: Text = "ray.io/accelerator-type"
    default_pool: Name = "cpu"
    gpu_mem: Text = "gpu_memory_gib"
    net: Text = "network_gbps"
    report_seconds: Annotated[float, Real(1, 1e6)] = 300
    history_seconds: Annotated[float, Real(1, 1e6)] = 60
    autoscale: Flag = False
    timeout_seconds: Annotated[float, Real(0.1, 600)] = 30
