"""Settings compared inside of training sides: real runs on poisoned data, and planted scores."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from uvast.benchmark.cell import Cell
from uvast.benchmark.compared import (
    OVER_DATASETS,
    ComparedRow,
    compared_rows,
    compared_tables,
    few_pairs,
    write_comparison,
)
from uvast.benchmark.comparison import BASE, Comparison, parse_change
from uvast.benchmark.cost import cells_to_train, seconds_to_train
from uvast.benchmark.decoded_scores import COLUMNS
from uvast.benchmark.engine import SerialEngine, run_cells
from uvast.benchmark.layout import as_text
from uvast.benchmark.matrix import Matrix
from uvast.benchmark.run_cell import check_cell
from uvast.data import Dataset
from uvast.errors import ConfigError, InputError, OutputError, SplitError, UvastError

SMALL = ("model.width=8", "model.n_encoder_layers=2", "model.n_stages=1", "train.epochs=4")
HELPS = "train.learning_rate=0.02"
NOTHING = "train.checkpoint_seconds=99.0"
DECODED = "decode.fifa_steps=7"


def matrix(*paths: Path, **changes: object) -> Matrix:
    values = {
        "presets": ["ms-tcn"],
        "splits": [1],
        "decodings": ["none"],
        "settings": [*SMALL, "train.learning_rate=1e-9"],
    }
    return Matrix(datasets=paths, **{**values, **changes})


def poisoned(source: Path, path: Path) -> Path:
    """A copy whose test side, of split 1, has labels that nobody can read."""
    shutil.copytree(source, path)
    dataset = Dataset.open(path)
    for name in dataset.side(1, "test"):
        dataset.labels_path(name).write_bytes(b"\0\xff\xfe poison")
    clicks = json.loads((path / "timestamps.json").read_text())
    for entries in clicks.values():  # without labels, as published clicks are
        for one in entries:
            one.pop("label")
    (path / "timestamps.json").write_text(json.dumps(clicks))
    return path


@dataclass(frozen=True)
class Ran:
    comparison: Comparison
    out: Path

    def rows(self) -> dict[str, ComparedRow]:
        return {row.change: row for row in compared_rows(self.comparison.variants, self.out)}


@pytest.fixture(scope="module")
def ran(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("compared")
    base = matrix(poisoned(tiny_path, folder / "data"), seeds=(0, 1))
    comparison = Comparison(base, [HELPS, NOTHING, DECODED], n_folds=2)
    outcomes = list(run_cells(comparison.cells(), folder / "out", SerialEngine()))
    assert [one.error for one in outcomes] == [None] * 12  # decoding alone is not trained again
    return Ran(comparison, folder / "out")


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_change_that_helps_is_told_from_those_that_do_nothing(ran: Ran) -> None:
    rows = ran.rows()
    assert list(rows) == [BASE, HELPS, NOTHING, DECODED]
    assert rows[HELPS].differences["score"].is_clear
    assert rows[HELPS].differences["acc"].mean > 10
    assert rows[HELPS].means["acc"] - rows[BASE].means["acc"] == pytest.approx(
        rows[HELPS].differences["acc"].mean
    )
    for change in (NOTHING, DECODED):
        assert rows[change].n_runs == 4
        assert all(one.interval == (0.0, 0.0) for one in rows[change].differences.values())
    folders = {row.change: row.folders for row in rows.values()}
    assert folders[BASE] == folders[DECODED]
    assert len({folders[BASE], folders[HELPS], folders[NOTHING]}) == 3


def test_what_is_finished_is_not_touched_and_what_is_lost_is_done_again(ran: Ran) -> None:
    before, cells = ran.rows(), ran.comparison.cells()
    known = times(ran.out)
    assert all(one.error is None for one in run_cells(cells, ran.out, SerialEngine()))
    assert times(ran.out) == known
    assert cells_to_train(cells, ran.out) == ()
    shutil.rmtree(ran.out / cells[0].key)
    assert cells_to_train(cells, ran.out) == cells[:1]
    assert seconds_to_train(cells[:1], "cpu") > 0
    list(run_cells(cells, ran.out, SerialEngine()))
    assert ran.rows() == before


def test_a_run_that_learned_from_a_fold_is_never_scored_on_it(ran: Ran) -> None:
    cell = ran.comparison.cells()[0]
    assert cell.fold is not None
    swapped = replace(cell.fold, train=cell.fold.held_out, held_out=cell.fold.train)
    with pytest.raises(OutputError, match=r"holds a run of other videos: it did"):
        check_cell(replace(cell, fold=swapped), ran.out)


def test_clicks_are_learned_from_and_the_test_side_stays_closed(
    tiny_path: Path, tmp_path: Path
) -> None:
    base = matrix(poisoned(tiny_path, tmp_path / "data"), supervision=["timestamps"])
    cells = Comparison(base, (), n_folds=2).cells()
    assert seconds_to_train(cells[:1], "cpu") > 0
    assert [one.error for one in run_cells(cells, tmp_path / "out", SerialEngine())] == [None] * 2


def test_folds_hold_whole_subjects_of_the_training_side(tiny_path: Path) -> None:
    dataset = Dataset.open(tiny_path)
    for split in (1, 2):
        cells = Comparison(matrix(tiny_path, splits=[split]), (), n_folds=2).cells()
        sides = [(set(cell.fold.train), set(cell.fold.held_out)) for cell in cells if cell.fold]
        side = set(dataset.side(split, "train"))
        assert [train | held_out for train, held_out in sides] == [side] * 2
        assert set.union(*(held_out for _, held_out in sides)) == side
        for train, held_out in sides:
            assert not {one.split("_")[0] for one in train} & {
                one.split("_")[0] for one in held_out
            }
    notes = "\n".join(Comparison(matrix(tiny_path), (), n_folds=2).notes())
    assert "split 1: 4 training videos in 2 folds of whole subjects held out in turn" in notes
    notes = "\n".join(Comparison(matrix(tiny_path), (), n_folds=4).notes())
    assert "in 4 folds of single videos, not subjects, held out in turn" in notes


def plant(out: Path, cell: Cell, value: float) -> None:
    scores = {name: dict.fromkeys(COLUMNS, value) for name in cell.decodings}
    folder = out / cell.key
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scores.json").write_text(json.dumps({"cell": asdict(cell), "scores": scores}))


def test_differences_are_paired_and_the_mean_over_datasets_follows(
    tiny_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "more")
    comparison = Comparison(matrix(tiny_path, tmp_path / "more", seeds=(0, 1)), [HELPS], n_folds=2)
    out = tmp_path / "out"
    for variant in comparison.variants:
        gain = 0 if variant.change == BASE else {"tiny": 2, "more": 10}[variant.dataset]
        for place, cell in enumerate(variant.cells):  # folds differ by far more than the gain
            plant(out, cell, 10 + 20 * place + gain + (gain and 0.1 * place))
    rows = compared_rows(comparison.variants, out)
    found = {row.dataset: row.differences["f1@50"] for row in rows if row.change == HELPS}
    assert found["tiny"].mean == pytest.approx(2.15)
    assert found["tiny"].is_clear
    assert found[OVER_DATASETS].mean == pytest.approx((2.15 + 10.15) / 2)
    assert found[OVER_DATASETS].n_pairs == 8
    assert found[OVER_DATASETS].is_clear
    assert few_pairs(rows) is None
    shutil.rmtree(
        out / next(one for one in comparison.variants if one.change == HELPS).cells[0].key
    )
    rows = compared_rows(comparison.variants, out)
    cut = next(row for row in rows if row.change == HELPS)
    assert (cut.n_runs, cut.n_runs_wanted) == (3, 4)
    assert cut.differences["acc"].mean == pytest.approx(2.2)
    assert "rest on 3 pairs" in (few_pairs(rows) or "")
    table = as_text(compared_tables(rows)[0])
    assert "+2.2 ± 0.2*" in table
    assert f"{HELPS} [3 of 4 runs]" in table
    write_comparison(out, rows)
    written = json.loads((out / "comparison.json").read_text())
    assert written[1]["score clear"] is True
    assert written[1]["score low"] < written[1]["score difference"] < written[1]["score high"]
    assert HELPS in (out / "comparison.md").read_text()
    assert len((out / "comparison.csv").read_text().splitlines()) == len(rows) + 1


def test_rows_of_transductive_runs_say_so(tiny_path: Path, tmp_path: Path) -> None:
    change = "model.kind=sstda train.unlabelled=test"
    comparison = Comparison(matrix(tiny_path), [change], n_folds=2)
    for cell in comparison.cells():
        plant(tmp_path, cell, 10.0)
    rows = compared_rows(comparison.variants, tmp_path)
    assert {(row.change, row.note) for row in rows} == {(BASE, ""), (change, "transductive")}
    table = as_text(compared_tables(rows)[0])
    assert f"{BASE} [2 runs]" in table
    assert f"{change} [transductive, 2 runs]" in table


def test_equal_settings_share_their_runs_whatever_they_are_called(tiny_path: Path) -> None:
    same = Comparison(matrix(tiny_path), ["train.learning_rate=1e-9"], n_folds=2)
    assert len(same.cells()) == 2
    assert len(Comparison(matrix(tiny_path), [DECODED], n_folds=2).cells()) == 2
    # a validation part chooses the epoch by decoding: then a change of decoding trains again
    validated = matrix(tiny_path, settings=[*SMALL, "train.validation=0.5"])
    assert len(Comparison(validated, [DECODED], n_folds=2).cells()) == 4


def test_settings_in_one_text_belong_together() -> None:
    both = parse_change(" train.epochs=5   loss.group_frame=off")
    assert both.text == "train.epochs=5 loss.group_frame=off"
    assert both.settings == {"train.epochs": 5, "loss.group_frame": "off"}


@pytest.mark.parametrize(
    ("changes", "n_folds", "kind", "sentence"),
    [
        (["train.epochs"], 2, ConfigError, "'train.epochs' is not of the form section.name=value"),
        (["train.epoch=5"], 2, ConfigError, "--change: train.epoch: no such setting; did you mean"),
        (["train.epochs=x"], 2, ConfigError, "--change: train.epochs"),
        ([f"train.epochs={'9' * 5000}"], 2, ConfigError, "--change: train.epochs is '99"),
        ([" "], 2, ConfigError, "--change: a change without settings; write for example"),
        (["a.b='"], 2, ConfigError, "cannot be read (No closing quotation)"),
        (["train.epochs=5 train.epochs=6"], 2, ConfigError, "names a setting twice"),
        (["train.seed=5"], 2, ConfigError, "train.seed is not a change to compare; pass --seeds"),
        (["decode.durations=fifa"], 2, ConfigError, "choose some of them with --decodings"),
        ([HELPS, HELPS], 2, ConfigError, f"{HELPS} is given twice among the changes"),
        ([], 9, InputError, "split 1: 9 folds cannot be made from 4 videos; choose from 2 to the"),
    ],
    ids=[
        "form",
        "name",
        "value",
        "digits",
        "empty",
        "quotes",
        "twice",
        "seed",
        "durations",
        "same",
        "folds",
    ],
)
def test_wrong_comparisons_are_one_sentence(
    tiny_path: Path, changes: list[str], n_folds: int, kind: type[UvastError], sentence: str
) -> None:
    with pytest.raises(kind) as caught:
        Comparison(matrix(tiny_path), changes, n_folds=n_folds).cells()
    assert sentence in str(caught.value)


def test_a_split_that_does_not_exist_is_named(tiny_path: Path) -> None:
    with pytest.raises(SplitError, match="has no split 7; choose from 1, 2"):
        Comparison(matrix(tiny_path, splits=[7]), ()).cells()
