"""Means, spreads, and tables that never mix up whose numbers they show."""

from __future__ import annotations

import csv
import json
import math
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from benchmark_types import MakeCell

from uvast.benchmark.cell import CellFold
from uvast.benchmark.cell_scores import scores_file
from uvast.benchmark.decoded_scores import COLUMNS
from uvast.benchmark.earlier import with_earlier
from uvast.benchmark.layout import OURS, as_latex, as_markdown, as_text
from uvast.benchmark.results import (
    ResultRow,
    collect,
    layouts,
    summary,
    write_results,
)
from uvast.data import Dataset
from uvast.data.label_digest import label_digest
from uvast.inference.named_decodings import DECODINGS
from uvast.report.fragments import benchmark_table
from uvast.report.of_benchmark import report_benchmark

MARK = "published, I3D features"
LATER = "published later, I3D features"


def plant(out: Path, cell: object, value: float, of: Dataset | None = None) -> None:
    scores = {name: dict.fromkeys(COLUMNS, value) for name in cell.decodings}
    folder = out / cell.key
    folder.mkdir(parents=True, exist_ok=True)
    record = {"cell": asdict(cell), "scores": scores}
    if of is not None:
        videos = of.side(cell.split, "test")
        record |= {
            "videos": videos,
            "labels": label_digest(of, videos),
            "background": of.vocabulary.background,
        }
    (folder / scores_file(cell.protocol)).write_text(json.dumps(record))


def row(dataset: str, kind: str, decoding: str, **changes: object) -> ResultRow:
    values = {
        "dataset": dataset,
        "model": kind,
        "kind": kind,
        "supervision": "full",
        "decoding": decoding,
        "n_splits": 4,
        "n_splits_wanted": 4,
        "n_seeds": 1,
        "n_seeds_wanted": 1,
        "mean": dict.fromkeys(COLUMNS, 12.3),
        "spread": {},
    }
    return ResultRow(**{**values, **changes})


