"""Worker processes: each an executor of one process, so that one that dies or is killed takes only its own request with it."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from multiprocessing.connection import wait
from typing import Final

from libra_opt.service.metrics import Metrics
from libra_opt.service.problems import problem
from libra_opt.service.settings import Settings
from libra_opt.service.work import Answer, prepare

__all__ = ["Pool"]

_PATIENCE_SECONDS: Final = 300
"""A process that is not ready by then is started again."""

_LARGE: Final = 1 << 30
"""A worker that ever held so many bytes is replaced once it has answered: little of it would come back by itself."""

_log = logging.getLogger("libra_opt.service")


class _Worker:
    def __init__(self, most_bytes: int) -> None:
        self._executor = ProcessPoolExecutor(1, get_context("spawn"), prepare, (most_bytes,))
        before = set(active_children())
        self._first = asyncio.wrap_future(self._executor.submit(os.getpid))
        self._processes = set(active_children()) - before

    async def ready(self) -> None:
        await asyncio.wait_for(self._first, _PATIENCE_SECONDS)

    async def run(self, task: Callable[..., Answer], arguments: tuple[object, ...], seconds: float) -> Answer:
        return await asyncio.wait_for(asyncio.wrap_future(self._executor.submit(task, *arguments)), seconds)

    def is_alive(self) -> bool:
        """Tell whether the process is there, before anything is given to it."""
        return not wait([process.sentinel for process in self._processes], timeout=0)

    def end(self) -> None:
        for process in self._processes:
            process.kill()
        self._executor.shutdown(wait=False, cancel_futures=True)


class Pool:
    """A fixed number of worker processes and a waiting room of bounded size."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._renewals: set[asyncio.Task[None]] = set()
        self._n_waiting = 0

    async def start(self) -> None:
        """Start all processes; raises `BrokenProcessPool` or `TimeoutError` where one does not come up."""
        workers = [_Worker(self._settings.worker_bytes) for _ in range(self._settings.workers)]
        for worker in workers:
            await worker.ready()
            self._put(worker)

    async def stop(self) -> None:
        """End all processes; called when nothing is at work."""
        renewals = list(self._renewals)
        for renewal in renewals:
            renewal.cancel()
        await asyncio.gather(*renewals, return_exceptions=True)
        while not self._idle.empty():
            self._idle.get_nowait().end()

    async def run(self, task: Callable[..., Answer], *arguments: object, gone: Callable[[], Awaitable[object]]) -> Answer:
        """Run one task in a worker; `gone` returns when nobody waits for the answer any more, and then it is not begun.

        Raises
        ------
        RefusedError
            The waiting room is full, no worker came free in time, or the task was not done in time.
        """
        worker = await self._take(gone)
        while not worker.is_alive():
            self._metrics.restarts.labels("died").inc()
            _log.warning("a worker died idle; another is started")
            self._renew(worker)
            worker = await self._take(gone)
        kill = True
        try:
            answer = await worker.run(task, arguments, self._settings.seconds)
            kill = answer.peak_bytes > _LARGE
        except TimeoutError:
            self._metrics.restarts.labels("deadline").inc()
            message = f"It took more than {self._settings.seconds:g} seconds; lower options.effort or options.lookahead, or send fewer jobs."
            raise problem("too-long", message) from None
        except BrokenProcessPool:
            self._metrics.restarts.labels("died").inc()
            _log.warning("a worker died at its work; another is started")
            message = "The process that worked on it died, perhaps for lack of memory; another takes its place. The same request may end it as well."
            raise problem("worker-died", message) from None
        else:
            if kill:
                self._metrics.restarts.labels("large").inc()
            return answer
        finally:
            if kill:
                self._renew(worker)
            else:
                self._put(worker)

    async def _take(self, gone: Callable[[], Awaitable[object]]) -> _Worker:
        if self._idle.empty() and self._n_waiting >= self._settings.waiting:
            raise problem("busy", f"{self._n_waiting} requests wait already.", retry_after="1")
        self._wait(1)
        turn, leave = asyncio.ensure_future(self._idle.get()), asyncio.ensure_future(gone())
        try:
            await asyncio.wait({turn, leave}, timeout=self._settings.seconds, return_when=asyncio.FIRST_COMPLETED)
            if turn.done():
                return turn.result()
            if leave.done():
                raise problem("not-http", "The caller has gone.")
            raise problem("busy", f"No worker came free within {self._settings.seconds:g} seconds.", retry_after="5")
        finally:
            turn.cancel()
            leave.cancel()
            self._wait(-1)

    def _wait(self, n: int) -> None:
        self._n_waiting += n
        self._metrics.waiting.set(self._n_waiting)
        self._metrics.workers_idle.set(self._idle.qsize())

    def _put(self, worker: _Worker) -> None:
        self._idle.put_nowait(worker)
        self._metrics.workers_idle.set(self._idle.qsize())

    def _renew(self, worker: _Worker) -> None:
        worker.end()
        renewal = asyncio.get_running_loop().create_task(self._replace())
        self._renewals.add(renewal)
        renewal.add_done_callback(self._renewals.discard)

    async def _replace(self) -> None:
        while True:
            worker = _Worker(self._settings.worker_bytes)
            try:
                await worker.ready()
            except asyncio.CancelledError:
                worker.end()
                raise
            except (BrokenProcessPool, TimeoutError, OSError) as error:
                worker.end()
                _log.error("a worker did not come up (%s); trying again", error or type(error).__name__)
                await asyncio.sleep(1)
            else:
                self._put(worker)
                return
