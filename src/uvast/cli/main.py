"""The command line as a whole, and the one place where errors become sentences."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uvast._version import __version__
from uvast.cli.commands import QuickGroup, add_commands
from uvast.cli.start import INTERRUPTED, end_quietly, stop_at_once
from uvast.errors import UvastError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

RESUMED = ("benchmark", "compare", "extract", "reproduce", "segment", "sweep")
"""Commands that continue where they were stopped when they are run again."""


class Commands(QuickGroup):
    """Makes Ctrl-C print one line, with how to continue if possible; typer would say nothing."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that was typed."""
        try:
            with _interruptible():
                return super().invoke(ctx)
        except typer.BadParameter as wrong:
            wrong.message = wrong.message.removeprefix("Value error, ")  # pydantic's, for nobody
            raise
        except KeyboardInterrupt as stop:
            from uvast.cli.console import note

            resumed = ctx.invoked_subcommand in RESUMED
            how = ("the same command does what is left",) if resumed else stop.args
            if isinstance(ctx.obj, str):  # a step of `uvast demo`
                how = (ctx.obj,)
            note("; ".join(("stopped", *how)))
            end_quietly()
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="uvast",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_commands(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"uvast {__version__}")
        raise typer.Exit


@app.callback()
def _uvast(
    debug: Annotated[  # read in `main`, before typer sees it
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
    version: Annotated[  # handled by its callback
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Split long videos into actions: from full labels, or from one click per action.

    For example:

    ```
    # the whole journey on generated videos
    uvast demo

    # your own videos, in the browser
    uvast app my-project

    # or in the terminal
    uvast init my-project --videos recordings/
    ```
    """


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt here, so that work ends cleanly."""
    before = signal.getsignal(signal.SIGINT)
    if before is not stop_at_once:  # called from Python, or Ctrl-C is ignored
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt; amid an import, which might swallow or mask it, stops at once."""
    outer = frame
    while outer is not None:
        if outer.f_code.co_filename.startswith("<frozen importlib"):
            stop_at_once(number, frame)
        outer = outer.f_back
    raise KeyboardInterrupt


def _sentence(error: UvastError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return printable(f"{error.filename or 'the system'}: {error.strerror}")
    return str(error)


def main() -> None:
    """Runs the command line; an expected error is one sentence and exit code 2."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may lack some characters
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(args=arguments)
    except SystemExit as end:
        sys.exit(end.code if _is_read() else 1)
    except (UvastError, OSError) as error:
        from uvast.cli.console import notes

        if len(arguments) < len(sys.argv) - 1:
            notes.print(traceback.format_exc(), end="")
        notes.print(f"error: {_sentence(error)}", style="red")
        sys.exit(2)


def _open_closed() -> None:
    """Gives the process the streams that it was started without, as by `uvast … >&-`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def _is_read() -> bool:
    """Whether stdout was read to its end; `uvast … | head` does not."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # drops the rest
        return False
    return True
