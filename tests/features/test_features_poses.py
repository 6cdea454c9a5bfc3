"""Poses and tables: other tools' files, planted points, planted gaps."""

from __future__ import annotations

import pickle
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from uvast.errors import CorruptFileError, FeatureError, OutputError
from uvast.features import Order, extract, read_card
from uvast.features.models import parse_models
from uvast.features.pose_files import Poses, read_poses
from uvast.features.poses import interpolated, pose_features
from uvast.features.tables import read_table

COLUMNS = [("net", point, kind) for point in ("nose", "tail") for kind in ("x", "y", "likelihood")]
VALUES = np.array(
    [
        [0.0, 10.0, 0.9, 5.0, 6.0, 1.0],
        [1.0, 10.0, 0.9, 5.0, 6.0, 0.1],
        [2.0, 10.0, 0.9, 9.0, 8.0, 0.8],
    ]
)
POINTS = np.array([[[0, 10], [5, 6]], [[1, 10], [np.nan, np.nan]], [[2, 10], [9, 8]]], dtype=float)


def deeplabcut_csv(path: Path) -> Path:
    header = zip(("scorer", "bodyparts", "coords"), zip(*COLUMNS, strict=True), strict=True)
    lines = [",".join((name, *cells)) for name, cells in header]
    lines += [",".join((f"img{i}.png", *map(str, row))) for i, row in enumerate(VALUES)]
    path.write_text("\n".join(lines))
    return path


def deeplabcut_table_h5(path: Path) -> Path:
    """As pandas' `to_hdf(format="table")` writes it."""
    kind = np.dtype([("index", "<i8"), ("values_block_0", "<f8", (6,))])
    rows = np.zeros(3, kind)
    rows["values_block_0"] = VALUES
    with h5py.File(path, "w") as file:
        group = file.create_group("df_with_missing")
        group.attrs["pandas_type"] = np.bytes_(b"frame_table")
        table = group.create_dataset("table", data=rows)
        table.attrs["values_block_0_kind"] = np.bytes_(pickle.dumps(COLUMNS, protocol=0))
    return path


def deeplabcut_fixed_h5(path: Path) -> Path:
    """As pandas' `to_hdf(format="fixed")` writes it."""
    with h5py.File(path, "w") as file:
        group = file.create_group("df_with_missing")
        group.attrs["pandas_type"] = np.bytes_(b"frame")
        group.attrs["block0_items_nlevels"] = 3
        for level, names in enumerate(zip(*COLUMNS, strict=True)):
            known = sorted(set(names))
            group[f"block0_items_level{level}"] = np.array(known, "S")
            group[f"block0_items_label{level}"] = np.array([known.index(n) for n in names], "i1")
        group["block0_values"] = VALUES
    return path


def sleap_h5(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file["tracks"] = POINTS.transpose(2, 1, 0)[None]
    return path


def plain_csv(path: Path) -> Path:
    names = [f"{point}_{kind}" for _, point, kind in COLUMNS]
    rows = [["frame", *names], *([i, *row] for i, row in enumerate(VALUES))]
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return path


def parquet(path: Path) -> Path:
    names = [f"{point}.{kind}" for _, point, kind in COLUMNS]
    table = pa.table({name: VALUES[:, i] for i, name in enumerate(names)})
    write_table(table, path)
    return path


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (deeplabcut_csv, "a.csv"),
        (deeplabcut_table_h5, "a.h5"),
        (deeplabcut_fixed_h5, "a.h5"),
        (sleap_h5, "a.h5"),
        (plain_csv, "a.csv"),
        (parquet, "a.parquet"),
    ],
)
def test_every_tracker_tells_the_same_points(write, name, tmp_path):
    poses = read_poses(write(tmp_path / name))
    assert np.array_equal(poses.points, POINTS, equal_nan=True)
    assert len(set(poses.bodies)) == 1


