"""The fuzzing itself: it sees what is wrong, and a kept case runs again byte by byte."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .cases import Case, keep, read_case, run_case
from .mutations import BREAKS, Mutation, mutated
from .sandbox import Outcome, Sandbox
from .targets import TARGETS, Target
from .verdict import Fault, faults
from .watch import Limits, watch

TARGET = Target("data/mapping.txt", "lines", "evaluate predictions data")
CHECK = replace(TARGET, words="data check data")
TRACE = 'KeyError\nTraceback …\n  File "/x/uvast/data/spec.py", line 7, in f\nKeyError: 1'

SAMPLES = {
    "lines": b"0 a\n1 b\n",
    "csv": b"video,frame,label\nv,1,a\n",
    "json": b'{"a": [1, {"b": null}], "c": "d"}',
    "json lines": b'{"a": 1}\n{"b": 2}\n',
    "toml": b'[model]\nwidth = 8\nkind = "a"\n',
    "dataset.toml": b'sampling_rate = 2\ngroup_by = "(a)"\n',
}


@pytest.mark.parametrize(
    ("outcome", "what"),
    [
        (Outcome(0), ""),
        (Outcome(2, stderr="error: x: is not there; check the path\n"), ""),
        (Outcome(1), "exit code 1"),
        (Outcome(None), "died by a signal"),
        (Outcome(None, crash=TRACE), "KeyError at data/spec.py:7"),
        (Outcome(None, killed="slept for 4 s"), "slept for 4 s"),
        (Outcome(0, stderr="Traceback (most recent call last)\n"), "prints a traceback"),
        (Outcome(2), "exit code 2 without one last sentence"),
        (Outcome(2, stderr="error: a\nerror: b\n"), "exit code 2 without one last sentence"),
        (Outcome(2, stderr="error: a\nb\n"), "exit code 2 without one last sentence"),
        (Outcome(0, stderr="n" * 2_000), "a sentence longer than 1000"),
        (Outcome(2, error="n" * 2_000), "a sentence longer than 1000"),
        (Outcome(0, stdout="\x1b[31m"), "control characters in stdout"),
        (Outcome(2, error="a\nb"), "control characters in a sentence"),
        (Outcome(2, error="\u202ex"), "control characters in a sentence"),
        (Outcome(0, changed=("data/mapping.txt",)), "changes its input"),
        (Outcome(0, changed=("out", "out/a")), ""),
        (Outcome(0, outside=("os.system ('true',)",)), "reaches outside"),
    ],
)
def test_the_verdict_names_what_is_wrong(outcome: Outcome, what: str) -> None:
    assert [str(fault) for fault in faults(outcome, TARGET)] == ([what] if what else [])


def test_problems_of_data_check_are_sentences_too() -> None:
    assert not faults(Outcome(2, stdout="problem: a\n1 problem\n"), CHECK)
    long = Outcome(2, stdout=f"problem: {'n' * 2_000}\n")
    assert [fault.what for fault in faults(long, CHECK)] == ["a sentence longer than 1000"]


@pytest.mark.parametrize(
    ("program", "killed"),
    [
        ("pass", None),
        ("import time; time.sleep(60)", "slept for 1 s"),
        ("while True: pass", "was not done after 1 s of work"),
        ("x = b'x' * 300_000_000; input()", "took more than 200 MB"),
    ],
)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
def test_a_process_beyond_its_limits_is_ended(program: str, killed: str | None) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, start_new_session=True
    )
    ended = watch(process.pid, Limits(cpu_seconds=1, idle_seconds=1, megabytes=200))
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    assert ended["killed"] == killed


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_mutations_are_pure(kind: str, data: st.DataObject) -> None:
    number = st.integers(0, 9_999)
    change = data.draw(st.builds(Mutation, st.sampled_from(sorted(BREAKS[kind])), number, number))
    assert mutated(SAMPLES[kind], kind, change) == mutated(SAMPLES[kind], kind, change)


def test_a_kept_case_runs_again_byte_by_byte(tmp_path: Path, sandbox: Sandbox) -> None:
    target = next(one for one in TARGETS if one.file == "begun/run.json")
    case = Case(target, (Mutation("rename", 3, 5),), encoding="ascii")
    before = run_case(case, sandbox)
    broken = (sandbox.case / target.file).read_bytes()
    assert bytes(sandbox.case) in broken
    keep(case, tmp_path / "case.json", sandbox, Fault("what", "place", "detail"))
    assert str(sandbox.case) not in (tmp_path / "case.json").read_text()
    read, content = read_case(tmp_path / "case.json", sandbox)
    assert (read, content) == (case, broken)
    after = run_case(read, sandbox, content)
    assert (after.code, after.stderr) == (before.code, before.stderr)


def test_a_case_leaves_nothing_to_the_next_one(sandbox: Sandbox) -> None:
    target = next(one for one in TARGETS if one.words.startswith("train data"))
    whole = {path: path.read_bytes() for path in sandbox.fresh().rglob("*") if path.is_file()}
    outcome = run_case(Case(target), sandbox)
    assert outcome.code == 0
    assert "out/run.json" in outcome.changed
    run_case(Case(replace(target, file="data/splits/test.split1.bundle"), place="folder"), sandbox)
    again = {path: path.read_bytes() for path in sandbox.fresh().rglob("*") if path.is_file()}
    assert again == whole
