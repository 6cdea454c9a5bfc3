"""What every command shares: results go to stdout, progress and notes to stderr."""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

from uvast.errors import printable
from uvast.files.progress import ProgressFile

SECONDS_BETWEEN_LINES = 30.0
"""Without a terminal, a plain progress line is printed this often."""

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


def counted(number: int, noun: str) -> str:
    """`1 video`, `2 videos`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def note(text: str) -> None:
    """Prints a line for the user on stderr; of several processes, only the first does."""
    if os.environ.get("RANK", "0") == "0":
        notes.print(printable(text, LONGEST_NOTE))


def progress_bar() -> Progress:
    """A progress bar with the time left, on stderr.

    In a narrow terminal the bar gets shorter, then the description is cut, but never a number.
    Without a terminal, a plain line reports progress about every 30 seconds.
    """
    whole = Column(no_wrap=True)
    return _Bars(
        _Description(),
        BarColumn(max(10, min(40, notes.width // 8)), table_column=whole),
        MofNCompleteColumn(table_column=whole),
        TimeElapsedColumn(table_column=whole),
        TextColumn("left"),
        TimeRemainingColumn(table_column=whole),
        console=notes,
        disable=not notes.is_terminal or notes.is_dumb_terminal,
    )


class _Description(ProgressColumn):
    """The one column that may be cut."""

    def render(self, task: Task) -> Text:
        return Text(printable(task.description), no_wrap=True, overflow="ellipsis")


class _Bars(Progress):
    """Bars that appear with the first task and vanish on an error; if disabled, plain lines."""

    def __init__(self, *columns: ProgressColumn, **options: Any) -> None:
        super().__init__(*columns, **options)
        self._told_at = self.get_time()
        self._told = ""
        self._file = ProgressFile.wanted()

    def start(self) -> None:
        """Shows nothing, not even an empty line, until there is a task."""
        if self._tasks:
            super().start()

    def add_task(self, *arguments: Any, **options: Any) -> TaskID:
        task_id = super().add_task(*arguments, **options)
        self.start()
        return task_id

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        self._tell_now_and_then(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        self._tell_now_and_then(task_id)

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        """Ctrl-C, which is not an `Exception`, leaves the bars to show how far the work got."""
        failed = kind is not None and issubclass(kind, Exception)
        self.live.transient = failed
        self.stop()
        if self.disable and not failed:
            for task in self.tasks:
                self._tell(task)

    def _tell_now_and_then(self, task_id: TaskID) -> None:
        now = self.get_time()
        if self._file is not None:
            task = self._tasks[task_id]
            self._file.tell(task.description, task.completed, task.total, task.time_remaining)
        if self.disable and now - self._told_at >= SECONDS_BETWEEN_LINES:
            self._told_at = now
            self._tell(self._tasks[task_id])

    def _tell(self, task: Task) -> None:
        line = _line(task)
        if line != self._told:
            self._told = line
            self.console.print(line)


def _line(task: Task) -> str:
    """`stage 1: loss 3.33, 30/150, 0:02:10 left 0:03:02`."""
    total = "?" if task.total is None else int(task.total)
    line = f"{printable(task.description)}, {int(task.completed)}/{total}"
    if task.finished_time is not None:
        return f"{line}, {_clock(task.finished_time)}"
    left = task.time_remaining
    line = f"{line}, {_clock(task.elapsed or 0)}"
    return line if left is None else f"{line} left {_clock(left)}"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
