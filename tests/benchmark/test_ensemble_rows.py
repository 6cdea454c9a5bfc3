"""Seeds of one model as a row of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_types import MakeCell

import uvast
from uvast.benchmark import cost
from uvast.benchmark.cell_scores import CellScores, read_scores
from uvast.benchmark.decoded_scores import COLUMNS
from uvast.benchmark.earlier import with_earlier
from uvast.benchmark.engine import SerialEngine, run_cells
from uvast.benchmark.ensembles import ensemble_cells, form_ensembles, with_shared_folds
from uvast.benchmark.results import collect, layouts
from uvast.benchmark.run_cell import run_cell
from uvast.data import Dataset
from uvast.errors import ConfigError, OutputError


def test_every_so_many_seeds_are_an_ensemble(make_cell: MakeCell) -> None:
    cells = [make_cell(seed=seed, split=split) for seed in range(5) for split in (1, 2)]
    groups = ensemble_cells(cells, 2)
    found = [
        (one.cell.key.split("/", 1)[1], [(part.split, part.seed) for part in one.members])
        for one in groups
    ]
    assert found == [
        ("ms-tcn x 2-full/split1-seed0", [(1, 0), (1, 1)]),
        ("ms-tcn x 2-full/split1-seed2", [(1, 2), (1, 3)]),
        ("ms-tcn x 2-full/split2-seed0", [(2, 0), (2, 1)]),
        ("ms-tcn x 2-full/split2-seed2", [(2, 2), (2, 3)]),
    ]
    assert ensemble_cells(cells, 1) == ()
    with pytest.raises(ConfigError, match="an ensemble of 6 needs 6 seeds; pass --seeds 0,1,2,3,4"):
        ensemble_cells(cells, 6)


def test_an_ensemble_is_scored_as_a_model_of_its_own(
    make_cell: MakeCell, tiny: Dataset, tmp_path: Path
) -> None:
    cells = [make_cell(seed=seed) for seed in (0, 1)]
    groups = ensemble_cells(cells, 2)
    ready, faults = form_ensembles(groups, tmp_path)
    assert ready == ()
    assert "no ensemble" in faults[0]
    for cell in cells:
        run_cell(cell, tmp_path)
    (ready, faults) = form_ensembles(groups, tmp_path)
    assert faults == ()
    assert all(one.error is None for one in run_cells(ready, tmp_path, SerialEngine("cpu")))
    rows = collect(with_earlier(cells, tmp_path)[0], tmp_path)  # as the next command sees it
    assert [(row.model, row.n_seeds) for row in rows] == [("ms-tcn", 2), ("ms-tcn x 2", 1)]
    predictions = uvast.segment(tmp_path / ready[0].key, tiny.path, split=1)
    pairs = [(p.segmentation, tiny.source_segmentation(n)) for n, p in predictions.items()]
    assert rows[1].mean["acc"] == pytest.approx(uvast.score(pairs, tiny.vocabulary).acc)
    (layout,) = layouts(rows)
    assert [line.method for line in layout.lines] == ["MS-TCN", "MS-TCN (ms-tcn x 2)"]

    assert form_ensembles(groups, tmp_path) == (ready, ())  # it is there
    others = ensemble_cells([cells[0], make_cell(seed=3)], 2)
    ready, (fault,) = form_ensembles(others, tmp_path)
    assert ready == ()
    assert "is made of the seeds 0, 1, not 0, 3; choose another --out, or remove" in fault
    best = tmp_path / cells[1].key / "best.safetensors"
    best.write_bytes((tmp_path / cells[0].key / "best.safetensors").read_bytes())
    ready, (fault,) = form_ensembles(groups, tmp_path)
    assert ready == ()
    assert "was made of runs that have changed since; remove this folder" in fault


def test_an_ensemble_is_never_scored_by_other_classes(
    make_cell: MakeCell, data: Path, tmp_path: Path
) -> None:
    cells = [make_cell(seed=seed, dataset=data) for seed in (0, 1)]
    for cell in cells:
        run_cell(cell, tmp_path)
    ready, _ = form_ensembles(ensemble_cells(cells, 2), tmp_path)
    names = Dataset.open(data).vocabulary.names
    mapping = [f"{number} {name}" for number, name in enumerate(reversed(names))]
    (data / "mapping.txt").write_text("\n".join(mapping) + "\n")
    (outcome,) = run_cells(ready, tmp_path, SerialEngine("cpu"))
    assert "data: does not have the same classes as the model; restore its" in outcome.error


def test_kept_scores_of_an_ensemble_need_no_weights(make_cell: MakeCell, tmp_path: Path) -> None:
    groups = ensemble_cells([make_cell(seed=seed) for seed in (0, 1)], 2)
    folder = tmp_path / groups[0].cell.key
    folder.mkdir(parents=True)
    CellScores(groups[0].cell, {"frames": dict.fromkeys(COLUMNS, 50.0)}).write(
        folder / "scores.json"
    )
    assert form_ensembles(groups, tmp_path) == ((groups[0].cell,), ())


def test_seeds_calibrated_in_different_ways_are_told_apart(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    alone = [make_cell(seed=seed, train__folds=2) for seed in (0, 1, 2)]
    for cell in alone[:2]:
        run_cell(cell, tmp_path)
    way = {"frames + viterbi": {"transcript": "frames", "durations": "viterbi"}}
    more = [replace(cell, decodings={**cell.decodings, **way}) for cell in alone]
    cells = with_shared_folds(more, ensemble_cells(more, 3))
    assert all(one.error is None for one in run_cells(cells, tmp_path, SerialEngine("cpu")))
    found = [read_scores(cell, tmp_path).cell.calibrated_by for cell in cells]
    assert found == [None, None, alone[0].key]
    rows = collect(cells, tmp_path)
    assert {row.note for row in rows} == {"2 of 3 seeds with inner runs of their own"}
    assert {row.note for row in collect(cells[:2], tmp_path)} == {""}
    assert {row.note for row in collect([cells[0], cells[2]], tmp_path)} == {""}


def test_members_share_the_inner_runs_of_the_first(make_cell: MakeCell, tmp_path: Path) -> None:
    alone = [make_cell(seed=seed, train__folds=2) for seed in (1, 0)]
    groups = ensemble_cells(alone, 2)
    first, second = with_shared_folds(alone, groups)
    assert (first.calibrated_by, second.calibrated_by) == (None, first.key)
    backwards = run_cells([second, first], tmp_path, SerialEngine("cpu"))
    assert [(one.cell.seed, one.error) for one in backwards] == [(1, None), (0, None)]
    folds = [tmp_path / cell.key / "folds" for cell in (first, second)]
    chosen = [(folder / "weights.json").read_text() for folder in folds]
    assert chosen[0] == chosen[1]
    assert (folds[0] / "1").is_dir()
    assert not (folds[1] / "1").exists()


def test_what_a_member_costs_leaves_out_the_inner_runs(
    make_cell: MakeCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        cost, "expected_seconds", lambda config, facts, device: asked.append(facts.n_folds) or 1.0
    )
    alone = [
        make_cell(seed=seed, split=split, train__folds=2) for seed in (0, 1) for split in (1, 2)
    ]
    cells = with_shared_folds(alone, ensemble_cells(alone, 2))
    assert cost.seconds_to_train(cells, "cpu") == 4.0
    assert asked == [2, 0]


def test_without_inner_runs_no_member_waits(make_cell: MakeCell) -> None:
    cells = [make_cell(seed=seed, train__folds=0) for seed in (0, 1)]
    assert with_shared_folds(cells, ensemble_cells(cells, 2)) == tuple(cells)


def test_a_member_waits_for_the_first(make_cell: MakeCell, tmp_path: Path) -> None:
    cells = [make_cell(seed=seed, train__folds=2) for seed in (0, 1)]
    _, second = with_shared_folds(cells, ensemble_cells(cells, 2))
    with pytest.raises(OutputError, match="waits for tiny/ms-tcn-full/split1-seed0, whose inner"):
        run_cell(second, tmp_path)
    assert not (tmp_path / second.key).exists()
