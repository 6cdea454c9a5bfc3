"""What every command shares: results go to stdout, progress and notes to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from uvast.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress

LONGEST_CELL = 100
LONGEST_NOTE = 2000
"""Names of videos and classes come from outside: longer ones are cut."""

# Names are printed as they are, even if they look like rich markup.
results = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
notes = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


def print_json(value: object) -> None:
    """One JSON document on stdout, for scripts."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a limited encoding, or a name that is not valid text
        text = json.dumps(value, indent=2)
    sys.stdout.write(f"{text}\n")


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table on stdout; columns of words are aligned left, numbers right."""
    table = Table(
        title=printable(title), title_justify="left", title_style="bold", header_style="bold"
    )
    for index, column in enumerate(columns):
        words = index == 0 or any(row[index][:1].isalpha() for row in rows)
        table.add_column(_cell(column), justify="left" if words else "right")
    for row in rows:
        table.add_row(*map(_cell, row))
    results.print(table)


def _cell(text: str) -> str:
    return printable(text, LONGEST_CELL)


def is_first_process() -> bool:
    """Whether this process is the one that talks to the user, of those that train together."""
    return os.environ.get("RANK", "0") == "0"


def note(text: str) -> None:
    """Prints a line for the user on stderr; of several processes, only the first does."""
    if is_first_process():
        notes.print(printable(text, LONGEST_NOTE))


def progress_bar() -> Progress:
    """A progress bar with the time left, on stderr; without a terminal, a line now and then."""
    from uvast.cli.bars import bars_on

    return bars_on(notes)
