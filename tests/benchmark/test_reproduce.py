"""Every row of every table runs, and tables are written with whose numbers they hold."""

from __future__ import annotations

import csv
import inspect
import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from planted_ends import short_of_the_end, where_all_count
from typer.testing import CliRunner

from uvast.benchmark import paper_tables
from uvast.benchmark.engine import CellOutcome, SerialEngine
from uvast.benchmark.layout import OURS
from uvast.benchmark.paper_tables import find_table, tables
from uvast.benchmark.reproduce import QUICK, Reproduction, write_table
from uvast.benchmark.systems import SYSTEMS
from uvast.benchmark.tables import Row, preset_settings
from uvast.cli.main import app
from uvast.cli.reproduce import reproduce
from uvast.config import Config, load_config
from uvast.data import Dataset
from uvast.errors import ConfigError
from uvast.evaluation.scores import PROTOCOLS
from uvast.segments import Segmentation
from uvast.supervision import PseudoLabelOptions, pseudo_segmentations

MARK = "published, I3D features"


def uvast(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared by all tables, as a user's --out is: equal rows are trained once."""
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("name", tables())
def test_every_row_of_the_table_runs(name: str, tiny: Dataset, folder: Path) -> None:
    table = find_table(name)
    task = Reproduction(table, tiny)
    assert [one.error for one in task.run(folder, SerialEngine()) if one.error] == []
    layout = task.layout(folder)
    lines = {line.method: line for line in layout.lines}
    assert len(layout.lines) == len(table.runnable)
    for row in table.runnable:
        assert lines[row.name].source == OURS
        assert lines[row.name].remark == "transductive" * row.name.startswith("SSTDA")
        bare = row.decode.get("durations") == "none" and "frames" not in row.decode.values()
        scores = ("edit",) if bare else table.columns
        assert all(0 <= lines[row.name].scores[column] <= 100 for column in scores)


def test_rows_of_equal_settings_share_a_training(tiny: Dataset) -> None:
    full = Reproduction(find_table("fully-supervised"), tiny).cells()
    found = {cell.config.model.kind: len(cell.decodings) for cell in full}
    systems = [one for one in SYSTEMS if "fully-supervised" in one.tables]
    assert found == {"uvast": 6, **{one.kind: len(one.decodings) for one in systems}}
    assert len(found) == len(full)
    same = [
        {cell.key for cell in Reproduction(find_table(name), tiny).cells()}
        for name in ("encoders", "split-segment", "split-values", "group-losses")
    ]
    assert len(same[0] & same[1] & same[2] & same[3]) == 1
    every = {cell.key for t in tables().values() for cell in Reproduction(t, tiny).cells()}
    n_trainings = sum(len(one.tables) for one in SYSTEMS)
    assert len(every) == 27 + n_trainings


def test_the_papers_budget_is_the_preset_with_the_rows_changes(
    tiny_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "gtea")
    gtea = Dataset.open(tmp_path / "gtea")
    cells = Reproduction(find_table("fully-supervised"), gtea, "paper").cells()
    assert {cell.split for cell in cells} == {1, 2}
    found = {cell.config.model.kind: cell.config for cell in cells}
    assert (found["uvast"].train.epochs, found["uvast"].model.width) == (800, 64)
    assert (found["asformer"].train.epochs, found["asformer"].model.channel_dropout) == (120, 0.5)
    terms = Reproduction(find_table("loss-terms"), gtea, "paper").cells()
    assert {cell.split for cell in terms} == {1}
    preset = Reproduction(find_table("split-segment"), gtea, "paper", preset="50salads").cells()
    assert {cell.config.train.chunk_fraction for cell in preset} == {0.0, 0.15}
    more = Reproduction(
        find_table("split-segment"),
        gtea,
        "paper",
        splits=(2,),
        seeds=(0, 1),
        settings=("train.epochs=7",),
    ).cells()
    assert {(c.split, c.seed, c.config.train.epochs) for c in more} == {(2, 0, 7), (2, 1, 7)}


def test_baselines_train_on_another_preset_as_in_a_benchmark(tiny: Dataset) -> None:
    cells = Reproduction(find_table("fully-supervised"), tiny, "paper", preset="small").cells()
    found = {cell.config.model.kind: cell.config for cell in cells}
    for system in SYSTEMS:
        if "fully-supervised" in system.tables:
            assert found[system.kind] == load_config(("small", system.preset))
    assert found["asformer"].train.weight_decay == 1e-5


@pytest.mark.parametrize(
    ("seeds", "sentence"),
    [((0, 1, 0), "0 is given twice among the seeds; give each once"), ((), "no seeds")],
)
def test_every_seed_is_named_once(tiny: Dataset, seeds: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Reproduction(find_table("split-segment"), tiny, seeds=seeds)


@pytest.mark.parametrize(
    ("table", "setting"),
    [
        ("split-values", "train.chunk_fraction=0.2"),
        ("split-segment", "train.chunk_fraction=0.0"),
        ("fully-supervised", "model.kind=ms-tcn"),
        ("fully-supervised", "supervision.kind=timestamps"),
        ("timestamps", "supervision.method=midpoint"),
        ("timestamps", "decode.durations=fifa"),
        ("encoders", "model.encoder=plain"),
        ("group-losses", "loss.group_frame=off"),
        ("k-medoids", "supervision.prior=1.0"),
    ],
)
def test_settings_that_rows_stand_for_are_refused(tiny: Dataset, table: str, setting: str) -> None:
    name, _, _ = setting.partition("=")
    with pytest.raises(ConfigError) as caught:
        Reproduction(find_table(table), tiny, settings=("train.epochs=1", setting))
    assert str(caught.value) == (
        f"--set {name} would overwrite what the rows of {table} stand for; leave it out"
    )


def test_a_seed_among_the_settings_is_refused(tiny: Dataset) -> None:
    sentence = "^--set train.seed would change nothing here; pass --seeds 7$"
    with pytest.raises(ConfigError, match=sentence):
        Reproduction(find_table("encoders"), tiny, settings=("train.seed=7",))


def test_settings_reach_every_row_also_those_that_bring_their_own(tiny: Dataset) -> None:
    settings = ("train.epochs=50", "train.alignment_epochs=75", "model.width=8")
    for table in tables().values():
        for cell in Reproduction(table, tiny, settings=settings).cells():
            train = cell.config.train
            assert (train.epochs, train.alignment_epochs, cell.config.model.width) == (50, 75, 8)


def test_lines_of_transductive_rows_say_so(tiny: Dataset, tmp_path: Path) -> None:
    row = Row("SSTDA", settings={"model.kind": "sstda"}, defaults=preset_settings("sstda"))
    table = replace(find_table("fully-supervised"), rows=(row, Row("UVAST")))
    remarks = [line.remark for line in Reproduction(table, tiny).layout(tmp_path).lines]
    assert remarks == ["transductive, failed or not finished", "failed or not finished"]


def test_quick_keeps_the_second_stage_where_a_row_has_one(tiny: Dataset) -> None:
    stages = {
        row.name: cell.config.train.alignment_epochs
        for row in find_table("loss-terms").runnable
        for cell in Reproduction(find_table("loss-terms"), tiny).cells_of(row)
    }
    assert stages.pop("frame") == 0
    assert set(stages.values()) == {1}
    assert Config().replaced(**QUICK).model.width < Config().model.width


def test_published_numbers_stand_beside_ours_in_every_format(
    tiny_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "gtea")
    task = Reproduction(find_table("k-medoids"), Dataset.open(tmp_path / "gtea"))
    assert list(task.run(tmp_path, SerialEngine())) == []
    write_table(tmp_path, "k-medoids", [task.layout(tmp_path)])
    records = list(csv.DictReader((tmp_path / "k-medoids.csv").read_text().splitlines()))
    assert [(one["method"], one["numbers"]) for one in records[:3]] == [
        ("Constrained k-medoids", MARK),
        ("Constrained k-medoids", OURS),
        ("Midpoint", OURS),
    ]
    assert (records[0]["f1@10"], records[0]["acc"]) == ("99.8", "75.3")
    assert records[1]["acc"] != "75.3"
    (figure,) = json.loads((tmp_path / "k-medoids.json").read_text())
    assert [one["numbers"] for one in figure["series"][:2]] == [MARK, OURS]
    assert figure["columns"] == ["f1@10", "f1@25", "f1@50", "acc"]
    for suffix in ("md", "tex"):
        lines = (tmp_path / f"k-medoids.{suffix}").read_text().splitlines()
        assert [MARK in line for line in lines if "Constrained k-medoids" in line][:2] == [
            True,
            False,
        ]


def test_pseudo_labels_are_scored_on_the_training_side(tiny: Dataset, tmp_path: Path) -> None:
    table = find_table("k-medoids")
    lines = {line.method: line for line in Reproduction(table, tiny).layout(tmp_path).lines}
    names = tiny.side(1, "train")
    made = pseudo_segmentations(tiny, names, tiny.timestamps(), PseudoLabelOptions("midpoint"))
    truths = {name: tiny.source_segmentation(name) for name in names}
    right = sum(int((made[n].labels == truths[n].labels).sum()) for n in names)
    frames = sum(truths[n].n_frames for n in names)
    assert lines["Midpoint"].scores["acc"] == pytest.approx(100 * right / frames)
    assert isinstance(made[names[0]], Segmentation)


def test_all_rows_of_a_table_are_scored_by_the_protocol_asked_for(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Dataset.open(where_all_count(tiny_path, tmp_path / "data"))

    def made(dataset: Dataset, names: Iterable[str], _: object) -> dict[str, Segmentation]:
        return {name: short_of_the_end(dataset.source_segmentation(name)) for name in names}

    monkeypatch.setattr("uvast.benchmark.reproduce.make_pseudo_labels", made)
    tasks = [Reproduction(find_table("k-medoids"), data, protocol=one) for one in PROTOCOLS]
    standard, legacy = (task.layout(tmp_path) for task in tasks)
    assert (standard.protocol, legacy.protocol) == PROTOCOLS
    assert legacy.title == f"{standard.title}, legacy protocol"
    for line, other in zip(standard.lines, legacy.lines, strict=True):
        assert line.scores["f1@10"] > other.scores["f1@10"]
        assert line.scores["acc"] == other.scores["acc"]
    cells = Reproduction(find_table("encoders"), data, protocol="legacy").cells()
    assert {cell.protocol for cell in cells} == {"legacy"}


def test_a_row_that_failed_says_so(tiny: Dataset, tmp_path: Path) -> None:
    task = Reproduction(find_table("split-segment"), tiny, seeds=(0, 1))

    class Half:
        def run(self, cells, out):
            yield from SerialEngine().run(cells[:3], out)
            yield CellOutcome(cells[3], "lost")

    outcomes = list(task.run(tmp_path, Half()))
    assert [one.error for one in outcomes] == [None, None, None, "lost"]
    no, yes = task.layout(tmp_path).lines
    assert (no.remark, bool(no.spread)) == ("", True)
    assert yes.remark == "1 of 2 seeds failed or not finished"
    assert yes.run == tuple(cell.key for cell in task.cells()[2:])


def test_pseudo_labels_that_fail_are_told_and_the_other_tables_run(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_path, tmp_path / "bare")
    (tmp_path / "bare" / "timestamps.json").unlink()
    chosen = {name: find_table(name) for name in ("k-medoids", "split-segment")}
    monkeypatch.setattr(paper_tables, "tables", lambda: chosen)
    ended = uvast("reproduce", "all", tmp_path / "bare", "--out", tmp_path / "out")
    assert ended.exit_code == 1
    assert f"failed: k-medoids, Midpoint: {tmp_path / 'bare'}: has no timestamps; add" in (
        ended.stderr
    )
    assert "4 of 6 runs failed; the same command tries them again" in ended.stderr
    assert "Midpoint [failed: has no timestamps]" in ended.stdout
    assert "With Split-Segment" in ended.stdout
    for name in chosen:
        assert (tmp_path / "out" / f"{name}.md").exists()


def test_a_wrong_setting_of_the_last_table_is_refused_before_the_first_runs(
    tiny_path: Path, tmp_path: Path
) -> None:
    setting = ("--set", "loss.group_frame=off")
    ended = uvast("reproduce", "all", tiny_path, "--out", tmp_path / "out", *setting)
    assert isinstance(ended.exception, ConfigError)
    assert not (tmp_path / "out").exists()


def test_scores_that_cannot_be_read_are_a_failed_row(tiny: Dataset, tmp_path: Path) -> None:
    task = Reproduction(find_table("split-segment"), tiny)
    broken = tmp_path / task.cells()[0].key / "scores.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{}")
    outcomes = list(task.run(tmp_path, SerialEngine()))
    assert [one.error is None for one in outcomes] == [False, True]
    remarks = [line.remark for line in task.layout(tmp_path).lines]
    assert remarks == ["failed or not finished", ""]


def test_help_shows_examples_and_words_uncut_at_80_columns() -> None:
    text = uvast("reproduce", "--help").stdout
    for example in re.findall(r"`(.*?)`", inspect.getdoc(reproduce) or ""):
        assert example in text
    assert "…" not in text.replace("cuda, …", "")