def test_mean_over_splits_then_mean_and_spread_over_seeds(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    planted = {(1, 0): 10.0, (2, 0): 20.0, (1, 1): 30.0, (2, 1): 50.0}
    cells = [make_cell(split=split, seed=seed) for split, seed in planted]
    for cell, value in zip(cells, planted.values(), strict=True):
        plant(tmp_path, cell, value)
    (found,) = collect(cells, tmp_path)
    assert (found.n_splits, found.n_seeds, found.remark) == (2, 2, "")
    assert found.mean["acc"] == pytest.approx((15 + 40) / 2)
    assert found.spread["acc"] == pytest.approx(math.sqrt(2 * 12.5**2))  # n - 1 below


def test_a_seed_that_lacks_splits_is_left_out_and_what_is_missing_is_told(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    cells = [make_cell(split=split, seed=seed) for seed in (0, 1) for split in (1, 2)]
    plant(tmp_path, cells[0], 10.0)
    (found,) = collect(cells, tmp_path)
    assert (found.mean["edit"], found.spread) == (10.0, {})
    assert found.remark == "1 of 2 splits, 1 of 2 seeds"
    plant(tmp_path, cells[1], 20.0)
    plant(tmp_path, cells[2], 90.0)
    (found,) = collect(cells, tmp_path)
    assert (found.mean["edit"], found.n_seeds, found.remark) == (15.0, 1, "1 of 2 seeds")
    assert collect(cells[3:], tmp_path) == ()


def test_seeds_with_different_splits_are_never_averaged(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    cells = [make_cell(split=split, seed=seed) for seed in (0, 1, 2) for split in (1, 2)]
    for place, value in ((0, 10.0), (3, 80.0), (5, 90.0)):  # split 1 of a seed, split 2 of two
        plant(tmp_path, cells[place], value)
    (found,) = collect(cells, tmp_path)
    assert (found.mean["acc"], found.n_seeds) == (85.0, 2)
    assert found.spread["acc"] == pytest.approx(math.sqrt(50))


def test_results_hold_what_earlier_commands_left_in_the_folder(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    way = {"frames + viterbi": {"transcript": "frames", "durations": "viterbi"}}
    earlier = [make_cell(model="other"), make_cell(decodings=way), make_cell(seed=1)]
    for cell in earlier:
        plant(tmp_path, cell, 50.0)
    (tmp_path / earlier[2].key / "scores.json").write_text("{")  # a broken one is no result
    asked = make_cell()
    rows = collect(with_earlier([asked], tmp_path)[0], tmp_path)
    assert [(one.model, one.decoding) for one in rows] == [
        ("ms-tcn", "frames + viterbi"),
        ("other", "frames"),
    ]


def test_earlier_scores_of_other_labels_or_datasets_are_left_out(
    make_cell: MakeCell, tiny_path: Path, tmp_path: Path
) -> None:
    out, here, there = (tmp_path / name for name in ("out", "here/data", "there/data"))
    for place in (here, there):
        shutil.copytree(tiny_path, place)
    asked = make_cell(dataset=here)
    elsewhere = [make_cell(model="moved", dataset=there, split=split) for split in (1, 2)]
    for cell in elsewhere:
        plant(out, cell, 50.0, of=Dataset.open(there))
    gone = make_cell(model="gone", dataset=tmp_path / "nowhere" / "other")
    plant(out, gone, 50.0, of=Dataset.open(there))
    cells, notes = with_earlier([asked], out)  # the same labels in another folder
    assert [(cell.model, cell.dataset) for cell in cells] == [
        ("ms-tcn", str(here)),
        ("moved", str(here)),
        ("moved", str(here)),
        ("gone", gone.dataset),
    ]
    assert notes == ()

    labels = here / "groundTruth" / f"{Dataset.open(here).side(1, 'test')[0]}.txt"
    labels.write_text("\n".join(sorted(labels.read_text().splitlines())) + "\n")
    cells, notes = with_earlier([asked], out)
    assert [(cell.model, cell.split) for cell in cells[:-1]] == [("ms-tcn", 1), ("moved", 2)]
    assert notes == (
        f"the results leave out 1 earlier run in {out}/data/moved-full, scored on other videos, "
        f"labels or background classes than {here} has",
    )
    other = make_cell(model="other")  # it is not asked for: its own dataset counts
    cells, notes = with_earlier([other], out)
    assert (len(cells), notes) == (4, ())
    (there / "splits" / "test.split2.bundle").unlink()
    (there / "splits" / "train.split2.bundle").unlink()
    assert [cell.split for cell in with_earlier([other], out)[0]] == [1, 1, 1]
    assert with_earlier([other], out, without=[elsewhere[0].key])[0] == (other, gone)

    plant(out, elsewhere[0], 50.0)  # by an earlier version, which did not say what it scored
    assert with_earlier([asked], out)[1] != ()
    assert with_earlier([other], out)[1] != ()  # that of split 2


def test_datasets_of_one_name_are_told_apart_in_the_whole_table(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    cells = [
        make_cell(model=model, dataset=tmp_path / place / "data")
        for model, place in (("one", "a"), ("two", "b"), ("three", "a"))
    ]
    for cell in cells:
        plant(tmp_path, cell, 50.0)
    notes = [one.note for one in collect(cells, tmp_path)]
    assert notes == ["", f"dataset={tmp_path}/b/data", ""]


def test_runs_of_other_settings_are_never_averaged(make_cell: MakeCell, tmp_path: Path) -> None:
    cells = [make_cell(seed=0), make_cell(seed=1, train__epochs=7)]
    for cell, value in zip(cells, (90.0, 10.0), strict=True):
        plant(tmp_path, cell, value)
    rows = collect(cells, tmp_path)
    assert [(one.mean["acc"], one.n_seeds, one.note) for one in rows] == [
        (90.0, 1, ""),
        (10.0, 1, "train.epochs=7"),
    ]


def test_protocols_never_share_a_row_a_table_or_a_file(make_cell: MakeCell, tmp_path: Path) -> None:
    cells = [make_cell(seed=seed) for seed in (0, 1)]
    others = [replace(cell, protocol="legacy") for cell in (*cells, make_cell(model="other"))]
    for number, cell in enumerate((*cells, *others)):
        plant(tmp_path, cell, 10.0 * number)
    both = collect((*cells, *others), tmp_path)
    assert [(one.model, one.protocol, one.n_seeds, one.mean["acc"]) for one in both] == [
        ("ms-tcn", "standard", 2, 5.0),
        ("ms-tcn", "legacy", 2, 25.0),
        ("other", "legacy", 1, 40.0),
    ]
    tables = layouts([replace(one, dataset="gtea") for one in both])
    assert [table.title.endswith(", legacy protocol") for table in tables] == [False, True]
    for table, protocol in zip(tables, ("standard", "legacy"), strict=True):
        for text in (as_text(table), as_markdown(table), as_latex(table)):
            assert f"Ours: {protocol} protocol." in text
    assert [one.protocol for one in with_earlier(cells, tmp_path)[0]] == ["standard"] * 2
    assert len(with_earlier(others[:1], tmp_path, "legacy")[0]) == 3
    write_results(tmp_path, both[:1])
    before = {path.name: path.read_bytes() for path in tmp_path.glob("results*")}
    names = write_results(tmp_path, both[1:], "legacy")
    assert names == ("results-legacy.csv", "results-legacy.json", "results-legacy.md")
    assert {one["protocol"] for one in json.loads((tmp_path / names[1]).read_text())} == {"legacy"}
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_inner_cross_validation_is_no_test_score(make_cell: MakeCell, tmp_path: Path) -> None:
    fold = CellFold(1, 2, ("a",), ("b",))
    plant(tmp_path, replace(make_cell(model="changed"), fold=fold), 20.0)
    asked = make_cell()
    assert with_earlier([asked], tmp_path) == ((asked,), ())


def test_a_row_that_lacks_splits_is_not_the_best_of_a_page(tmp_path: Path) -> None:
    rows = [
        row("gtea", "uvast", "best"),
        row("gtea", "asrf", "frames", n_splits=1, mean=dict.fromkeys(COLUMNS, 99.0)),
    ]
    write_results(tmp_path, rows)
    whole, part = report_benchmark(tmp_path).benchmark
    assert part.labels[1] == "asrf [1 of 4 splits]"
    page = benchmark_table([whole, part])
    assert "<strong>12.3</strong>" in page
    assert "<strong>99.0</strong>" not in page


def test_one_seed_has_no_spread() -> None:
    assert summary([[{"acc": 1.0}, {"acc": 2.0}]]) == ({"acc": 1.5}, {})


def test_ours_stand_below_the_published_line_of_the_same_method() -> None:
    (layout,) = layouts([row("gtea", "uvast", "viterbi"), row("gtea", "asformer", "frames + fifa")])
    lines = [(line.method, line.source) for line in layout.lines]
    for method in ("UVAST + Viterbi", "ASFormer + FIFA"):
        place = lines.index((method, MARK))
        assert lines[place + 1] == (method, OURS)
    numbers = {(line.method, line.source): line.scores["edit"] for line in layout.lines}
    assert numbers["UVAST + Viterbi", MARK] == 92.1
    assert numbers["UVAST + Viterbi", OURS] == 12.3
    assert ("ActFusion", LATER) in lines
    assert sum(source == OURS for _, source in lines) == 2


def test_every_table_of_every_format_says_whose_numbers_they_are() -> None:
    (layout,) = layouts([row("GTEA", "uvast", "viterbi")])
    for text in (as_text(layout), as_markdown(layout), as_latex(layout)):
        (ours,) = [line for line in text.splitlines() if "12.3" in line]
        assert OURS in ours
        assert MARK not in ours
        theirs = [line for line in text.splitlines() if "92.7" in line]
        assert all(MARK in line for line in theirs)
        assert theirs
        assert "UVAST paper, table 1" in text
    for record in layout.records():
        assert (record["numbers"] == OURS) == (record["acc"] == 12.3)
        assert record["numbers"] in (OURS, MARK, LATER)
    for series in layout.figure()["series"]:
        assert (series["numbers"] == OURS) == (12.3 in series["values"])


def test_other_datasets_and_supervision_have_no_published_numbers_of_a_namesake() -> None:
    own = layouts([row("kitchen", "uvast", "viterbi")])[0]
    assert [line.source for line in own.lines] == [OURS]
    assert own.citation == ""
    timed = layouts([row("gtea", "uvast", "viterbi", supervision="timestamps")])[0]
    numbers = {(line.method, line.source): line.scores["edit"] for line in timed.lines}
    assert numbers["UVAST + Viterbi", MARK] == 89.3


def test_methods_without_a_published_line_follow_their_model() -> None:
    rows = [
        row("gtea", "uvast", "viterbi", model="small"),
        row("gtea", "uvast", "best", model="small"),
        row("gtea", "uvast", "frames", model="small"),
        row("gtea", "toy", "frames"),
        row("gtea", "toy", "frames + viterbi"),
    ]
    (layout,) = layouts(rows)
    methods = [line.method for line in layout.lines]
    place = methods.index("UVAST + Viterbi (small)")
    assert layout.lines[place - 1].source == MARK
    assert methods[place + 1 : place + 3] == ["UVAST, best (small)", "UVAST, frame head (small)"]
    assert methods[-2:] == ["toy", "toy + Viterbi"]


def test_own_data_has_its_rows_model_by_model_and_no_column_of_sources() -> None:
    rows = [
        row("mine", kind, decoding)
        for kind, decoding in (
            ("ms-tcn", "frames"),
            ("ms-tcn", "semi-markov"),
            ("uvast", "transcript"),
            ("uvast", "viterbi + gamma"),
        )
    ]
    (layout,) = layouts(rows)
    assert [cells[0] for cells in layout.cells()] == [
        "MS-TCN",
        "MS-TCN + semi-Markov",
        "UVAST w/o duration",
        "UVAST + Viterbi, Gamma lengths",
    ]
    assert layout.header[:2] == ("method", "F1@10")
    assert OURS not in as_text(layout) + as_markdown(layout) + as_latex(layout)


def test_every_decoding_has_a_name_of_words() -> None:
    (layout,) = layouts([row("mine", "uvast", name) for name in DECODINGS])
    assert not any(":" in line.method for line in layout.lines)
    assert len({line.method for line in layout.lines}) == len(DECODINGS)


def test_published_rows_say_what_a_reader_must_know() -> None:
    (layout,) = layouts([row("gtea", "uvast", "viterbi")])
    remarks = {line.method: line.remark for line in layout.lines}
    assert remarks["DiffAct"] == remarks["BCN"] == "epoch chosen on the test side"
    for text in (as_text(layout), as_markdown(layout), as_latex(layout)):
        assert "SSTDA [transductive]" in text


def test_a_system_stands_below_its_published_line_by_its_own_decoding() -> None:
    rows = [row("gtea", "asrf", name) for name in ("frames", "boundaries", "semi-markov")]
    (layout,) = layouts(rows)
    methods = [(line.method, line.source) for line in layout.lines]
    place = methods.index(("ASRF", MARK))
    assert set(methods[place + 1 : place + 4]) == {
        ("ASRF", OURS),
        ("ASRF, frame labels", OURS),
        ("ASRF + semi-Markov", OURS),
    }


def test_an_unfinished_row_says_so() -> None:
    (layout,) = layouts([row("tiny", "ms-tcn", "frames", n_splits=1)])
    assert layout.cells()[0][0] == "MS-TCN [1 of 4 splits]"


def test_latex_signs_are_escaped() -> None:
    (layout,) = layouts([row("my_data", "uvast", "best", spread={"acc": 0.5})])
    text = as_latex(layout)
    assert r"my\_data" in text
    assert r"12.3 $\pm$ 0.5" in text
    assert text.count("{") == text.count("}")


def test_results_are_written_as_csv_json_and_markdown(tmp_path: Path) -> None:
    rows = [row("gtea", "uvast", "transcript", mean={"edit": 50.0}), row("gtea", "uvast", "fifa")]
    write_results(tmp_path, rows)
    table = list(csv.DictReader((tmp_path / "results.csv").read_text().splitlines()))
    assert [(one["decoding"], one["edit"], one["acc"]) for one in table] == [
        ("transcript", "50.0", ""),
        ("fifa", "12.3", "12.3"),
    ]
    assert json.loads((tmp_path / "results.json").read_text())[0]["acc"] is None
    assert (
        "| UVAST w/o duration | ours | – | – | – | 50.0 | – |"
        in (tmp_path / "results.md").read_text()
    )
    write_results(tmp_path, [])
    assert (tmp_path / "results.csv").read_text() == ""


def test_rows_of_a_transductive_run_say_so(make_cell: MakeCell, tmp_path: Path) -> None:
    settings = {"model__kind": "sstda", "train__unlabelled": "test"}
    cells = [make_cell(model="sstda", **settings), make_cell(model="ms-tcn")]
    for cell in cells:
        plant(tmp_path, cell, 50.0)
    rows = collect(cells, tmp_path)
    assert [one.note for one in rows] == ["transductive", ""]
    write_results(tmp_path, rows)
    for name in ("results.csv", "results.md", "results.json"):
        assert (tmp_path / name).read_text().count("transductive") == 1
    (layout,) = layouts(rows)
    labels = [line.label for line in layout.lines]
    assert [one.endswith("[transductive]") for one in labels] == [True, False]
    labels = [one.labels[1] for one in report_benchmark(tmp_path).benchmark]
    assert labels == ["sstda [transductive]", "ms-tcn"]
