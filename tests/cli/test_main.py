"""The command line as a whole: errors as sentences, exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
import typer

from uvast._version import __version__
from uvast.cli import main as command_line
from uvast.cli.console import note, print_json, print_table
from uvast.errors import MissingFileError


def uvast(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "uvast", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def run_main(monkeypatch, capsys):
    """`main()` with one command that raises; gives its exit code, stdout and stderr."""

    def run(error: BaseException | None, *options: str):
        app = typer.Typer(cls=command_line.Commands)

        @app.callback()
        def options_of_all() -> None:
            pass

        @app.command("sweep")
        @app.command("work")
        def work() -> None:
            print("some result")
            if error is not None:
                raise error

        monkeypatch.setattr(command_line, "app", app)
        monkeypatch.setattr(sys, "argv", ["uvast", *options])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return run


def test_evaluating_never_imports_torch(tmp_path):
    (tmp_path / "groundTruth").mkdir()
    (tmp_path / "groundTruth" / "v1.txt").write_text("cut\ncut\n")
    code = (
        "import sys; from uvast.cli.main import main\n"
        f"sys.argv = ['uvast', 'evaluate', {str(tmp_path / 'groundTruth')!r}, {str(tmp_path)!r}]\n"
        "try:\n    main()\n"
        "finally:\n    print('torch' in sys.modules, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr.strip()) == (0, "False")
    assert "100.0" in run.stdout


def test_the_version():
    run = uvast("--version")
    assert (run.returncode, run.stdout) == (0, f"uvast {__version__}\n")


def test_no_arguments_show_the_help():
    run = uvast()
    assert "Usage:" in run.stdout + run.stderr
    assert "evaluate" in run.stdout + run.stderr


def test_an_unknown_command_is_exit_code_2():
    run = uvast("evaluat")
    assert run.returncode == 2
    assert "No such command 'evaluat'" in run.stderr
    assert run.stdout == ""


def test_a_real_error_is_one_sentence(tmp_path):
    run = uvast("evaluate", str(tmp_path / "predictions"), str(tmp_path / "nowhere"))
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr == (
        f"error: {tmp_path / 'nowhere'}: does not exist; give the folder of a dataset\n"
    )


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_the_traceback_of_a_real_error(tmp_path, place):
    command = ["evaluate", str(tmp_path), str(tmp_path / "nowhere")]
    run = uvast(*(["--debug", *command] if place == "before" else [*command, "--debug"]))
    assert run.returncode == 2
    assert run.stderr.startswith("Traceback (most recent call last):")
    assert run.stderr.rstrip().endswith("does not exist; give the folder of a dataset")


def test_success_is_exit_code_0(run_main):
    assert run_main(None, "work") == (0, "some result\n", "")
    assert run_main(None, "work", "--debug") == (0, "some result\n", "")


def test_a_long_error_stays_one_line(run_main):
    what = "a very long sentence " * 15 + "[bold]with markup[/] and :smile:"
    code, out, err = run_main(MissingFileError(what, where="/a/b", remedy="do this"), "work")
    assert (code, out) == (2, "some result\n")
    assert err == f"error: /a/b: {what}; do this\n"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (PermissionError(13, "Permission denied", "/a/b"), "/a/b: Permission denied"),
        (OSError(28, "No space left on device"), "the system: No space left on device"),
        (OSError("odd"), "odd"),
    ],
)
def test_errors_of_the_system_are_sentences_too(run_main, error, sentence):
    assert run_main(error, "work") == (2, "some result\n", f"error: {sentence}\n")


def test_an_interrupt_is_exit_code_130(run_main):
    assert run_main(KeyboardInterrupt(), "work") == (130, "some result\n", "stopped\n")


def test_an_interrupt_tells_how_to_go_on(run_main):
    assert isinstance(typer.main.get_command(command_line.app), command_line.Commands)
    code, _, err = run_main(KeyboardInterrupt("go on with: this"), "work")
    assert (code, err) == (130, "stopped; go on with: this\n")
    code, _, err = run_main(KeyboardInterrupt(), "sweep")
    assert (code, err) == (130, "stopped; the same command does what is left\n")


INTERRUPTED_IMPORT = """
import os, signal, sys
from uvast.cli.start import main

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
            {module!r} in sys.modules  # handlers run between two steps of Python

sys.meta_path.insert(0, Interrupt())
sys.argv = ["uvast", "segment", "nowhere", "nothing", "--out", "out"]
main()
"""


@pytest.mark.parametrize(
    "module", ["uvast.cli.main", "typer.core", "rich.table", "uvast.inference", "numpy", "torch"]
)
def test_an_interrupt_while_a_module_is_imported_is_one_line(module):
    code = INTERRUPTED_IMPORT.format(module=module)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "stopped\n")


INTERRUPTED_AT_THE_END = """
import atexit, os, signal, sys

class Late:  # gone when Python unloads its modules: signals kill from then on
    def __del__(self, kill=os.kill, us=os.getpid(), interrupt=signal.SIGINT):
        kill(us, interrupt)

sys.late = Late()
import uvast.cli.main
import uvast.cli.config

def work(*_, **__):
    if {at_exit}:
        atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
    os.kill(os.getpid(), signal.SIGINT)

uvast.cli.config.chosen_config = work
from uvast.cli.start import main
sys.argv = ["uvast", "config"]
main()
"""


@pytest.mark.parametrize("at_exit", [True, False])
def test_another_interrupt_while_python_ends_changes_nothing(at_exit):
    code = INTERRUPTED_AT_THE_END.format(at_exit=at_exit)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "stopped\n")


def test_a_reader_that_leaves_early_sees_no_error():
    """As in `uvast config | true`: not a word, and the code of a command that was not heard out."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "uvast", "config"]
    run = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (run.returncode, run.stderr) == (1, "")


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_closed_stream_is_no_error(closed):
    command = f"exec {sys.executable} -m uvast config {closed}>&-"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert bool(run.stdout) == (closed == "2")


def test_characters_that_a_terminal_does_not_know_are_replaced():
    run = subprocess.run(
        [sys.executable, "-m", "uvast", "evaluate", "vidéo", "vidéo"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert run.returncode == 2
    assert run.stderr == b"error: vid?o: does not exist; give the folder of a dataset\n"


def test_json_keeps_names_that_a_terminal_does_not_know(monkeypatch):
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", file)
    print_json({"vidéo": "\udcff"})
    file.flush()
    assert json.loads(file.buffer.getvalue()) == {"vidéo": "\udcff"}


def test_names_cannot_reach_the_terminal_or_fill_it(capsys):
    print_table("\x1b]0;title\x07", ["name\n"], [["\x1b[2Jred"], ["x" * 5000], ["\u202eabc"]])
    note("video \x1b[31m\n" + "y" * 50_000)
    captured = capsys.readouterr()
    assert not {"\x1b", "\x07", "\u202e"} & set(captured.out + captured.err)
    assert "\\x1b[2Jred" in captured.out
    assert len(captured.out) < 3000
    assert captured.err.count("\n") == 1
    assert len(captured.err) < 3000


def test_a_table_aligns_numbers_and_keeps_names(capsys):
    print_table("[b]title[/b]", ["name", "n"], [["[i]x[/i]", "1"], ["y", "100"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "[b]title[/b]"
    assert lines[-3] == "│ [i]x[/i] │   1 │"
    assert lines[-2] == "│ y        │ 100 │"
