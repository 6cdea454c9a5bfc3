"""A broken file is one sentence: never a traceback, a hang, a flood or a changed file.

The bounded part of `make fuzz`: hypothesis draws the same cases every time, and every file meets
every third of the places.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from .cases import Case, broken_files, run_case
from .known import KNOWN, RED, Known
from .places import PLACES
from .sandbox import Outcome, Sandbox
from .targets import TARGETS, Target
from .verdict import faults

N_CASES = 3
"""Of each target."""

EVERY = 3
"""Which files a place is tried on: one of so many, other ones at the next place."""

FIRST = {target.file: target for target in reversed(TARGETS)}
"""Each file with the first command that reads it."""


def _name(one: Target | Known) -> str:
    return one.name[:80]


@pytest.mark.parametrize("target", TARGETS, ids=_name)
def test_broken_content_is_one_sentence(target: Target, sandbox: Sandbox) -> None:
    assert (sandbox.fresh() / target.file).is_file()
    whole = sandbox.run(target.words)
    assert whole.code == 0, whole
    assert not faults(whole, target)

    @settings(
        max_examples=N_CASES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(broken_files(target))
    def examine(case: Case) -> None:
        _check(str(case), run_case(case, sandbox), target)

    examine()


@pytest.mark.parametrize("known", KNOWN, ids=_name)
def test_what_once_broke_uvast_is_one_sentence(known: Known, sandbox: Sandbox) -> None:
    readers = [target for target in TARGETS if target.file == known.file]
    for target in {one.words: one for one in (readers[0], readers[-1])}.values():
        file = sandbox.fresh() / target.file
        file.write_bytes(known.change(file.read_bytes()))
        _check(target.name, sandbox.run(target.words), target)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_plain_file_is_one_sentence(place: str, sandbox: Sandbox) -> None:
    found = []
    for target in list(FIRST.values())[[*PLACES].index(place) % EVERY :: EVERY]:
        case = Case(target, place=place)
        found += [f"{case}: {one}" for one in faults(run_case(case, sandbox), target)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("data/mapping.txt", "data check data"),
        ("settings.toml", "config --config settings.toml"),
        ("run/run.json", "train --resume run"),
    ],
)
def test_a_process_of_its_own_in_a_terminal_of_ascii(
    file: str, words: str, sandbox: Sandbox
) -> None:
    (sandbox.fresh() / file).write_text(f"{RED} é\n" * 3)
    finished = subprocess.run(
        [sys.executable, "-m", "uvast", *words.split()],
        cwd=sandbox.case,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    target = next(one for one in TARGETS if one.file == file)
    assert finished.returncode == 2
    _check(words, Outcome(2, finished.stdout, finished.stderr), target)


def _check(name: str, outcome: Outcome, target: Target) -> None:
    found = faults(outcome, target)
    assert not found, f"{name}\n" + "\n".join(f"{one}\n{one.detail}" for one in found)
