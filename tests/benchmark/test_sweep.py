"""Sweeps: ranges, the validation part as the judge, and going on after a break."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from uvast.benchmark import sweep as sweeps
from uvast.benchmark.engine import CellOutcome, SerialEngine
from uvast.benchmark.sweep import Range, Sweep, parse_range, validation_score
from uvast.config import Config, load_config
from uvast.errors import ConfigError, OutputError, TrainingError


@pytest.fixture
def task(tiny_path: Path, small_config: Config) -> Sweep:
    config = small_config.replaced(
        **{
            "model.kind": "ms-tcn",
            "model.n_encoder_layers": 2,
            "model.n_stages": 1,
            "train.epochs": 1,
            "train.validation": 0.3,
            "decode.transcript": "frames",
            "decode.durations": "none",
        }
    )
    ranges = [parse_range("train.learning_rate=1e-4..1e-1:log"), parse_range("model.width=8,16")]
    return Sweep(tiny_path, 1, config, ranges)


class Planted:
    """Scores a trial by its learning rate, without training; some cells break.

    As in training, no epochs give a log without scores.
    """

    def __init__(self, breaks_at: int | None = None, fails_at: int | None = None) -> None:
        self.breaks_at, self.fails_at, self.seen = breaks_at, fails_at, []

    def run(self, cells, out: Path) -> Iterator[CellOutcome]:
        for cell in cells:
            number = int(cell.model.removeprefix("trial"))
            self.seen.append((number, cell.config.train.learning_rate, cell.config.model.width))
            if number == self.breaks_at:
                raise KeyboardInterrupt
            (out / cell.key).mkdir(parents=True)
            score = -abs(cell.config.train.learning_rate - 0.01)
            rows = f"1,1,{score - 1}\n1,2,{score}\n1,3,{score - 2}\n" * bool(
                cell.config.train.epochs
            )
            (out / cell.key / "log.csv").write_text(f"stage,epoch,validation_score\n{rows}")
            yield CellOutcome(cell, "lost" if number == self.fails_at else None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train.learning_rate=1e-4..1e-2:log", Range("train.learning_rate", (), 1e-4, 1e-2, True)),
        ("model.width=32..64", Range("model.width", (), 32, 64)),
        ("train.averaging=0.5..0.99", Range("train.averaging", (), 0.5, 0.99)),
        ("loss.frame=true,false", Range("loss.frame", (True, False))),
        ("decode.transcript=decoder,best", Range("decode.transcript", ("decoder", "best"))),
        ("model.width=32,64", Range("model.width", (32, 64))),
    ],
)
def test_ranges_are_read(text: str, expected: Range) -> None:
    found = parse_range(text)
    assert found == expected
    assert parse_range(found.as_text()).as_text() == found.as_text()
    assert type(found.low) is type(expected.low)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model.width", "gives no choice"),
        ("model.width=8", "gives no choice"),
        ("model.width=8,8", "gives no choice"),
        ("model.width=9..8", "span nothing"),
        ("train.learning_rate=0..1:log", "span nothing"),
        ("decode.transcript=a..b", "no numbers"),
        ("width=8,9", "not of the form section.name=value"),
    ],
)
def test_wrong_ranges_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_range(text)


def test_a_sweep_finds_the_best_values(task: Sweep, tmp_path: Path) -> None:
    trials = list(task.run(tmp_path, Planted(), n_trials=12))
    assert [one.number for one in trials] == list(range(12))
    rates = [one.values["train.learning_rate"] for one in trials]
    assert all(1e-4 <= rate <= 1e-1 for rate in rates)
    assert len(set(rates)) == 12
    best = min(trials, key=lambda one: abs(one.values["train.learning_rate"] - 0.01))
    assert task.trials(tmp_path)[0].number == best.number
    assert best.score == pytest.approx(-abs(best.values["train.learning_rate"] - 0.01))
    config = load_config(file=tmp_path / "best.toml")
    assert config == task.config.replaced(**best.values)


def test_a_sweep_goes_on_with_the_trial_it_was_in(task: Sweep, tmp_path: Path) -> None:
    broken = Planted(breaks_at=2)
    with pytest.raises(KeyboardInterrupt):
        list(task.run(tmp_path, broken, n_trials=4))
    again = Planted()
    trials = list(task.run(tmp_path, again, n_trials=4))
    assert [one.number for one in trials] == [2, 3]
    assert again.seen[0] == broken.seen[-1]
    assert list(task.run(tmp_path, Planted(), n_trials=4)) == []
    assert [one.number for one in task.run(tmp_path, Planted(), n_trials=5)] == [4]
    rates = {one.values["train.learning_rate"] for one in task.trials(tmp_path)}
    assert len(rates) == 5


def test_a_trial_that_fails_stops_no_other_and_is_listed_last(task: Sweep, tmp_path: Path) -> None:
    trials = list(task.run(tmp_path, Planted(fails_at=1), n_trials=4, jobs=2))
    assert [one.error for one in trials] == [None, "lost", None, None]
    assert [one.score is None for one in task.trials(tmp_path)] == [False, False, False, True]


def test_other_settings_in_the_same_place_are_refused(task: Sweep, tmp_path: Path) -> None:
    list(task.run(tmp_path, Planted(), n_trials=1))
    other = Sweep(task.dataset, 2, task.config, task.ranges)
    clicks = replace(task, timestamps=tmp_path / "clicks.csv")
    for one in (other, clicks):
        with pytest.raises(OutputError, match="holds a sweep of other settings; choose another"):
            list(one.run(tmp_path, Planted(), n_trials=2))


def test_a_trial_of_no_epochs_fails_and_the_others_go_on(task: Sweep, tmp_path: Path) -> None:
    sweep = replace(task, ranges=[parse_range("train.epochs=0,1")])
    trials = list(sweep.run(tmp_path, Planted(), n_trials=6))
    assert [one.number for one in trials] == list(range(6))
    assert {one.values["train.epochs"] for one in trials} == {0, 1}
    for one in trials:
        failed = one.values["train.epochs"] == 0
        assert (one.score is None) == failed
        assert ("has no validation scores" in (one.error or "")) == failed
    assert load_config(file=tmp_path / "best.toml").train.epochs == 1


def test_real_trials_are_judged_on_the_validation_part(task: Sweep, tmp_path: Path) -> None:
    trials = list(task.run(tmp_path, SerialEngine(), n_trials=2))
    for one in trials:
        run = tmp_path / f"tiny/trial{one.number:04d}-full/split1-seed0"
        info = json.loads((run / "run.json").read_text())
        assert info["validation"]
        assert one.score == validation_score(run)
        assert load_config(file=run / "config.toml").model.width == one.values["model.width"]


def test_stage_two_is_trained_only_to_judge_its_durations(task: Sweep) -> None:
    epochs = {
        way: task._trial_config({"decode.durations": way}).train.alignment_epochs
        for way in ("viterbi", "alignment")
    }
    assert epochs == {"viterbi": 0, "alignment": task.config.train.alignment_epochs}


def test_impossible_sweeps_are_refused(task: Sweep, tmp_path: Path) -> None:
    blind = Sweep(task.dataset, 1, task.config.replaced(**{"train.validation": 0.0}), task.ranges)
    with pytest.raises(ConfigError, match="a sweep needs a validation part"):
        list(blind.run(tmp_path, Planted(), n_trials=1))
    for text, sentence in (
        ("train.speed=1..2", "train.speed: no such setting"),
        ("train.averaging=0.5..1.5", "train.averaging = 1.5"),
        ("model.width=8.0..16.0", "model.width = 8.0"),
    ):
        wrong = Sweep(task.dataset, 1, task.config, [parse_range(text)])
        with pytest.raises(ConfigError, match=sentence):
            list(wrong.run(tmp_path / "new", Planted(), n_trials=1))
    assert not (tmp_path / "new").exists()


def test_a_run_without_validation_scores_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("stage,epoch,validation_score\n1,1,\n")
    with pytest.raises(TrainingError, match="has no validation scores"):
        validation_score(tmp_path)


def test_a_missing_extra_is_one_sentence(
    task: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(sweeps, "import_module", absent)
    with pytest.raises(ConfigError, match=r"needs the package optuna; .*'uvast\[sweep\]'"):
        list(task.run(tmp_path, Planted(), n_trials=1))
