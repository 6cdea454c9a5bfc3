"""Help: quick, complete, and with examples that can be typed."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from uvast.cli import commands
from uvast.cli.main import app


def all_commands(command=None, path=()):
    """Every command and group of commands, by the words that call it."""
    command = command or typer.main.get_command(app)
    command = getattr(command, "command", command)  # a deferred one has it inside
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from all_commands(inner, (*path, name))


COMMANDS = dict(all_commands())
LEAVES = [path for path, command in COMMANDS.items() if not hasattr(command, "commands")]


SLOW = (
    *("torch", "numpy", "numba", "scipy", "pydantic", "safetensors", "matplotlib", "ray"),
    *("rich.progress", "uvast.config", "uvast.data", "uvast.files"),
)


def imported_by(*arguments: str) -> set[str]:
    """The modules that a command imports until it ends well."""
    command = [sys.executable, "-X", "importtime", "-m", "uvast", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}


def test_help_imports_nothing_slow_and_no_command():
    """Half a second is kept by not importing: the wall clock of a busy machine tells nothing."""
    modules = imported_by("--help")
    assert not modules & set(SLOW)
    own = {name for name in modules if name.startswith("uvast.cli.")}
    assert own == {"uvast.cli.start", "uvast.cli.main", "uvast.cli.commands"}


def test_the_version_does_not_even_import_rich():
    modules = imported_by("--version")
    assert "uvast.cli.main" in modules
    assert not modules & {"rich.console", *SLOW}


def test_the_help_of_no_command_imports_anything_slow():
    """All in one process, where what one of them imports stays imported."""
    code = (
        "import sys; from uvast.cli.main import app\n"
        f"for words in {[*map(list, COMMANDS)]}:\n"
        "    app(args=[*words, '--help'], standalone_mode=False)\n"
        f"    slow = [name for name in {SLOW} if name in sys.modules]\n"
        "    assert not slow, (words, slow)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count("Usage: ") == len(COMMANDS)


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_the_table_says_of_a_command_what_its_help_says_first(name):
    _, summary = commands.COMMANDS[name]
    first = COMMANDS[(name,)].help.split("\n\n")[0]
    assert summary == first.replace("\n", " ")


@pytest.mark.parametrize("path", list(COMMANDS), ids=" ".join)
def test_every_help_works(path):
    result = CliRunner().invoke(app, [*path, "--help"], prog_name="uvast")
    assert result.exit_code == 0
    assert " ".join(["Usage: uvast", *path]) in result.output
    short = CliRunner().invoke(app, [*path, "-h"], prog_name="uvast")
    assert short.output == result.output


def examples_of(path):
    """The block of examples in a help text, line by line."""
    _, block, _ = COMMANDS[path].help.split("```")
    return [line for line in block.splitlines() if line]


def commands_in(lines):
    """The words of every command; a line that ends in a backslash goes on in the next."""
    text = "\n".join(lines).replace("\\\n", "")
    found = (shlex.split(line.partition(">")[0], comments=True) for line in text.splitlines())
    return [words for words in found if words]


@pytest.mark.parametrize("path", list(COMMANDS), ids=" ".join)
def test_every_command_shows_an_example_of_itself(path):
    own = ["uvast", *path]
    assert any(words[: len(own)] == own for words in commands_in(examples_of(path)))


@pytest.mark.parametrize("path", list(COMMANDS), ids=" ".join)
def test_examples_can_be_copied_from_a_terminal(path):
    shown = CliRunner().invoke(app, [*path, "--help"], prog_name="uvast").output  # 80 columns
    lines = {line.rstrip() for line in shown.splitlines()}
    for line in examples_of(path):
        assert f"  {line}" in lines


@pytest.mark.parametrize("path", list(COMMANDS), ids=" ".join)
def test_examples_are_commands_that_can_be_typed(path):
    examples = commands_in(examples_of(path))
    for words in examples:
        if words[0] == "uvast":
            place = max((one for one in LEAVES if words[1:][: len(one)] == list(one)), key=len)
            COMMANDS[place].make_context("uvast", words[1 + len(place) :])
        else:
            assert words[0] in ("ssh", "torchrun")
