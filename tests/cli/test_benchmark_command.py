"""`uvast benchmark`, `reproduce` and `sweep` as a user meets them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from uvast.benchmark.engine import SerialEngine
from uvast.benchmark.paper_tables import tables
from uvast.cli.main import main


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    error: str


Uvast = Callable[..., Finished]
SMALL = [
    part
    for one in ("model.width=8", "model.n_encoder_layers=2", "model.n_stages=1", "train.epochs=1")
    for part in ("--set", one)
]


@pytest.fixture
def uvast(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Uvast:
    """The command in this process, its runs too: only `test_local_engine` starts processes."""
    monkeypatch.setattr("uvast.cli.options.make_engine", lambda *_, **__: SerialEngine())

    def run(*arguments: object) -> Finished:
        monkeypatch.setattr(sys, "argv", ["uvast", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Finished(int(end.value.code or 0), captured.out, captured.err)

    return run


def test_mean_and_spread_over_seeds_are_printed_beside_published_numbers(
    uvast: Uvast, tiny_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "gtea")
    options = ("--models", "ms-tcn,asformer", "--base", "auto", "--seeds", "0,1", "--splits", 1)
    command = ("benchmark", tmp_path / "gtea", *options, "--durations", "none,viterbi", *SMALL)
    finished = uvast(*command, "--out", tmp_path / "out")
    assert finished.code == 0, finished.error
    lines = [line for line in finished.out.splitlines() if "ASFormer + Viterbi" in line]
    assert ["published, I3D features" in line for line in lines] == [True, False]
    assert ["±" in line for line in lines] == [False, True]
    assert "gtea, full supervision: mean of 1 split, 2 seeds, ± over seeds" in finished.out
    for name in ("results.csv", "results.json", "results.md"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    assert "4 runs, 4 of them to train: less than a minute (auto)" in finished.error
    again = uvast(*command, "--out", tmp_path / "out", "--json")
    assert "4 runs, all of them trained already" in again.error
    rows = json.loads(again.out)
    assert [(row["model"], row["decoding"]) for row in rows] == [
        ("ms-tcn", "frames"),
        ("ms-tcn", "frames + viterbi"),
        ("asformer", "frames"),
        ("asformer", "frames + viterbi"),
    ]
    changed = uvast(*command, "--set", "train.epochs=2", "--out", tmp_path / "out")
    assert changed.code == 2
    assert "holds a run with other settings (train.epochs is 1 there, 2 here)" in " ".join(
        changed.error.split()
    )


def test_another_protocol_scores_the_same_runs_again(
    uvast: Uvast, tiny_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "gtea")
    options = ("--models", "ms-tcn", "--seeds", "0,1", "--members", 2, "--splits", 1, *SMALL)
    command = ("benchmark", tmp_path / "gtea", *options, "--out", tmp_path / "out")
    assert uvast(*command).code == 0
    standard = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("results.*")}
    finished = uvast(*command, "--protocol", "legacy")
    assert finished.code == 0, finished.error
    assert "2 runs, all of them trained already" in finished.error
    assert "also in" in finished.error
    assert "results-legacy.csv" in "".join(finished.error.split())
    assert "1 split, 2 seeds, ± over seeds, legacy protocol" in finished.out
    assert "Ours: legacy protocol." in finished.out
    rows = json.loads(uvast(*command, "--protocol", "legacy", "--json").out)
    assert {row["protocol"] for row in rows} == {"legacy"}
    assert {row["model"] for row in rows} == {"ms-tcn", "ms-tcn x 2"}
    now = {name: (tmp_path / "out" / name).read_bytes() for name in standard}
    assert now == standard
    assert len(list((tmp_path / "out").glob("results-legacy.*"))) == 3


def test_an_ensemble_that_cannot_be_formed_is_a_failure_and_leaves_the_results(
    uvast: Uvast, tiny_path: Path, tmp_path: Path
) -> None:
    options = ("--models", "ms-tcn", "--members", 2, "--splits", 1, "--durations", "none", *SMALL)
    command = ("benchmark", tiny_path, *options, "--out", tmp_path / "out")
    assert uvast(*command, "--seeds", "0,1").code == 0
    results = tmp_path / "out" / "results.json"
    assert {row["model"] for row in json.loads(results.read_text())} == {"ms-tcn", "ms-tcn x 2"}
    runs = tmp_path / "out" / "tiny" / "ms-tcn-full"
    shutil.copy(*(runs / f"split1-seed{seed}" / "best.safetensors" for seed in (0, 1)))
    finished = uvast(*command, "--seeds", "0,1")
    assert finished.code == 1
    told = " ".join(finished.error.split())
    assert "was made of runs that have changed since; remove this folder" in told
    assert "1 of 3 runs failed" in told
    assert {row["model"] for row in json.loads(results.read_text())} == {"ms-tcn"}


def test_a_failed_run_is_told_and_the_others_are_shown(
    uvast: Uvast, tiny_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "broken")
    (tmp_path / "broken" / "timestamps.json").unlink()
    options = ("--models", "ms-tcn", "--splits", 1, "--durations", "none")
    both = ("--supervision", "full,timestamps", "--out", tmp_path / "out")
    finished = uvast("benchmark", tmp_path / "broken", *options, *both, *SMALL)
    assert finished.code == 1
    assert "failed: broken/ms-tcn-timestamps/split1-seed0: " in finished.error
    assert "has no timestamps; add timestamps.json" in finished.error
    assert "1 of 2 runs failed; the same command tries them again" in finished.error
    assert "full supervision" in finished.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--models", "none"), "no preset 'none'; choose from"),
        (("--models", "ms-tcn", "--seeds", "a"), "--seeds: 'a' is not a list of numbers; write"),
        (("--models", "ms-tcn", "--seeds", "-1"), "--seeds: '-1' is not a list of numbers"),
        (("--models", "ms-tcn", "--splits", "9"), "has no split 9; choose from 1, 2"),
        (("--models", "ms-tcn", "--durations", "magic"), "no decoding 'magic'; choose from none,"),
    ],
)
def test_wrong_options_are_one_sentence(
    uvast: Uvast, tiny_path: Path, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    finished = uvast("benchmark", tiny_path, "--out", tmp_path / "out", *arguments)
    assert finished.code == 2
    assert sentence in " ".join(finished.error.split())
    assert not (tmp_path / "out").exists()


def test_tables_and_their_rows_are_listed(uvast: Uvast) -> None:
    listed = json.loads(uvast("reproduce", "--list", "--json").out)
    assert [one["table"] for one in listed] == list(tables())
    rows = json.loads(uvast("reproduce", "fully-supervised", "--list", "--json").out)
    assert {"row": "UVAST + Viterbi", "from": "model", "in the paper": "yes"} in rows
    assert {"row": "TDRN", "from": "published", "in the paper": "yes"} in rows
    assert "k-medoids-unconstrained" in uvast("reproduce", "--list").out


def test_a_table_is_computed_and_written(uvast: Uvast, tiny_path: Path, tmp_path: Path) -> None:
    command = ("reproduce", "split-segment", tiny_path, "--out", tmp_path)
    finished = uvast(*command)
    assert finished.code == 0, finished.error
    assert "With Split-Segment" in finished.out
    assert {path.name for path in tmp_path.glob("split-segment.*")} == {
        f"split-segment.{suffix}" for suffix in ("md", "tex", "csv", "json")
    }
    (figure,) = json.loads(uvast(*command, "--json").out)
    assert [one["method"] for one in figure["series"]] == ["No Split-Segment", "With Split-Segment"]
    for run in (run for one in figure["series"] for run in one["runs"]):
        assert (tmp_path / run / "best.safetensors").exists()
    (legacy,) = json.loads(uvast(*command, "--json", "--protocol", "legacy").out)
    assert (figure["protocol"], legacy["protocol"]) == ("standard", "legacy")
    assert [one["runs"] for one in legacy["series"]] == [one["runs"] for one in figure["series"]]
    assert len(list(tmp_path.glob("split-segment-legacy.*"))) == 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "a table, a dataset and --out are needed; see uvast reproduce --list and"),
        (
            ("losses", "DATA", "--out", "OUT"),
            "unknown table 'losses'; choose from fully-supervised",
        ),
        (("encoders", "DATA", "DATA", "--out", "OUT"), "two datasets are named tiny"),
        (("encoders", "DATA", "--out", "OUT", "--splits", "7"), "has no split 7"),
        (("encoders", "DATA", "--out", "OUT", "--preset", "x"), "no preset 'x'"),
    ],
)
def test_wrong_tables_are_one_sentence(
    uvast: Uvast, tiny_path: Path, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    places = {"DATA": str(tiny_path), "OUT": str(tmp_path / "out")}
    finished = uvast("reproduce", *(places.get(one, one) for one in arguments))
    assert finished.code == 2
    assert sentence in " ".join(finished.error.split())
    assert not (tmp_path / "out").exists()


def test_a_sweep_goes_on_and_hands_out_the_best_settings(
    uvast: Uvast, tiny_path: Path, tmp_path: Path
) -> None:
    settings = ("--preset", "ms-tcn", *SMALL, "--validation", 0.3)
    ranges = ("--set-range", "train.learning_rate=1e-4..1e-1:log")
    command = ("sweep", tiny_path, *settings, *ranges, "--out", tmp_path / "out")
    first = uvast(*command, "--trials", 1)
    assert first.code == 0, first.error
    assert "train.learning_rate" in first.out
    best = f"--config {tmp_path}/out/best.toml --out RUN"
    assert first.error.rstrip().endswith(f"try uvast train {tiny_path} --split 1 {best}")
    trials = json.loads(uvast(*command, "--trials", 2, "--json").out)
    assert {one["trial"] for one in trials} == {0, 1}
    assert trials[0]["score"] >= trials[1]["score"]
    config = ("--config", tmp_path / "out" / "best.toml", "--out", tmp_path / "run", "--split", 1)
    assert uvast("train", tiny_path, *config).code == 0
    wrong = uvast(*command[:-2], "--out", tmp_path / "new", "--set-range", "model.width=8")
    assert wrong.code == 2
    assert "'model.width=8' needs at least two different values; write for example" in wrong.error
