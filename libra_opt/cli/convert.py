"""`libra-opt convert`: a recorded trace becomes states."""

import argparse
from pathlib import Path

from libra_opt.adapters.fgd2023 import convert
from libra_opt.adapters.files import check_writable, read_bytes, write_whole
from libra_opt.cli.documents import each, make_directory, title
from libra_opt.cli.terminal import Exit, message
from libra_opt.domain import write
from libra_opt.errors import Fault, InputError

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Convert one trace; every state is made before any is written."""
    nodes, pods = each(_read_text, (arguments.nodes, arguments.pods))
    states = convert(nodes, pods, (title(arguments.nodes), title(arguments.pods)))
    place = Path(arguments.output)
    make_directory(place)
    documents = {place / f"{name}.json": f"{write(state)}\n" for name, state in states.items()}
    for target in documents:
        check_writable(target)
    write_whole(documents)
    message(f"{len(documents)} states written to {place}")
    return Exit.DONE


def _read_text(name: str) -> str:
    try:
        return read_bytes(name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(title(name), (Fault("", f"is not UTF-8 text ({error.reason} at byte {error.start}); convert it first"),)) from error
