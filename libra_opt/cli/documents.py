"""States and plans between files and commands: all are read before anything else happens, all are written whole."""

import argparse
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from libra_opt.adapters.files import STANDARD_STREAM, check_writable, read_bytes, write_whole
from libra_opt.cli.parser import OVERRIDES
from libra_opt.cli.terminal import message, result
from libra_opt.domain import Options, Plan, State, read_plan, read_state
from libra_opt.errors import Fault, InputError
from libra_opt.recorder import Pair, is_recording, last_pair, pairs_in, read_pairs

__all__ = ["changed_options", "deliver", "each", "is_plan", "make_directory", "open_plan", "open_state", "plan_targets", "title"]

_IS_PLAN = re.compile(rb'\s*\{\s*"format"\s*:\s*"libra-opt/plan/')
"""A document says what it is in its first field, as `write` writes it."""

_Item = TypeVar("_Item")
_Read = TypeVar("_Read")


def open_state(name: str, changes: Mapping[str, object] | None = None, pair: int | None = None) -> State:
    """Read the state in the file `name`, of a recording that of the pair asked for, else of the last; with some of its options changed.

    Raises
    ------
    InputError
        With every fault; also where a pair is asked for that is not there.
    """
    content = read_bytes(name)
    recorded = _recorded(name, content, pair)
    state = recorded.state() if recorded else read_state(content, title(name))
    return state.replace({"options": state.options.replace(changes)}) if changes else state


def open_plan(name: str, pair: int | None = None) -> Plan:
    """Read the plan in the file `name`, which may be a recording; raises `InputError` as `open_state` does."""
    content = read_bytes(name)
    recorded = _recorded(name, content, pair)
    return recorded.plan() if recorded else read_plan(content, title(name))


def _recorded(name: str, content: bytes, number: int | None) -> Pair | None:
    if not is_recording(content):
        if number is not None:
            raise InputError(title(name), (Fault("", f"is no recording, and pair {number} of one is asked for; leave --pair out"),))
        return None
    if name == STANDARD_STREAM:
        pairs = pairs_in(io.BytesIO(content), title(name), message)
    elif number is None:
        pairs = filter(None, [last_pair(Path(name))])
    else:
        pairs = read_pairs(name, message)
    there = [0, 0]
    found = None
    for found in pairs:
        there = [there[0] or found.number, found.number]
        if found.number == number:
            break
    if found is None or number not in (None, found.number):
        told = f"has pairs {there[0]} to {there[1]}, and pair {number} is asked for; name one of them" if found else "holds no whole pair"
        raise InputError(title(name), (Fault("", told),))
    return found


def is_plan(name: str) -> bool:
    """Return whether the file `name` holds a plan, and not results; standard input is read once, so it is taken for results."""
    if name == STANDARD_STREAM:
        return False
    return _IS_PLAN.match(read_bytes(name)) is not None


def changed_options(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the options that the command line gives; raises `InputError` where a state could not have them."""
    changes = {name: getattr(arguments, name) for name in OVERRIDES if getattr(arguments, name, None) is not None}
    try:
        Options.model_validate(changes)
    except ValidationError as error:
        faults = tuple(Fault(f"--{details['loc'][0]}", details["msg"]) for details in error.errors(include_url=False))
    else:
        return changes
    raise InputError("the command line", faults)


def each(read: Callable[[_Item], _Read], items: Sequence[_Item]) -> list[_Read]:
    """Return `read` of every item.

    Raises
    ------
    ExceptionGroup
        Of the `InputError` of every item that has one, so that a user sees all faults of all files at once.
    """
    values: list[_Read] = []
    errors: list[InputError] = []
    for item in items:
        try:
            values.append(read(item))
        except InputError as error:
            errors.append(error)
    if errors:
        raise ExceptionGroup("documents", errors)
    return values


def deliver(text: str, output: str | None) -> None:
    """Write `text` to the file `output`, or to standard output."""
    if output is None or output == STANDARD_STREAM:
        result(text)
    else:
        write_whole({Path(output): f"{text}\n"})


def plan_targets(files: Sequence[str], output: str | None) -> list[Path]:
    """Return where the plan of each state goes: one path per file, or none at all where nothing is to be written.

    One state goes to the file `output`; several, or an `output` that is a directory, to ``<name of the state>.plan.json`` in that directory,
    which is made if it is missing.

    Raises
    ------
    InputError
        A plan would overwrite a state or another plan, or the place cannot be written.
    """
    if output is None:
        return []
    place = Path(output)
    if len(files) == 1 and not place.is_dir():
        targets = [place]
    else:
        make_directory(place)
        targets = [place / f"{_stem(name)}.plan.json" for name in files]
    sources = {Path(name).resolve(): name for name in files if name != STANDARD_STREAM}
    taken: dict[Path, str] = {}
    for name, target in zip(files, targets, strict=True):
        check_writable(target)
        resolved = target.resolve()
        if resolved in sources:
            raise InputError(str(target), (Fault("", "is one of the states; write the plan somewhere else"),))
        if resolved in taken:
            raise InputError(str(target), (Fault("", f"would hold the plans of both {taken[resolved]!r} and {name!r}; rename one or call twice"),))
        taken[resolved] = name
    return targets


def make_directory(place: Path) -> None:
    """Make the directory `place` unless it is there; raises `InputError` where that cannot be."""
    try:
        place.mkdir(exist_ok=True)
    except FileExistsError as error:
        raise InputError(str(place), (Fault("", "is a file; several plans need a directory"),)) from error
    except OSError as error:
        raise InputError(str(place), (Fault("", f"cannot be made: {error.strerror}; create it first"),)) from error


def _stem(name: str) -> str:
    return title(name).replace(" ", "-") if name == STANDARD_STREAM else Path(name).name.removesuffix(".gz").removesuffix(".json")


def title(name: str) -> str:
    """Return how messages call the file `name`."""
    return "standard input" if name == STANDARD_STREAM else name
