"""The matrix of a benchmark, and which decodings fit which model."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import pytest

from uvast.benchmark.matrix import Matrix, preset_of
from uvast.config import load_config
from uvast.errors import ConfigError, SplitError, UvastError
from uvast.inference.named_decodings import DECODINGS, decodings_of, fitting_decodings


def test_every_combination_is_one_cell_with_a_place_of_its_own(tiny_path: Path) -> None:
    matrix = Matrix(
        [tiny_path],
        ["ms-tcn", "asformer"],
        supervision=("full", "timestamps"),
        seeds=(0, 1, 2),
        settings=("train.epochs=7",),
    )
    cells = matrix.cells()
    assert len(cells) == len({cell.key for cell in cells}) == 2 * 2 * 3 * 2
    assert {cell.training.train.epochs for cell in cells} == {7}
    assert {(cell.seed, cell.training.train.seed) for cell in cells} == {(0, 0), (1, 1), (2, 2)}
    assert {cell.split for cell in cells} == {1, 2}
    assert cells[0].key == "tiny/ms-tcn-full/split1-seed0"


def test_a_setting_may_be_meant_for_one_model(tiny_path: Path) -> None:
    settings = ("asformer:train.epochs=9", "train.epochs=7")
    cells = Matrix([tiny_path], ["ms-tcn", "asformer"], settings=settings).cells()
    assert {(c.model, c.training.train.epochs) for c in cells} == {("ms-tcn", 7), ("asformer", 9)}
    with pytest.raises(ConfigError, match="names a model that is not compared here; choose from"):
        Matrix([tiny_path], ["ms-tcn"], settings=["gtea:train.epochs=9"]).cells()
    with pytest.raises(ConfigError, match=r"section\.name=value"):
        Matrix([tiny_path], ["ms-tcn"], settings=["train.epochs"]).cells()


def test_a_models_preset_lies_upon_the_bases(tiny_path: Path, tmp_path: Path) -> None:
    plain, *_ = Matrix([tiny_path], ["asformer"]).cells()
    based, *_ = Matrix([tiny_path], ["asformer"], base="gtea").cells()
    assert (plain.config.model.channel_dropout, based.config.model.channel_dropout) == (0.3, 0.5)
    assert (based.config.model.kind, based.config.train.epochs) == ("asformer", 120)
    shutil.copytree(tiny_path, tmp_path / "GTEA")
    (found, *_), (other, *_) = (
        Matrix([path], ["asformer"], base="auto").cells() for path in (tmp_path / "GTEA", tiny_path)
    )
    assert found.config == based.config
    assert other.config == plain.config
    assert preset_of("50Salads") == "50salads"
    assert preset_of("kitchen") is preset_of("demo") is None


def test_uvast_follows_the_preset_of_each_dataset(tiny_path: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "gtea", tmp_path / "50Salads", tiny_path]
    for path in paths[:2]:
        shutil.copytree(tiny_path, path)
    cells = Matrix(paths, ["uvast"], base="auto", splits=[1]).cells()
    assert [cell.config for cell in cells] == [
        load_config("gtea"),
        load_config("50salads"),
        load_config("uvast"),
    ]


def test_later_presets_win() -> None:
    assert load_config(("gtea",)) == load_config("gtea")
    assert load_config(("asformer", "ms-tcn")).model.kind == "ms-tcn"
    with pytest.raises(ConfigError, match="no preset 'x'"):
        load_config(("gtea", "x"))


@pytest.mark.parametrize(
    ("kind", "alignment", "names", "expected"),
    [
        ("uvast", True, "none alignment viterbi fifa", "transcript alignment viterbi fifa"),
        ("uvast", False, "none alignment viterbi", "transcript viterbi"),
        ("uvast", False, "frames semi-markov best", "frames semi-markov best"),
        ("asformer", False, "none alignment best semi-markov", "frames semi-markov"),
        ("toy", False, "none explicit", "frames"),
    ],
)
def test_durations_mean_what_a_model_can_do(
    kind: str, alignment: bool, names: str, expected: str
) -> None:
    assert fitting_decodings(names.split(), kind, alignment=alignment) == tuple(expected.split())


def test_frame_wise_models_read_the_transcript_off_their_frames() -> None:
    found = fitting_decodings(["viterbi", "fifa", "frames"], "ms-tcn", alignment=False)
    assert found == ("frames + viterbi", "frames + fifa", "frames")
    assert all(DECODINGS[name]["transcript"] == "frames" for name in found)


def test_what_is_run_by_default_fits() -> None:
    for kind in ("uvast", "ms-tcn", "ms-tcn++", "asformer", "asrf", "c2f-tcn"):
        for alignment, boundaries in product((True, False), repeat=2):
            given = {"alignment": alignment, "boundaries": boundaries}
            names = decodings_of(kind, **given)
            assert fitting_decodings(names, kind, **given) == names
            assert ("boundaries" in names) == boundaries
            assert ("boundaries" in fitting_decodings(DECODINGS, kind, **given)) == boundaries


@pytest.mark.parametrize(
    ("preset", "settings", "fits"),
    [
        ("asrf", (), True),
        ("small", (), False),
        ("small", ("model.boundary_output=true",), True),
        ("ms-tcn", (), False),
    ],
)
def test_a_model_with_boundaries_is_cut_at_them(
    tiny_path: Path, preset: str, settings: tuple[str, ...], fits: bool
) -> None:
    cell, *_ = Matrix([tiny_path], [preset], settings=settings).cells()
    assert ("boundaries" in cell.decodings) == fits


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"decodings": ("viterbo",)}, ConfigError, "no decoding 'viterbo'; choose from none, fr"),
        ({"decodings": ("best",)}, ConfigError, "none of best fits the model ms-tcn"),
        ({"presets": ("gpt",)}, ConfigError, "no preset 'gpt'"),
        ({"presets": ("ms-tcn", "ms-tcn")}, ConfigError, "ms-tcn is given twice among the presets"),
        ({"presets": ()}, ConfigError, "no presets"),
        ({"seeds": (1, 1)}, ConfigError, "1 is given twice among the seeds"),
        ({"splits": (1, 9)}, SplitError, "has no split 9; choose from 1, 2"),
        ({"decodings": ()}, ConfigError, "no decodings"),
        (
            {"supervision": ("none",)},
            ConfigError,
            "unknown supervision 'none'; choose from full, time",
        ),
        (
            {"settings": ("supervision.kind=timestamps",)},
            ConfigError,
            "--set supervision.kind would change what the benchmark compares; pass --supervision",
        ),
        ({"settings": ("ms-tcn:train.seed=7",)}, ConfigError, "pass --seeds instead"),
    ],
)
def test_wrong_matrices_are_refused(
    tiny_path: Path, changes: dict[str, object], error: type[UvastError], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        Matrix(**{"datasets": [tiny_path], "presets": ["ms-tcn"], **changes}).cells()


def test_two_datasets_of_one_name_are_refused(tiny_path: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_path, tmp_path / tiny_path.name)
    with pytest.raises(
        ConfigError, match="two runs would share the folder tiny/ms-tcn-full/split1-seed0"
    ):
        Matrix([tiny_path, tmp_path / tiny_path.name], ["ms-tcn"]).cells()


def test_a_dataset_without_splits_is_refused(tiny_path: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_path, tmp_path / "whole")
    shutil.rmtree(tmp_path / "whole" / "splits")
    with pytest.raises(SplitError, match="has no splits; make them with 'uvast data split'"):
        Matrix([tmp_path / "whole"], ["ms-tcn"]).cells()


def test_epochs_are_those_of_every_stage_a_model_has(tiny_path: Path) -> None:
    matrix = Matrix([tiny_path], ("uvast", "ms-tcn"), epochs=7, settings=("ms-tcn:train.epochs=3",))
    trained = {cell.model: cell.config.train for cell in matrix.cells()}
    assert (trained["uvast"].epochs, trained["uvast"].alignment_epochs) == (7, 7)
    assert (trained["ms-tcn"].epochs, trained["ms-tcn"].alignment_epochs) == (3, 0)
    with pytest.raises(ConfigError, match=r"set twice; leave out this or --epochs"):
        Matrix([tiny_path], ("uvast",), epochs=7, settings=("train.epochs=3",)).cells()