def test_several_animals_are_several_bodies(tmp_path):
    rows = [
        ["scorer", *["net"] * 4],
        ["individuals", "mouse", "mouse", "rat", "rat"],
        ["bodyparts", *["nose"] * 4],
        ["coords", "x", "y", "x", "y"],
        ["0", "1", "2", "3", "4"],
    ]
    (tmp_path / "two.csv").write_text("\n".join(",".join(row) for row in rows))
    poses = read_poses(tmp_path / "two.csv")
    assert poses.bodies == ("mouse", "rat")
    assert poses.points.tolist() == [[[1, 2], [3, 4]]]
    assert pose_features(poses).shape == (1, 2 * (4 + 2 + 2 + 1))


def test_gaps_are_bridged_and_flagged():
    found = interpolated(POINTS)
    assert found[1, 1].tolist() == [7, 7]
    features = pose_features(Poses(("", ""), POINTS))
    middle, speed, relative, moves, lost = np.split(features, [2, 4, 8, 12], axis=1)
    assert middle[1].tolist() == [4, 8.5]
    assert relative.reshape(3, 2, 2).sum(1) == pytest.approx(np.zeros((3, 2)))
    assert speed[1] == pytest.approx((middle[2] - middle[0]) / 2)
    assert moves[1] == pytest.approx((relative[2] - relative[0]) / 2)
    assert lost.tolist() == [[0, 0], [0, 1], [0, 0]]
    faster = pose_features(Poses(("", ""), POINTS), rows_per_second=30.0)
    assert faster[:, 2:4] == pytest.approx(30 * speed)


def test_moving_the_whole_body_changes_only_its_middle():
    points = np.random.default_rng(0).normal(size=(20, 4, 2))
    moved = points + np.array([100.0, -50.0])
    first, second = (pose_features(Poses(("",) * 4, one)) for one in (points, moved))
    assert second[:, :2] - first[:, :2] == pytest.approx(np.tile([100.0, -50.0], (20, 1)))
    assert second[:, 2:] == pytest.approx(first[:, 2:], abs=1e-9)


def test_a_point_that_is_never_seen_sits_in_the_middle():
    points = POINTS.copy()
    points[:, 1] = np.nan
    features = pose_features(Poses(("", ""), points))
    assert np.isfinite(features).all()
    assert features[:, 4:8] == pytest.approx(np.zeros((3, 4)))
    nobody = pose_features(Poses(("", ""), np.full((3, 2, 2), np.nan)))
    assert nobody[:, -2:].tolist() == [[1, 1]] * 3
    assert not nobody[:, :-2].any()


def order(path: Path, out: Path, model: str, **options) -> Order:
    return Order(path, out, parse_models(model), **options)


def test_poses_become_features_with_a_card(tmp_path):
    path = plain_csv(tmp_path / "mouse.csv")
    outcome = extract(order(path, tmp_path / "out", "poses"))
    card = read_card(tmp_path / "out" / "mouse.json")
    features = np.load(tmp_path / "out" / "mouse.npy")
    assert (outcome.state, features.shape, features.dtype) == ("made", (3, 14), np.float32)
    assert (card.times, card.source_frames) == ((), (0, 1, 2))
    assert features == pytest.approx(pose_features(read_poses(path)), abs=1e-6)
    assert extract(order(path, tmp_path / "out", "poses")).state == "kept"
    with pytest.raises(OutputError, match=r"mouse\.npy: exists already and holds poses features"):
        extract(order(path, tmp_path / "out", "table"))


