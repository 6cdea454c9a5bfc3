"""Sweeps: ranges, the validation part as the judge, and going on after a break."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from typer.testing import CliRunner

from uvast.benchmark import study as studies
from uvast.benchmark.engine import CellOutcome, SerialEngine
from uvast.benchmark.ranges import parse_range, parse_ranges
from uvast.benchmark.sweep import Sweep, validation_score
from uvast.cli.main import app, main
from uvast.config import Config, load_config
from uvast.data import Dataset, generate_dataset
from uvast.errors import (
    ConfigError,
    InputError,
    MissingFileError,
    OutputError,
    SplitError,
    TrainingError,
    UvastError,
)
from uvast.models.build import build_model


@pytest.fixture
def task(tiny_path: Path, small_config: Config) -> Sweep:
    config = small_config.replaced(
        **{
            "model.kind": "ms-tcn",
            "model.n_encoder_layers": 2,
            "model.n_stages": 1,
            "train.epochs": 1,
            "decode.transcript": "frames",
            "decode.durations": "none",
        }
    )
    ranges = [parse_range("train.learning_rate=1e-4..1e-1:log"), parse_range("model.width=8,16")]
    return Sweep(tiny_path, 1, config, ranges, validation=0.3)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """`uvast sweep` in this process; it gives the exit code."""
    monkeypatch.setattr("uvast.cli.options.make_engine", lambda *_, **__: SerialEngine())
    small = ("model.n_encoder_layers=2", "model.n_stages=1", "train.epochs=1")

    def run(*arguments: object) -> int:
        settings = (part for one in small for part in ("--set", one))
        words = ["uvast", "sweep", *map(str, arguments), "--preset", "ms-tcn", *settings]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)

    return run


class Planted:
    """Scores a trial by its learning rate, without training; some cells break.

    As in training, no epochs give a log without scores.
    """

    def __init__(self, breaks_at: int | None = None, fails_at: int | None = None) -> None:
        self.breaks_at, self.fails_at, self.seen = breaks_at, fails_at, []
        self.cells = []

    def run(self, cells, out: Path) -> Iterator[CellOutcome]:
        for cell in cells:
            self.cells.append(cell)
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


def test_a_value_between_two_legal_ones_that_is_not_fails_alone(
    task: Sweep, tmp_path: Path
) -> None:
    """Odd numbers alone are legal."""
    odd = replace(task, ranges=[parse_range("decode.mode_filter=1..9")])
    trials = list(odd.run(tmp_path, Planted(), n_trials=6))
    even = [one for one in trials if one.values["decode.mode_filter"] % 2 == 0]
    assert even
    assert all("not an odd number" in (one.error or "") for one in even)
    assert len(odd.trials(tmp_path)) >= 6


class Dilated(Planted):
    """Scores a trial by how near its second dilation is to 9."""

    def run(self, cells, out: Path) -> Iterator[CellOutcome]:
        for cell in cells:
            self.cells.append(cell)
            (out / cell.key).mkdir(parents=True)
            score = -abs(cell.config.model.dilations[1] - 9)
            text = f"stage,epoch,validation_score\n1,1,{score}\n"
            (out / cell.key / "log.csv").write_text(text)
            yield CellOutcome(cell, None)


def test_the_numbers_of_a_list_vary(task: Sweep, tmp_path: Path) -> None:
    """Twice: each number over a wide range, then near the best ones."""
    coarse = replace(task, ranges=parse_ranges("model.dilations=[1..64:log] * 2"))
    engine = Dilated()
    list(coarse.run(tmp_path / "coarse", engine, n_trials=8))
    tried = [cell.config.model.dilations for cell in engine.cells]
    assert {len(one) for one in tried} == {2}
    assert len(set(tried)) > 4
    best = load_config(file=tmp_path / "coarse" / "best.toml")
    assert best.model.dilations == min(tried, key=lambda one: abs(one[1] - 9))
    assert list(coarse.run(tmp_path / "coarse", engine, n_trials=8)) == []
    near = f"model.dilations=[{best.model.dilations[0]}, 7..11]"
    local = replace(task, config=best, ranges=parse_ranges(near))
    list(local.run(tmp_path / "local", Dilated(), n_trials=8))
    found = load_config(file=tmp_path / "local" / "best.toml").model.dilations
    assert found[0] == best.model.dilations[0]
    assert abs(found[1] - 9) <= abs(best.model.dilations[1] - 9)


def test_lists_can_be_single_values(task: Sweep, tmp_path: Path) -> None:
    sweep = replace(task, ranges=parse_ranges("model.dilations=[1,2],[1,9]"))
    list(sweep.run(tmp_path, Dilated(), n_trials=6))
    assert load_config(file=tmp_path / "best.toml").model.dilations == (1, 9)
    for wrong, sentence in (
        ("model.dilations=[0..2, 1]", r"model\.dilations\.0 is 0, below 1"),
        ("model.dilations=[1..2, 0]", r"model\.dilations\.1 is 0, below 1"),
        ("train.epochs=[1..2]", "train.epochs is "),
    ):
        other = replace(sweep, ranges=parse_ranges(wrong))
        with pytest.raises(ConfigError, match=sentence):
            list(other.run(tmp_path / "new", Dilated(), n_trials=1))
    both = [*sweep.ranges, *parse_ranges("model.dilations=[1..2, 1]")]
    with pytest.raises(ConfigError, match=r"model\.dilations is given twice among the settings"):
        list(replace(sweep, ranges=both).run(tmp_path / "new", Dilated(), n_trials=1))


def test_a_sweep_goes_on_with_the_trial_it_was_in(task: Sweep, tmp_path: Path) -> None:
    broken = Planted(breaks_at=2)
    with pytest.raises(KeyboardInterrupt):
        list(task.run(tmp_path, broken, n_trials=4))
    assert (task.n_scored(tmp_path), task.n_scored(tmp_path / "new")) == (2, 0)
    assert not (tmp_path / "new").exists()
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


def test_a_failed_trial_keeps_its_error_and_another_takes_its_place(
    task: Sweep, tmp_path: Path
) -> None:
    assert [one.error for one in task.run(tmp_path, Planted(fails_at=0), n_trials=1)] == ["lost"]
    assert not (tmp_path / "best.toml").exists()
    assert [one.error for one in task.trials(tmp_path)] == ["lost"]
    assert [one.number for one in task.run(tmp_path, Planted(), n_trials=1)] == [1]
    assert [(one.number, one.error) for one in task.trials(tmp_path)] == [(1, None), (0, "lost")]
    first, second = (one.values["train.learning_rate"] for one in task.trials(tmp_path))
    assert first != second
    assert list(task.run(tmp_path, Planted(), n_trials=1)) == []


def test_a_trial_that_was_stopped_while_its_values_were_drawn_is_replaced(
    task: Sweep, tmp_path: Path
) -> None:
    list(task.run(tmp_path, Planted(), n_trials=0))
    storage = JournalStorage(JournalFileBackend(str(tmp_path / "study.log")))
    optuna.load_study(study_name="sweep", storage=storage).ask()
    assert [one.number for one in task.run(tmp_path, Planted(), n_trials=1)] == [1]
    assert task.trials(tmp_path)[1].error == "was stopped while its values were drawn"


def test_a_trial_that_was_stopped_while_failing_is_scored_after_all(
    task: Sweep, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        list(task.run(tmp_path, Planted(breaks_at=0), n_trials=1))
    storage = JournalStorage(JournalFileBackend(str(tmp_path / "study.log")))
    study = optuna.load_study(study_name="sweep", storage=storage)
    study.set_user_attr("error of trial 0", "lost")
    list(task.run(tmp_path, Planted(), n_trials=1))
    assert [(one.number, one.error) for one in task.trials(tmp_path)] == [(0, None)]


def test_a_trial_trains_with_the_seed_of_its_values(task: Sweep, tmp_path: Path) -> None:
    engine = Planted()
    sweep = replace(task, ranges=[parse_range("train.seed=1..9")])
    trials = list(sweep.run(tmp_path, engine, n_trials=3))
    seeds = [one.values["train.seed"] for one in trials]
    assert [cell.training.train.seed for cell in engine.cells] == seeds
    assert len(set(seeds)) > 1


def test_trials_are_judged_by_the_sweeps_part_and_the_best_settings_keep_their_own(
    task: Sweep, tmp_path: Path
) -> None:
    for own in (0.0, 0.1):
        engine = Planted()
        sweep = replace(task, config=task.config.replaced(**{"train.validation": own}))
        list(sweep.run(tmp_path / str(own), engine, n_trials=1))
        assert engine.cells[0].config.train.validation == 0.3
        assert load_config(file=tmp_path / str(own) / "best.toml").train.validation == own


def test_other_settings_in_the_same_place_are_refused(task: Sweep, tmp_path: Path) -> None:
    list(task.run(tmp_path, Planted(), n_trials=1))
    other = Sweep(task.dataset, 2, task.config, task.ranges)
    clicks = replace(task, timestamps=tmp_path / "clicks.csv")
    half = replace(task, validation=0.5)
    for one in (other, clicks, half):
        with pytest.raises(OutputError, match="holds a sweep with other settings; choose another"):
            list(one.run(tmp_path, Planted(), n_trials=2))


def test_other_videos_or_labels_in_the_same_place_are_refused(task: Sweep, tmp_path: Path) -> None:
    data = Path(shutil.copytree(task.dataset, tmp_path / "data"))
    sweep = replace(task, dataset=data)
    list(sweep.run(tmp_path / "out", Planted(), n_trials=1))
    seen, *_ = Dataset.open(data).side(1, "train")
    labels = data / "groundTruth" / f"{seen}.txt"
    before = labels.read_text()
    labels.write_text("\n".join(sorted(before.splitlines())) + "\n")
    with pytest.raises(OutputError, match="holds a sweep of labels that have changed since"):
        list(sweep.run(tmp_path / "out", Planted(), n_trials=2))
    labels.write_text(before)
    side = data / "splits" / "train.split1.bundle"
    side.write_text("\n".join(side.read_text().splitlines()[1:]) + "\n")
    with pytest.raises(OutputError, match="holds a sweep of other videos; choose another --out"):
        list(sweep.run(tmp_path / "out", Planted(), n_trials=2))


def test_seeds_may_be_large(task: Sweep, tmp_path: Path) -> None:
    sweep = replace(task, config=task.config.replaced(**{"train.seed": 2**33}))
    assert len(list(sweep.run(tmp_path, Planted(), n_trials=1))) == 1


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
    assert len(trials) == 2
    for one in trials:
        run = tmp_path / f"tiny/trial{one.number:04d}-full/split1-seed0"
        info = json.loads((run / "run.json").read_text())
        assert info["validation"]
        assert one.score == validation_score(run)
        assert load_config(file=run / "config.toml").model.width == one.values["model.width"]


def test_stage_two_is_trained_only_to_judge_its_durations(task: Sweep) -> None:
    epochs = {
        way: task.trial_config({"decode.durations": way}).train.alignment_epochs
        for way in ("viterbi", "alignment")
    }
    assert epochs == {"viterbi": 0, "alignment": task.config.train.alignment_epochs}


def test_epochs_of_stage_two_can_vary_where_they_are_judged(task: Sweep, tmp_path: Path) -> None:
    config = task.config.replaced(
        **{"model.kind": "uvast", "decode.transcript": "decoder", "decode.durations": "alignment"}
    )
    sweep = replace(task, config=config, ranges=[parse_range("train.alignment_epochs=1,2")])
    engine = Planted()
    trials = list(sweep.run(tmp_path, engine, n_trials=2))
    asked = [one.values["train.alignment_epochs"] for one in trials]
    assert [cell.config.train.alignment_epochs for cell in engine.cells] == asked
    both = [*sweep.ranges, parse_range("decode.durations=alignment,viterbi")]
    with pytest.raises(ConfigError, match=r"changes nothing where decode.durations is 'viterbi'"):
        list(replace(sweep, ranges=both).run(tmp_path / "new", Planted(), n_trials=1))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"{\n{}\n"),
        lambda path: path.write_bytes(b"[]\n5\n"),
        lambda path: path.write_bytes(b'{"op_code": 99}\n{"op_code": "x"}\n'),
        lambda path: path.write_text(path.read_text().replace('"values":[', '"values":["x",')),
        lambda path: path.write_text(path.read_text().replace('"model.width"', '"model.x"')),
        lambda path: path.write_text(path.read_text().replace("trial_id", "trial")),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    ],
)
def test_a_spoilt_journal_is_one_sentence(
    task: Sweep, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    list(task.run(tmp_path, Planted(breaks_at=9), n_trials=2))
    spoil(tmp_path / "study.log")
    with pytest.raises(UvastError, match=r"study\.log|model\.x|other settings"):
        list(task.run(tmp_path, Planted(), n_trials=3))


def test_impossible_sweeps_are_refused(task: Sweep, tmp_path: Path) -> None:
    lone = tmp_path / "lone"
    generate_dataset(lone, n_videos=2, n_subjects=2, n_splits=2, n_frames=60, seed=0)
    clicks = task.config.replaced(**{"supervision.kind": "timestamps"})
    for changes, kind, sentence in (
        ({"validation": 0.0}, ConfigError, "--validation: a sweep needs a validation part"),
        ({"validation": 1.5}, ConfigError, "train.validation is 1.5"),
        ({"dataset": tmp_path / "nowhere"}, MissingFileError, "nowhere: does not exist"),
        ({"dataset": lone}, InputError, "1 subject is too few for a validation"),
        ({"split": 9}, SplitError, "has no split 9; choose from 1, 2"),
        ({"config": clicks, "timestamps": tmp_path / "no.csv"}, UvastError, "no.csv"),
        (
            {"ranges": [*task.ranges, parse_range("model.width=8..16")]},
            ConfigError,
            "model.width is given twice among the settings of --set-range; give each once",
        ),
    ):
        with pytest.raises(kind, match=sentence):
            list(replace(task, **changes).run(tmp_path / "new", Planted(), n_trials=1))
    for text, sentence in (
        ("train.unlabelled=test,rest", '"test", and a sweep never opens the test side; set it to'),
        ("train.haste=1..2", "--set-range: train.haste: no such setting"),
        ("train.averaging=0.5..1.5", "--set-range: train.averaging is 1.5"),
        ("model.width=8.0..16.0", "model.width is 8.0"),
        ("train.validation=0.1,0.3", "train.validation cannot vary: .*one share as --validation"),
        ("train.sampling_rate=1,2", "train.sampling_rate cannot vary: .*; uvast compare, which"),
        ("supervision.kind=full,timestamps", "supervision.kind cannot vary"),
        ("train.alignment_epochs=1..9", "train.alignment_epochs changes nothing where .* 'none'"),
    ):
        wrong = Sweep(task.dataset, 1, task.config, [parse_range(text)])
        with pytest.raises(ConfigError, match=sentence):
            list(wrong.run(tmp_path / "new", Planted(), n_trials=1))
    for text in (
        "supervision.method=midpoint,k-medoids",
        "supervision.prior=0.0..1.0",
        "supervision.offsets=0.0..0.1",
    ):
        wrong = Sweep(task.dataset, 1, clicks, [parse_range(text)])
        with pytest.raises(ConfigError, match="cannot vary: a sweep would judge each value by a"):
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

    monkeypatch.setattr(studies, "import_module", absent)
    with pytest.raises(
        ConfigError, match=r"needs the package optuna; .*'\.\[sweep\]' in uvast's folder"
    ):
        list(task.run(tmp_path, Planted(), n_trials=1))


def test_a_dataset_that_is_not_there_yet_costs_no_trials(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (tmp_path / "later", "--out", tmp_path / "out", "--set-range", "model.width=8,16")
    assert command(*words, "--trials", 1) == 2
    assert "later: does not exist; give the folder of a dataset" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    generate_dataset(tmp_path / "later", n_videos=8, n_subjects=4, n_frames=60, seed=0)
    assert command(*words, "--trials", 1, "--split", 9) == 2
    assert not (tmp_path / "out").exists()
    assert command(*words, "--trials", 1) == 0
    assert load_config(file=tmp_path / "out" / "best.toml").train.validation == 0.0


def test_trials_of_earlier_calls_count(
    command: Callable[..., int],
    tiny_path: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (tiny_path, "--out", tmp_path, "--set-range", "model.width=8,16")
    for trials, told in ((1, "trials, 1/1, "), (1, "trials, 1/1, "), (2, "trials, 2/2, ")):
        assert command(*words, "--trials", trials) == 0
        assert told in capsys.readouterr().err


def test_values_that_cannot_work_are_one_sentence_now_and_later(
    command: Callable[..., int],
    tiny_path: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    uvast = ("--set", "model.kind=uvast", "--set", "decode.transcript=frames")
    words = (tiny_path, "--out", tmp_path, "--set-range", "model.width=7,9", "--trials", 1, *uvast)
    assert command(*words) == 2
    said = capsys.readouterr().err
    first = re.search(r"failed: (trial 0 \(model.width=[79]\): width is [79]; .*even width)", said)
    assert first is not None, said
    assert "1 trial failed; the same command tries as many others" in said
    assert command(*words, "--json") == 2
    captured = capsys.readouterr()
    assert f"failed earlier: {first[1]}" in captured.err
    assert "\nfailed: trial 1 (model.width=" in f"\n{captured.err}"
    errors = [one["error"] for one in json.loads(captured.out)]
    assert len(errors) == 2
    assert all("an even width" in one for one in errors)


def test_the_settings_own_validation_part_judges_unless_another_is_given(
    command: Callable[..., int], tiny_path: Path, tmp_path: Path
) -> None:
    words = (tiny_path, "--set-range", "model.width=8,16", "--trials", 1)
    for name, options, expected in (
        ("default", (), (0.2, 0.0)),
        ("set", ("--set", "train.validation=0.4"), (0.4, 0.4)),
        ("both", ("--set", "train.validation=0.4", "--validation", 0.3), (0.3, 0.4)),
    ):
        out = tmp_path / name
        assert command(*words, *options, "--out", out) == 0
        trial = load_config(file=next(out.glob("tiny/trial0000-full/*/config.toml")))
        best = load_config(file=out / "best.toml")
        assert (trial.train.validation, best.train.validation) == expected


def test_help_is_whole_at_80_columns_and_every_example_can_work() -> None:
    found = CliRunner().invoke(app, ["sweep", "--help"], env={"COLUMNS": "80"})
    assert found.exit_code == 0
    assert re.findall(r"\S…", found.output) == []
    assert re.search(r"--jobs .*Trials chosen and run", found.output)
    docs = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text("utf-8")
    texts = re.findall(r"\w+\.\w+=\w[\w.-]*(?:\.\.|,)[\w.,:-]*\w", f"{found.output}{docs}")
    assert len(texts) >= 6
    for one in map(parse_range, texts):
        whole = isinstance(one.low, int) and isinstance(one.high, int)
        ends = range(int(one.low), int(one.high) + 1) if whole else (one.low, one.high)
        for value in one.choices or ends:
            build_model(Config().replaced(**{one.name: value}).model, n_features=4, n_classes=3)
