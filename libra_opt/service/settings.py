"""What the service is started with: where it listens, who may ask, and the limits that keep it standing."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

from libra_opt.errors import Fault, InputError

__all__ = ["Settings", "check_settings"]

_SHORTEST_TOKEN: Final = 16
_LIMITS: Final = {
    "port": (0, 65_535),
    "workers": (1, 256),
    "waiting": (0, 100_000),
    "most_bytes": (1_000, 1 << 30),
    "most_effort": (0, 100_000),
    "seconds": (0.1, 86_400),
    "read_seconds": (0.1, 3_600),
    "worker_bytes": (1 << 29, 1 << 44),
    "most_connections": (1, 100_000),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a service runs.

    Attributes
    ----------
    host, port
        Where it listens; port 0 is any free one.
    token
        What callers have to show; None: nothing.
    is_open
        Whether others than this machine may ask without a token.
    workers
        How many processes plan at a time.
    waiting
        How many requests may wait for one of them; further ones are asked to come again.
    most_bytes
        Of one body; of all bodies together eight times as many.
    most_effort
        Highest effort that a state may ask for.
    seconds
        A request may wait so long for a worker, and then keep it so long before it is killed.
    read_seconds
        A head, a body and an answer may each take so long on the wire.
    worker_bytes
        Address space of a worker process.
    most_connections
        At a time.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = field(default=None, repr=False)
    is_open: bool = False
    workers: int = 2
    waiting: int = 64
    most_bytes: int = 16 << 20
    most_effort: float = 10
    seconds: float = 60
    read_seconds: float = 10
    worker_bytes: int = 8 << 30
    most_connections: int = 512

    @property
    def most_bytes_together(self) -> int:
        """Most bytes of bodies that are held at a time."""
        return 8 * self.most_bytes


def check_settings(settings: Settings) -> None:
    """Refuse settings that a service must not start with.

    Raises
    ------
    InputError
        A number is out of range, the token is too short, or others than this machine could ask without one; all faults are listed by option.
    """
    faults = [
        Fault(f"--{name.replace('_', '-')}", f"{getattr(settings, name)} is not from {least:,} to {most:,}")
        for name, (least, most) in _LIMITS.items()
        if not least <= getattr(settings, name) <= most
    ]
    if settings.token is not None and (len(settings.token) < _SHORTEST_TOKEN or not (settings.token.isascii() and settings.token.isprintable())):
        faults.append(Fault("--token-file", f"holds no token of {_SHORTEST_TOKEN} or more printable ASCII characters; make one with: openssl rand -hex 32"))
    if settings.token is None and not settings.is_open and not _is_loopback(settings.host):
        faults.append(Fault("--host", f"{settings.host!r} can be reached by others; give --token-file FILE, or --open to let anybody ask"))
    if faults:
        raise InputError("the command line", tuple(faults))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
