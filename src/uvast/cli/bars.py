"""Progress bars at a terminal, plain lines in a log file.

Apart from `uvast.cli.console`, because rich's bars are slow to import and `--help` shows none.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

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
from rich.table import Column
from rich.text import Text

from uvast.errors import printable
from uvast.files.progress import ProgressFile

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_LINES = 30.0
"""Without a terminal, a plain progress line is printed this often."""


def bars_on(console: Console) -> Progress:
    """Bars with the time left.

    In a narrow terminal the bar gets shorter, then the description is cut, but never a number.
    Without a terminal, a plain line reports progress about every 30 seconds.
    """
    whole = Column(no_wrap=True)
    return _Bars(
        _Description(),
        BarColumn(max(10, min(40, console.width // 8)), table_column=whole),
        MofNCompleteColumn(table_column=whole),
        TimeElapsedColumn(table_column=whole),
        TextColumn("left"),
        TimeRemainingColumn(table_column=whole),
        console=console,
        disable=not console.is_terminal or console.is_dumb_terminal,
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
