"""The entry point: from here on, Ctrl-C prints one line, even while modules are being imported.

It imports as little as possible itself: until it is loaded, Ctrl-C shows a traceback.
"""

from __future__ import annotations

import atexit
import os
import signal

INTERRUPTED = 130
"""The exit code of a command that was stopped by Ctrl-C."""


def main() -> None:
    """Runs the command line."""
    # a process started with `nohup` or `&` ignores Ctrl-C, and keeps ignoring it
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop_at_once)
    atexit.register(_end)  # the first to come is the last to be called
    from uvast.cli.main import main

    main()


def stop_at_once(number: int, frame: object) -> None:
    """Ends the process on a signal, at moments when there is nothing to clean up."""
    del number, frame
    os.write(2, b"stopped\n")
    os._exit(INTERRUPTED)


def end_quietly() -> None:
    """Makes another Ctrl-C end the process without a word: the line has been printed."""
    if signal.getsignal(signal.SIGINT) is stop_at_once:
        signal.signal(signal.SIGINT, _end)


def _end(*_: object) -> None:
    """Ends an interrupted process: Python takes seconds to unload torch, and a signal kills it."""
    if signal.getsignal(signal.SIGINT) is _end:
        os._exit(INTERRUPTED)
