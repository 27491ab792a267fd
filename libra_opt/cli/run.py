"""`libra-opt run`: the loop beside a real scheduler."""

import argparse
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from libra_opt.adapters.files import check_writable, read_bytes, write_whole
from libra_opt.cli.documents import title
from libra_opt.cli.duration import seconds_of
from libra_opt.cli.terminal import Exit, message, printable, result, solvers_on_stderr
from libra_opt.controller import Controller, Settings, Turn, read_settings
from libra_opt.controller.keeping import InRecording, Keeper, MemoryHere, cluster_lock, exclusive, memory_in
from libra_opt.controller.loop import wait_seconds
from libra_opt.controller.page import page_of
from libra_opt.controller.registry import meter_adapter, scheduler_adapter
from libra_opt.controller.report import as_json, text_lines
from libra_opt.errors import Fault, InputError
from libra_opt.recorder import Recorder, last_pair

__all__ = ["run"]

_MOST_SHOWN: Final = 20
"""So many periods the page shows."""


def run(arguments: argparse.Namespace) -> int:
    """Run the loop until so many periods are done, or until it is told to stop."""
    settings, seconds = _settings(arguments)
    for output in (arguments.recording, arguments.page):
        if output is not None:
            check_writable(Path(output))
    scheduler = scheduler_adapter(settings.kind).connect(settings.scheduler)
    meters = [meter_adapter(name).connect(section) for name, section in settings.meters.items()]
    with _stopped_by_signals() as stop, ExitStack() as open_until_end:
        keeper = _keeper(arguments, settings, open_until_end)
        controller = Controller(scheduler, settings, keeper, seconds, meters=meters, is_dry=arguments.dry_run)
        _loop(controller, arguments, seconds, stop)
    return Exit.DONE


def _settings(arguments: argparse.Namespace) -> tuple[Settings, float]:
    faults: list[Fault] = []
    seconds = seconds_of(arguments.period, "--period", faults)
    if arguments.periods is not None and arguments.periods < 1:
        faults.append(Fault("--periods", f"{arguments.periods} is below 1; leave it out to go on until stopped"))
    if faults:
        raise InputError("the command line", tuple(faults))
    return read_settings(read_bytes(arguments.config), title(arguments.config), arguments.scheduler), seconds


def _keeper(arguments: argparse.Namespace, settings: Settings, open_until_end: ExitStack) -> Keeper:
    """Return what keeps the memory; a dry run reads a recording and writes none."""
    path = Path(arguments.recording) if arguments.recording is not None else None
    if arguments.dry_run:
        return MemoryHere(memory_in(last_pair(path)) if path is not None else None)
    open_until_end.enter_context(exclusive(cluster_lock(settings), f"this {settings.kind}"))
    if path is None:
        message("without --recording a restart forgets how long jobs have waited and what feedback has learned")
        return MemoryHere()
    return InRecording(open_until_end.enter_context(Recorder(path)))


def _loop(controller: Controller, arguments: argparse.Namespace, seconds: float, stop: threading.Event) -> None:
    shown: deque[Turn] = deque(maxlen=_MOST_SHOWN)
    n_done = n_unavailable = 0
    while not stop.is_set():
        began = time.monotonic()
        with solvers_on_stderr():
            turn = controller.turn()
        shown.append(turn)
        _tell(turn, arguments)
        if arguments.page is not None:
            _show(page_of(shown, seconds, is_dry=arguments.dry_run), Path(arguments.page))
        n_done += 1
        n_unavailable = n_unavailable + 1 if turn.unavailable else 0
        if n_done == arguments.periods:
            return
        rest = wait_seconds(seconds, began, time.monotonic(), n_unavailable)
        if turn.unavailable:
            message(f"waiting for an answer, and asking again in {rest:.0f} s: {turn.unavailable}")
        stop.wait(rest)
    message("stopped; every command that was begun is done")


def _show(page: str, path: Path) -> None:
    """Write the page; a full disk is no reason to stop."""
    try:
        write_whole({path: page})
    except InputError as error:
        message(f"the page was not written: {error}")


def _tell(turn: Turn, arguments: argparse.Namespace) -> None:
    if arguments.json:
        result(as_json(turn))
    else:
        for line in text_lines(turn, is_dry=arguments.dry_run):
            result(printable(line))
    sys.stdout.flush()


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and SIGINT set: the period at work is finished, then the loop ends."""
    stop = threading.Event()
    kept = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
