"""What every command shares: results go to stdout, progress and notes to stderr."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

# Names of classes and files are printed as they are, also if they look like rich's markup.
results = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
notes = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


def print_json(value: object) -> None:
    """One JSON document on stdout, for scripts."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table on stdout; columns of words are aligned left, numbers right."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for index, column in enumerate(columns):
        words = index == 0 or any(row[index][:1].isalpha() for row in rows)
        table.add_column(column, justify="left" if words else "right")
    for row in rows:
        table.add_row(*row)
    results.print(table)


def note(text: str) -> None:
    """A line for the person at the terminal, on stderr."""
    notes.print(text)


def progress_bar() -> Progress:
    """A progress bar with the time left, on stderr."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=notes,
    )
