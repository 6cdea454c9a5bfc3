"""Many videos, in this process or in several; one bad video never stops the others."""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
import sys
import threading
from dataclasses import replace
from queue import Queue
from typing import TYPE_CHECKING, NoReturn

from uvast.devices import n_cores
from uvast.errors import ConfigError, UvastError
from uvast.features.extraction import Outcome, extract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from uvast.features.extraction import Order

    OnProgress = Callable[[str, float], None]
    Message = Outcome | ConfigError | tuple[str, float]

_THREADS = "OMP_NUM_THREADS"
_TERMINATED = 128 + signal.SIGTERM
"""The exit code of a process that has cleaned up after SIGTERM, as shells number them."""

_SECONDS_TO_END = 10


def extract_all(
    orders: Sequence[Order],
    *,
    n_processes: int = 1,
    devices: Sequence[str] = (),
    on_progress: OnProgress | None = None,
) -> Iterator[Outcome]:
    """Extracts features of many sources; yields outcomes as they are ready.

    Args:
        orders: what to extract.
        n_processes: how many run side by side; each has its share of the cores.
        devices: dealt out to the processes in turn; if empty, the orders' own.
        on_progress: called with the name of a source and the share of it that is done.
    """
    if n_processes == 1 or len(orders) == 1:
        for order in orders:
            yield attempt(order, on_progress)
        return
    yield from _in_processes(orders, min(n_processes, len(orders)), devices, on_progress)


def attempt(order: Order, on_progress: OnProgress | None = None) -> Outcome:
    """Extracts the features of one source; an error becomes part of the outcome."""

    def tell(share: float) -> None:
        if on_progress is not None:
            on_progress(order.name, share)

    try:
        return extract(order, tell)
    except ConfigError:
        raise  # it would be the same for every source
    except UvastError as error:
        return Outcome(order.name, "failed", error=error)
    except (MemoryError, OSError, RuntimeError, ValueError, csv.Error) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return Outcome(order.name, "failed", error=UvastError(reason, where=order.source))


def _in_processes(
    orders: Sequence[Order],
    n_processes: int,
    devices: Sequence[str],
    on_progress: OnProgress | None,
) -> Iterator[Outcome]:
    messages: Queue[Message] = Queue()
    left = list(reversed(orders))
    workers = [
        _Worker(left, messages, devices[index % len(devices)] if devices else None, n_processes)
        for index in range(n_processes)
    ]
    threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    n_done = 0
    try:
        while n_done < len(orders):
            message = messages.get()
            if isinstance(message, ConfigError):
                raise message
            if isinstance(message, Outcome):
                n_done += 1
                yield message
            elif on_progress is not None:
                on_progress(*message)
    finally:  # after an interrupt, nothing new starts and nothing keeps running
        left.clear()
        for worker in workers:
            worker.tell_to_stop()
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join()


class _Worker:
    """A process that extracts one source after another; a new one takes over if it dies."""

    def __init__(
        self, left: list[Order], messages: Queue[Message], device: str | None, n_processes: int
    ) -> None:
        self._left = left
        self._messages = messages
        self._device = device
        self._n_threads = max(1, n_cores() // n_processes)
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self) -> None:
        """Works until no order is left."""
        while (order := self._next()) is not None:
            self._messages.put(self._extracted(order))
        self.stop()

    def tell_to_stop(self) -> None:
        """Asks the process to end, and starts no other."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.terminate()

    def stop(self) -> None:
        """Ends the process, and starts no other."""
        self.tell_to_stop()
        process = self._process
        if process is not None:
            _wait_for(process)

    def _next(self) -> Order | None:
        try:
            order = self._left.pop()
        except IndexError:
            return None
        return order if self._device is None else replace(order, device=self._device)

    def _extracted(self, order: Order) -> Outcome | ConfigError:
        try:
            connection = self._started()
            connection.send(order)
            while True:
                message = connection.recv()
                if isinstance(message, Outcome | ConfigError):
                    return message
                self._messages.put(message)
        except (EOFError, OSError):
            what = f"its process died ({self._end()})"
            error = UvastError(what, where=order.source, remedy="leave it out or convert it")
            return Outcome(order.name, "failed", error=error)

    def _started(self) -> Connection:
        with self._lock:
            if self._stopped:
                raise EOFError
            if self._process is None or self._connection is None:
                context = multiprocessing.get_context("spawn")
                self._connection, other = context.Pipe()
                arguments = (other, self._n_threads)
                self._process = context.Process(target=_work, args=arguments, daemon=True)
                self._process.start()
                other.close()
            return self._connection

    def _end(self) -> str:
        """How the process ended; the next order starts another."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return "stopped"
        _wait_for(process)
        code = -signal.SIGTERM if process.exitcode == _TERMINATED else process.exitcode
        return f"killed by {signal.Signals(-code).name}" if code and code < 0 else f"code {code}"


def _wait_for(process: BaseProcess) -> None:
    """Waits for a process to end, then kills it: it may be deep in a network."""
    process.join(_SECONDS_TO_END)
    process.kill()
    process.join()


def _clear_up(*_: object) -> NoReturn:
    """Ends this process through its `with` blocks, so that no temporary folder is left."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    sys.exit(_TERMINATED)


def _work(connection: Connection, n_threads: int) -> None:
    """What a process runs: takes orders until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    signal.signal(signal.SIGTERM, _clear_up)
    os.environ.setdefault(_THREADS, str(n_threads))  # before torch is imported

    def tell(name: str, share: float) -> None:
        connection.send((name, share))

    while True:
        try:
            order: Order = connection.recv()
        except EOFError:
            return
        try:
            connection.send(attempt(order, tell))
        except ConfigError as error:
            connection.send(error)
