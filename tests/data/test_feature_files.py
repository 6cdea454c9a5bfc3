import errno
import os
from pathlib import Path

import numpy as np
import pytest

from uvast.data.feature_files import (
    FeatureHeader,
    axis_by_shapes,
    check_finite,
    find_axis,
    lengths_agree,
    map_features,
    read_header,
)
from uvast.errors import CorruptFileError, DataError, FeatureError, MissingFileError


def _headers(*shapes: tuple[int, int]) -> list[FeatureHeader]:
    return [
        FeatureHeader(Path("v.npy"), shape, np.dtype(np.float32), False, 128) for shape in shapes
    ]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<f2", "<i2", "|u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_type_and_memory_order_becomes_float32(tmp_path: Path, dtype: str, order: str) -> None:
    stored = np.asarray(np.arange(12).reshape(3, 4), dtype=dtype, order=order)
    np.save(tmp_path / "v.npy", stored)
    features = map_features(tmp_path / "v.npy", "time-first")
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features, np.arange(12).reshape(3, 4))
    np.testing.assert_array_equal(
        map_features(tmp_path / "v.npy", "features-first"), np.arange(12).reshape(3, 4).T
    )


def test_writing_into_features_leaves_the_file_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.zeros((3, 4), np.float32))
    features = map_features(tmp_path / "v.npy", "time-first")
    features += 1
    assert features.sum() == 12
    assert np.load(tmp_path / "v.npy").sum() == 0


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros((2, 3, 4)), "holds features of shape (2, 3, 4); save them as [T x F] or [F x T]"),
        (np.zeros(5), "holds features of shape (5,); save them as [T x F] or [F x T]"),
        (np.zeros((4, 0)), "is empty: it holds features of shape (4, 0); remove this video"),
        (np.array([["a"]]), "holds features of type <U1; save them as float32 numbers"),
        (
            np.zeros((2, 2), complex),
            "holds features of type complex128; save them as float32 numbers",
        ),
        (np.array([[None]]), "holds features of type object; save them as float32 numbers"),
    ],
)
def test_features_of_a_wrong_shape_or_type(
    tmp_path: Path, array: np.ndarray, sentence: str
) -> None:
    path = tmp_path / "v.npy"
    np.save(path, array)
    with pytest.raises(FeatureError) as caught:
        map_features(path, "time-first")
    assert str(caught.value) == f"{path}: {sentence}"


def test_a_missing_feature_file(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    with pytest.raises(MissingFileError) as caught:
        read_header(path)
    assert str(caught.value) == f"{path}: does not exist; extract the features of this video"


def test_a_forbidden_feature_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "v.npy").touch()
    monkeypatch.setattr(Path, "open", forbid)
    with pytest.raises(CorruptFileError, match=r"\(Permission denied\); change its permissions"):
        read_header(tmp_path / "v.npy")


def test_a_cut_file_is_found_by_its_header_alone(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    np.save(path, np.zeros((10, 4), np.float32))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFileError) as caught:
        read_header(path)
    assert str(caught.value) == (
        f"{path}: cannot be read as a NumPy array (159 of 160 bytes are there); "
        "write it again with numpy.save"
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no array",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\x10\x00{'shape': (1, 1,",
        b"\x93NUMPY\x01\x00\x05\x00'''((",
        b"\x93NUMPY\x09\x00\x10\x00",
    ],
)
def test_what_is_no_array_is_a_corrupt_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "v.npy"
    path.write_bytes(content)
    with pytest.raises(CorruptFileError) as caught:
        read_header(path)
    assert str(caught.value).startswith(f"{path}: cannot be read as a NumPy array (")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(value: float) -> None:
    features = np.zeros((9, 3), np.float32)
    features[4, 1] = features[7, 2] = value
    with pytest.raises(FeatureError) as caught:
        check_finite(features, Path("v.npy"))
    assert str(caught.value) == (
        "v.npy: holds 2 NaN or infinite values, first in frame 4; "
        "extract the features of this video again"
    )


def test_huge_values_whose_sum_overflows_are_finite() -> None:
    check_finite(np.full((5, 2), 3e38, np.float32), Path("v.npy"))


def test_float64_values_too_large_for_float32(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.full((2, 2), 1e300))
    with pytest.raises(FeatureError, match="holds 4 NaN or infinite values, first in frame 0"):
        check_finite(map_features(tmp_path / "v.npy", "time-first"), tmp_path / "v.npy")


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(8, 30), (8, 31)], "features-first"),
        ([(30, 8), (31, 8)], "time-first"),
        ([(8, 30), (8, 30)], None),
        ([(8, 30)], None),
        ([(8, 30), (8, 30), (7, 30)], None),  # one length, one wrong width
        ([(8, 30), (8, 31), (7, 32)], None),
    ],
)
def test_shapes_tell_the_axis_only_beyond_doubt(
    shapes: list[tuple[int, int]], axis: str | None
) -> None:
    assert axis_by_shapes(_headers(*shapes)) == axis


@pytest.mark.parametrize(
    ("shapes", "counts", "axis"),
    [
        ([(8, 30)], [30], "features-first"),
        ([(30, 8)], [30], "time-first"),
        ([(30, 30)], [30], None),
        ([(8, 30)], [None], None),
        ([(8, 30)], [99], None),
        ([(8, 30), (8, 30), (7, 30)], [30, 30, 30], "features-first"),
        ([(8, 30), (8, 31), (7, 32)], [None, None, None], "features-first"),
    ],
)
def test_label_counts_tell_the_axis(
    shapes: list[tuple[int, int]], counts: list[int | None], axis: str | None
) -> None:
    assert find_axis(_headers(*shapes), counts, 0.02) == axis


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [(100, 98, True), (98, 100, True), (100, 97, False), (5, 5, True), (1, 2, False)],
)
def test_lengths_agree_within_two_in_a_hundred(first: int, second: int, agree: bool) -> None:
    assert lengths_agree(first, second, 0.02) is agree


def _with_header(path: Path, header: str) -> Path:
    content = header.encode().ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content)
    return path


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ("(True, 8)", "holds features of shape (True, 8); save them as [T x F] or [F x T]"),
        (f"(8, {2**62})", "holds features of shape (8, 4611686018427387904); save them as"),
        (f"(8, {10**60})", "holds features of shape (8, 1000000"),
        (f"(8, {2**39})", "cannot be read as a NumPy array (0 of 17592186044416 bytes are there)"),
        ("(-1, 8)", "is empty: it holds features of shape (-1, 8)"),
        ("8", "cannot be read as a NumPy array"),
    ],
)
def test_impossible_shapes(tmp_path: Path, shape: str, sentence: str) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"
    path = _with_header(tmp_path / "v.npy", header)
    with pytest.raises(DataError) as caught:
        read_header(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")


def test_a_pipe_in_place_of_features_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "v.npy")
    with pytest.raises(CorruptFileError, match="is a pipe, not a file"):
        read_header(tmp_path / "v.npy")


def test_too_many_open_files_is_not_a_broken_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    np.save(tmp_path / "v.npy", np.zeros((3, 4), np.float32))
    monkeypatch.setattr(np, "memmap", full)
    with pytest.raises(CorruptFileError) as caught:
        map_features(tmp_path / "v.npy", "time-first")
    assert str(caught.value) == (
        f"{tmp_path / 'v.npy'}: cannot be read (Too many open files); "
        "close other files or raise the limit with 'ulimit -n'"
    )
