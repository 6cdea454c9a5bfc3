"""Live updates for all clients: server-sent events, one queue per listener."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

SECONDS_BETWEEN_PINGS = 15.0
_SECONDS_TO_END = 0.5
_LONGEST_QUEUE = 1000

Queue = asyncio.Queue[bytes]


_RELOAD = b'data: {"reload": true}\n\n'


class News:
    """Passes on what happens, in any thread, to all listeners in the event loop.

    Attributes:
        is_over: whether the server is about to stop, and with it all streams.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queues: set[Queue] = set()
        self.is_over: Callable[[], bool] = lambda: False

    def begin(self) -> None:
        """Called in the event loop that serves requests."""
        self._loop = asyncio.get_running_loop()

    def tell(self, item: bytes) -> None:
        """Sends JSON to all listeners, from any thread; never waits."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._spread, b"data: " + item + b"\n\n")

    def stream(self) -> StreamingResponse:
        """The answer to a listener."""
        return StreamingResponse(
            self._events(), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    def _spread(self, item: bytes) -> None:
        for queue in self._queues:
            if queue.full():  # asleep: it reloads everything when it wakes
                _emptied(queue).put_nowait(_RELOAD)
            else:
                queue.put_nowait(item)

    async def _events(self) -> AsyncIterator[bytes]:
        async with self._listening() as queue:
            yield b"retry: 1000\n\n"
            told_at = time.monotonic()
            while not self.is_over():
                try:
                    items = [await asyncio.wait_for(queue.get(), _SECONDS_TO_END)]
                except asyncio.TimeoutError:
                    if time.monotonic() - told_at < SECONDS_BETWEEN_PINGS:
                        continue
                    yield b": still here\n\n"
                else:
                    while not queue.empty():
                        items.append(queue.get_nowait())
                    yield b"".join(items)
                told_at = time.monotonic()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[Queue]:
        queue: Queue = asyncio.Queue(_LONGEST_QUEUE)
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)


def encoded(item: Mapping[str, object]) -> bytes:
    """An update as JSON."""
    return json.dumps(item).encode()


def _emptied(queue: Queue) -> Queue:
    while not queue.empty():
        queue.get_nowait()
    return queue
