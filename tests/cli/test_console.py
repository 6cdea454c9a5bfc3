"""Progress: bars at a terminal, plain lines in a log file; all of it on stderr."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

import pytest
from rich.console import Console

from uvast.cli import console
from uvast.cli.console import note, progress_bar


@dataclass
class Screen:
    """A place for notes with a clock of its own."""

    now: float = 0.0
    file: io.StringIO = field(default_factory=io.StringIO)

    @property
    def lines(self) -> list[str]:
        return self.file.getvalue().splitlines()


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Screen:
    screen = Screen()
    plain = Console(file=screen.file, get_time=lambda: screen.now, soft_wrap=True)
    monkeypatch.setattr(console, "notes", plain)
    return screen


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Screen:
    screen = Screen()
    wide = Console(
        file=screen.file,
        get_time=lambda: screen.now,
        force_terminal=True,
        color_system=None,
        width=80,
        _environ={"TERM": "xterm"},
    )
    monkeypatch.setattr(console, "notes", wide)
    return screen


def break_off(error: type[BaseException]) -> None:
    """Work that ends with an error after one of four runs."""
    with progress_bar() as progress:
        progress.advance(progress.add_task("runs", total=4))
        raise error


def test_without_a_terminal_a_plain_line_comes_every_half_minute(
    log: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar() as progress:
        task = progress.add_task("stage 1", total=150)
        for epoch in range(1, 51):
            log.now += 2
            progress.update(task, completed=epoch, description=f"epoch {epoch}: loss 3.33")
        assert log.lines == [
            "epoch 15: loss 3.33, 15/150, 0:00:30 left 0:04:30",
            "epoch 30: loss 3.33, 30/150, 0:01:00 left 0:04:00",
            "epoch 45: loss 3.33, 45/150, 0:01:30 left 0:03:30",
        ]
    assert log.lines[3:] == ["epoch 50: loss 3.33, 50/150, 0:01:40 left 0:03:20"]
    assert capsys.readouterr().out == ""


def test_slow_work_is_told_when_it_moves_and_when_it_ends(log: Screen) -> None:
    with progress_bar() as progress:
        task = progress.add_task("runs", total=2)
        log.now = 600
        progress.advance(task)
        assert log.lines == ["runs, 1/2, 0:10:00"]
        progress.advance(task)
        log.now = 700
    assert log.lines[1:] == ["runs, 2/2, 0:10:00"]


def test_a_line_is_not_told_twice(log: Screen) -> None:
    with progress_bar() as progress:
        task = progress.add_task("runs", total=2)
        log.now = 60.0
        progress.update(task, completed=2)
    assert log.lines == ["runs, 2/2, 0:01:00"]


def test_work_of_unknown_size_is_told_too(log: Screen) -> None:
    with progress_bar() as progress:
        task = progress.add_task("checking", total=None)
        log.now = 31
        progress.advance(task)
    assert log.lines[0] == "checking, 1/?, 0:00:31"


def test_an_error_leaves_no_line_and_an_interrupt_the_last_one(log: Screen) -> None:
    for error, expected in ((ValueError, []), (KeyboardInterrupt, ["runs, 1/4, 0:00:00"])):
        with pytest.raises(error):
            break_off(error)
        assert log.lines == expected


@pytest.mark.parametrize("kind", ["log", "terminal"])
def test_no_task_is_no_line(request: pytest.FixtureRequest, kind: str) -> None:
    screen = request.getfixturevalue(kind)
    with progress_bar():
        pass
    assert screen.lines == []


def test_numbers_and_times_are_whole_at_80_columns(terminal: Screen) -> None:
    with progress_bar() as progress:
        text = "UVAST, one click per action, stage 2, epoch 560: loss 3.33, validation 75.3"
        task = progress.add_task(text, total=800, completed=500)
        for _ in range(60):
            terminal.now += 5
            progress.advance(task)
    plain = re.sub(r"\x1b\[[?\d;]*\w", "", terminal.file.getvalue())
    shown = re.split(r"[\r\n]+", plain.strip())[-1]
    assert len(shown) <= 80
    assert re.fullmatch(r"UVAST, one click per action.*… ━+ +560/800 0:05:00 left 0:20:00", shown)


def test_an_error_removes_the_bar_and_an_interrupt_does_not(terminal: Screen) -> None:
    erased = "\x1b[1A\x1b[2K"
    for error, gone in ((ValueError, True), (KeyboardInterrupt, False)):
        with pytest.raises(error):
            break_off(error)
        assert terminal.file.getvalue().endswith(erased) == gone


def test_of_several_processes_the_first_says_it(
    log: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        note(f"rank {rank}")
    assert log.lines == ["rank 0"]
