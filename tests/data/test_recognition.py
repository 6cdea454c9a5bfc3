"""A file that is something else is named, with the command that takes it."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from uvast.data import Dataset
from uvast.data.feature_files import read_header
from uvast.data.label_files import read_labels
from uvast.data.recognition import recognised
from uvast.errors import DataError, LabelError, MissingFileError

MP4 = b"\0\0\0\x20ftypisom" + bytes(100)
BORIS = "Observation id\tTime\tBehavior\tStatus\n" + "o1\t1.5\tgroom\tSTART\n" * 16


def write_archive(path: Path, member: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "text")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (MP4, "a video"),
        (b"\x1aE\xdf\xa3" + bytes(50), "a video"),
        (b"RIFF1234AVI LIST", "a video"),
        (gzip.compress(b"text", mtime=0), "an archive"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"a,b,c\n1,2,3\n", "a table (CSV)"),
        (b"a;b;c\n1;2;3\n", "a table (CSV)"),
        (BORIS.encode(), "a table (TSV)"),
        (b'{"v": []}', "a JSON file"),
        (b"take\ntake\npour, then stir\n", None),
        (b"", None),
        (b"\x93NUMPY", None),
    ],
)
def test_what_a_file_is(tmp_path, content, kind):
    (tmp_path / "file").write_bytes(content)
    assert recognised(tmp_path / "file") == kind


def test_archives_and_workbooks(tmp_path):
    write_archive(tmp_path / "a", "features/v.npy")
    write_archive(tmp_path / "b", "xl/workbook.xml")
    assert recognised(tmp_path / "a") == "an archive"
    assert recognised(tmp_path / "b") == "a table (XLSX)"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (MP4, "is a video, not an array; make features from it with 'uvast extract'"),
        (
            b"bodyparts,x,y\n1,2,3\n",
            "is a table (CSV), not an array; make features from it with 'uvast extract'",
        ),
        (gzip.compress(b"text", mtime=0), "is an archive, not an array; unpack it first"),
        (b"junk", "cannot be read as a NumPy array"),
    ],
)
def test_features_that_are_something_else(tmp_path, content, sentence):
    path = tmp_path / "v.npy"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_header(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")


def test_features_beside_which_something_else_lies(tmp_path):
    (tmp_path / "v[1].npz").touch()
    with pytest.raises(MissingFileError) as caught:
        read_header(tmp_path / "v[1].npy")
    assert str(caught.value) == (
        f"{tmp_path / 'v[1].npy'}: does not exist; v[1].npz is an archive: unpack it first"
    )


def test_labels_that_are_something_else(tmp_path, make_dataset):
    path = make_dataset({"v": "a" * 3210, "w": "ab"})
    labels = path / "groundTruth" / "v.txt"
    labels.write_text(BORIS)
    with pytest.raises(LabelError) as caught:
        Dataset.open(path).video("v")
    assert str(caught.value) == (
        f"{labels}: is a table (TSV), not one label per line; "
        "turn it into labels with 'uvast convert'"
    )
    labels.write_bytes(MP4 + b"\xff")
    with pytest.raises(LabelError, match=r"is a video, not one label per line; make features"):
        read_labels(labels)


@pytest.mark.parametrize(
    ("place", "files", "remedy"),
    [
        (
            "features",
            ["a.mp4", "b.MP4"],
            "features holds 2 files, each a video: make features from them with 'uvast extract'",
        ),
        (
            "groundTruth",
            ["a.csv"],
            "groundTruth holds a table (CSV): turn it into labels with 'uvast convert'",
        ),
        ("", ["data.zip"], "data holds an archive: unpack it first"),
        ("", ["notes.md"], "give the folder of a dataset"),
    ],
)
def test_a_folder_of_something_else(tmp_path, place, files, remedy):
    folder = tmp_path / "data" / place
    folder.mkdir(parents=True)
    for name in files:
        (folder / name).touch()
    with pytest.raises(MissingFileError) as caught:
        Dataset.open(tmp_path / "data")
    assert str(caught.value) == (
        f"{tmp_path / 'data'}: has no videos, neither features/*.npy nor groundTruth/*.txt; "
        f"{remedy}"
    )


@pytest.mark.parametrize(
    ("n_labels", "remedy"),
    [
        (97, "extract the features again, or set tolerance = 0.03 in dataset.toml"),
        (90, "extract the features again, or set tolerance = 0.1 in dataset.toml"),
        (89, "check that both are of this video, and at the same frame rate"),
        (50, "check that both are of this video, and at the same frame rate"),
    ],
)
def test_tolerance_is_advised_for_small_differences_only(make_dataset, n_labels, remedy):
    path = make_dataset({"v": "a" * 100, "w": "a" * 50})
    (path / "groundTruth" / "v.txt").write_text("a\n" * n_labels)
    with pytest.raises(LabelError) as caught:
        Dataset.open(path).video("v")
    assert caught.value.remedy == remedy