@pytest.mark.parametrize(
    ("rows", "rate", "expected"),
    [(30.0, 15.0, [0, 2, 4, 6, 8]), (30.0, 10.0, [0, 3, 6, 9]), (10.0, 20.0, None)],
)
def test_rows_of_a_known_rate_are_sampled(rows, rate, expected, tmp_path):
    (tmp_path / "a.csv").write_text("value\n" + "\n".join(map(str, range(10))))
    made = order(tmp_path / "a.csv", tmp_path / "out", "table", rows_per_second=rows, rate=rate)
    assert extract(made).seconds == pytest.approx(10 / rows)
    features = np.load(tmp_path / "out" / "a.npy")[:, 0]
    card = read_card(tmp_path / "out" / "a.json")
    assert card.times == pytest.approx(np.arange(len(features)) / rate, abs=1e-6)
    assert features.tolist() == list(card.source_frames)
    if expected is not None:
        assert features.tolist() == expected
    assert np.abs(features / rows - np.array(card.times)).max() <= 0.5 / rows + 1e-6


def test_a_plain_table_is_taken_as_it_is(tmp_path):
    (tmp_path / "a.tsv").write_text("1\t2.5\n-3\t4e2\n")
    assert read_table(tmp_path / "a.tsv").values.tolist() == [[1, 2.5], [-3, 400]]
    extract(order(tmp_path / "a.tsv", tmp_path / "out", "table"))
    assert np.load(tmp_path / "out" / "a.npy").tolist() == [[1, 2.5], [-3, 400]]


@pytest.mark.parametrize(
    ("name", "content", "model", "sentence"),
    [
        ("a.csv", "", "table", "holds no numbers; write one row per frame"),
        ("a.csv", "x,y\n", "table", "holds no numbers"),
        ("a.csv", "x,y\n1,2\n3\n", "table", "row 3: has 1 cells, but the header has 2"),
        ("a.csv", "x,y\n1,2\n3,four\n", "table", "row 3, column y: 'four' is not a number"),
        ("a.csv", "x,y\n1,2\n,4\n", "table", "1 empty cells, the first in row 2 of column x; fill"),
        ("a.csv", "x,y\n1,inf\n", "table", "holds infinite numbers"),
        ("a.csv", 'x,"y\n' + "1,2\n" * 40_000, "table", "cannot be read as CSV (field larger than"),
        ("a.csv", "speed,angle\n1,2\n", "poses", "has no columns such as nose_x and nose_y; pass"),
        ("a.parquet", "no table", "table", "cannot be read as a Parquet table"),
        ("a.h5", "no table", "table", "cannot be read as a table"),
        ("a.h5", "no table", "poses", "cannot be read as HDF5"),
    ],
)
def test_what_is_no_table_is_one_sentence(name, content, model, sentence, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises((CorruptFileError, FeatureError)) as error:
        extract(order(tmp_path / name, tmp_path / "out", model))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_names_in_a_file_run_no_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return Path.write_text, (tmp_path / "trace", "was here")

    path = deeplabcut_table_h5(tmp_path / "evil.h5")
    with h5py.File(path, "r+") as file:
        table = file["df_with_missing/table"]
        table.attrs["values_block_0_kind"] = np.bytes_(pickle.dumps([Evil()], protocol=0))
    with pytest.raises(CorruptFileError):
        read_poses(path)
    assert not (tmp_path / "trace").exists()


def test_columns_of_a_second_kind_are_not_dropped(tmp_path):
    fixed = deeplabcut_fixed_h5(tmp_path / "fixed.h5")
    with h5py.File(fixed, "r+") as file:
        next(iter(file.values()))["block1_values"] = np.zeros((len(VALUES), 1), "<i8")
    table = deeplabcut_table_h5(tmp_path / "table.h5")
    with h5py.File(table, "r+") as file:
        group = next(iter(file.values()))
        rows, attributes = group["table"][...], dict(group["table"].attrs)
        kind = np.dtype([*rows.dtype.descr, ("values_block_1", "<i8", (1,))])
        del group["table"]
        group["table"] = np.zeros(len(rows), kind)
        group["table"].attrs.update(attributes)
    for path in (fixed, table):
        with pytest.raises(CorruptFileError, match=r"holds columns of 2 types, .*or as CSV"):
            read_table(path)
