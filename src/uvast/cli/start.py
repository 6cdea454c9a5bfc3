"""The entry point: from here on, Ctrl-C prints one line, even while modules are being imported.

It imports as little as possible itself: until it is loaded, Ctrl-C shows a traceback.
"""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130
"""The exit code of a command that was stopped by Ctrl-C."""


def main() -> None:
    """Runs the command line."""
    # a process started with `nohup` or `&` ignores Ctrl-C, and keeps ignoring it
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop_at_once)
    from uvast.cli.main import main

    main()


def stop_at_once(number: int, frame: object) -> None:
    """Ends the process on a signal, at moments when there is nothing to clean up."""
    del number, frame
    os.write(2, b"stopped\n")
    os._exit(INTERRUPTED)
