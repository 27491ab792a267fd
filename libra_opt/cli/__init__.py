"""The command line: parse, call, write, and an exit code that says whose turn it is.

    0    done
    1    `verify`: the plan breaks a rule; `diff`: the plans do not give every job the same
    2    fix the input or the call; every fault is listed on standard error and nothing was written
    3    our fault; please report it

Results go to standard output, progress and messages to standard error. Nothing heavy is imported before a command needs it: each command is a
module of its own with one function ``run(arguments) -> int``, imported when it is called.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from libra_opt.cli.parser import build_parser
from libra_opt.cli.terminal import Exit, lenient_streams, message
from libra_opt.errors import BrokenPlanError, InputError, LibraError

__all__ = ["main"]

_REPORT: Final = "This is a fault of libra_opt, not of your input. Please report it, with the command and the state, to the maintainers."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` defaults to the process's own arguments."""
    lenient_streams()
    arguments = build_parser().parse_args(argv)
    try:
        code = int(import_module(f"libra_opt.cli.{arguments.command}").run(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        message("interrupted; no output file was written")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        message("whoever read the output has closed it; the rest was dropped")
        return Exit.NO_READER
    except ExceptionGroup as group:
        return _explain(group.exceptions)
    except Exception as error:  # noqa: BLE001 - an unforeseen error must not end in 1, which says that a plan breaks a rule
        return _explain((error,))
    return code


def _explain(errors: Sequence[Exception]) -> int:
    unforeseen = [error for error in errors if not isinstance(error, LibraError) or isinstance(error, BrokenPlanError)]
    for error in unforeseen:
        if not isinstance(error, BrokenPlanError):
            traceback.print_exception(error)
        message(f"{error or type(error).__name__}\n{_REPORT}")
    if unforeseen:
        return Exit.OUR_FAULT
    for error in errors:
        message(str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}")
    return Exit.BAD_INPUT
