"""The way in, shut without turning anybody away who has begun to come in.

A listening socket that is closed resets the connections that the system took in and the program did not: their callers sent a request, and cannot know
whether it was done. So the start of new connections is shut off first; the ones begun still come in; then there is nobody left to reset.
"""

import ctypes
import socket
import struct
import sys
from contextlib import suppress
from typing import Final

__all__ = ["SETTLING_SECONDS", "shut_off"]

SETTLING_SECONDS: Final = 0.25
"""So long connections that were begun may take to come in."""

_ATTACH_FILTER: Final = 26
"""SO_ATTACH_FILTER of Linux, which the module `socket` does not name."""

_INSTRUCTION: Final = "=HBBI"
_NO_SYN: Final = b"".join(
    struct.pack(_INSTRUCTION, *each)
    for each in (
        (0x30, 0, 0, 13),  # load the byte of the TCP header that holds its flags
        (0x45, 0, 1, 0x02),  # is SYN among them?
        (0x06, 0, 0, 0),  # then drop the packet
        (0x06, 0, 0, 0xFFFFFFFF),  # else let it through
    )
)


def shut_off(listener: socket.socket) -> None:
    """Let no connection begin any more; those begun go on.

    Who comes now is not refused at once: his system asks again after a second, when the socket is closed. Where the system is not Linux, or does not let a
    program filter, nothing is done.
    """
    if sys.platform == "linux":
        program = ctypes.create_string_buffer(_NO_SYN, len(_NO_SYN))
        n_instructions = len(_NO_SYN) // struct.calcsize(_INSTRUCTION)
        with suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("@HP", n_instructions, ctypes.addressof(program)))
