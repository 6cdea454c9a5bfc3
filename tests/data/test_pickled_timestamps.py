import errno
import os
import pickle
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from uvast.data import Dataset
from uvast.data.pickled_timestamps import read_pickled
from uvast.errors import CorruptFileError, MissingFileError, TimestampError

REMEDY = "restore the file or write timestamps.json"


def _write(path: Path, content: bytes) -> Path:
    """A `.npy` file of one object whose pickle is `content`."""
    np.save(path, np.array({}, dtype=object), allow_pickle=True)
    header = path.read_bytes()[:128]
    path.write_bytes(header + content)
    return path


class _Evil:
    """Unpickled without care, it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize(
    "frames",
    [
        [3, 250, 70000],
        (3, 250, 70000),
        [np.int64(3), np.int64(250), np.int64(70000)],
        [np.uint32(3), np.int32(250), np.int64(70000)],
        np.array([3, 250, 70000]),
        np.array([3, 250, 70000], dtype=">i4"),
        np.array([3, 250, 70000], dtype=object),
    ],
)
def test_what_numpy_saves_is_read(tmp_path: Path, frames: object) -> None:
    path = tmp_path / "x_annotation_all.npy"
    np.save(path, {"v1.txt": frames, "v2": [1]}, allow_pickle=True)
    assert read_pickled(path) == {"v1": [3, 250, 70000], "v2": [1]}


@pytest.mark.parametrize("protocol", range(6))
def test_every_pickle_protocol_and_the_old_module_name(tmp_path: Path, protocol: int) -> None:
    table = np.array({"v1.txt": [np.int64(5), np.int64(9)]}, dtype=object)
    content = pickle.dumps(table, protocol=protocol)
    assert read_pickled(_write(tmp_path / "new.npy", content)) == {"v1": [5, 9]}
    if protocol <= 2:  # names are plain lines there
        old = content.replace(b"cnumpy._core.multiarray", b"cnumpy.core.multiarray")
        assert read_pickled(_write(tmp_path / "old.npy", old)) == {"v1": [5, 9]}


def test_a_malicious_pickle_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    for index, table in enumerate(
        [
            _Evil(tmp_path / "harm"),
            {"v1.txt": _Evil(tmp_path / "harm")},
            {"v1.txt": [_Evil(tmp_path / "harm")]},
        ]
    ):
        path = tmp_path / f"{index}_annotation_all.npy"
        np.save(path, np.array(table, dtype=object), allow_pickle=True)
        with pytest.raises(TimestampError) as caught:
            read_pickled(path)
        assert str(caught.value) == (
            f"{path}: refused: its pickle asks for posix.mkdir; "
            "get the file from a source you trust or write timestamps.json"
        )
    assert not (tmp_path / "harm").exists()
    np.load(path, allow_pickle=True)  # the file does harm if it is trusted
    assert (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "name",
    [
        "builtins.eval",
        "builtins.getattr",
        "os.system",
        "numpy.load",
        "numpy.f2py.crackfortran.getlincoef",
        "functools.partial",
        "copyreg._reconstructor",
        "uvast.data.pickled_timestamps._scalar",
        "numpy.testing._private.utils.runstring",
    ],
)
def test_any_other_name_is_refused(tmp_path: Path, name: str) -> None:
    module, _, attribute = name.rpartition(".")
    content = f"c{module}\n{attribute}\n(S'1'\ntR.".encode()
    with pytest.raises(TimestampError, match=f"its pickle asks for {name};"):
        read_pickled(_write(tmp_path / "x.npy", content))


def test_a_pickle_cannot_change_the_reader(tmp_path: Path) -> None:
    # BUILD with a slot state sets attributes of whatever lies on the stack
    content = b"c_codecs\nencode\n(N}S'__defaults__'\n(S'x'\ntstb."
    with pytest.raises(TimestampError):
        read_pickled(_write(tmp_path / "x.npy", content))
    path = tmp_path / "good.npy"
    np.save(path, {"v1.txt": [1]}, allow_pickle=True)
    assert read_pickled(path) == {"v1": [1]}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([1], "cannot be read as published timestamps (not a dict of videos)"),
        ({"v1.txt": "12"}, "the timestamps of video v1.txt are not a list of frame numbers"),
        ({"v1.txt": [1.5]}, "the timestamps of video v1.txt are not a list of frame numbers"),
        ({"v1.txt": [True]}, "the timestamps of video v1.txt are not a list of frame numbers"),
    ],
)
def test_tables_that_are_no_timestamps(tmp_path: Path, value: object, sentence: str) -> None:
    path = tmp_path / "x_annotation_all.npy"
    table = np.empty((), dtype=object)
    table[()] = value
    np.save(path, table, allow_pickle=True)
    with pytest.raises(TimestampError) as caught:
        read_pickled(path)
    assert str(caught.value) == f"{path}: {sentence}; {REMEDY}"


@pytest.mark.parametrize("content", [b"", b"\x80", b".", b"(dp0\n", b"\x00" * 50, b"]]a.", b"N."])
def test_broken_pickles(tmp_path: Path, content: bytes) -> None:
    path = _write(tmp_path / "x.npy", content)
    with pytest.raises(TimestampError) as caught:
        read_pickled(path)
    assert str(caught.value).startswith(f"{path}: cannot be read as published timestamps (")


def test_a_file_that_is_no_npy(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(b"frames")
    with pytest.raises(TimestampError) as caught:
        read_pickled(path)
    assert str(caught.value) == (
        f"{path}: cannot be read as published timestamps (ValueError); {REMEDY}"
    )


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="does not exist; check the path"):
        read_pickled(tmp_path / "x.npy")


def test_a_forbidden_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "x.npy").touch()
    monkeypatch.setattr(Path, "open", forbid)
    with pytest.raises(CorruptFileError, match=r"\(Permission denied\); change its permissions"):
        read_pickled(tmp_path / "x.npy")


def test_a_video_with_and_without_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "x_annotation_all.npy"
    np.save(path, {"v1.txt": [1], "v1": [2]}, allow_pickle=True)
    with pytest.raises(TimestampError) as caught:
        read_pickled(path)
    assert str(caught.value) == (
        f"{path}: names video v1 twice, with and without .txt; write its timestamps in one list"
    )


def test_published_timestamps_of_sub_sampled_frames(make_dataset) -> None:
    path = make_dataset({"v": "aaaabbbbaa"}, spec='sampling_rate = 2\ntimestamps_rate = "sampled"')
    np.save(path / "any_annotation_all.npy", {"v.txt": [1, 3, 4]}, allow_pickle=True)
    found = Dataset.open(path).timestamps()["v"]
    np.testing.assert_array_equal(found.frames, [1, 3, 4])
    np.testing.assert_array_equal(found.transcript, [0, 1, 0])


NESTED = b")" + b"q\x00h\x00\x86" * 60


def _seconds(path: Path) -> float:
    start = time.perf_counter()
    with pytest.raises(TimestampError):
        read_pickled(path)
    return time.perf_counter() - start


def test_nested_tuples_as_keys_cost_nothing(tmp_path: Path) -> None:
    # each level holds the one below twice: its hash would take 2**60 steps
    content = b"\x80\x02}" + NESTED + b"]K\x01as."
    assert _seconds(_write(tmp_path / "x.npy", content)) < 2


def test_nested_tuples_as_values_are_one_short_sentence(tmp_path: Path) -> None:
    content = b"\x80\x02}X\x01\x00\x00\x00v" + NESTED + b"s."
    assert _seconds(_write(tmp_path / "x.npy", content)) < 2


@pytest.mark.parametrize(
    "content",
    [
        NESTED + b"X\x01\x00\x00\x00a\x93",
        b"cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n" + NESTED + b"\x85RC\x01a\x86R",
    ],
    ids=["function", "type"],
)
def test_nested_tuples_as_names_cost_nothing(tmp_path: Path, content: bytes) -> None:
    assert _seconds(_write(tmp_path / "x.npy", b"\x80\x04" + content + b".")) < 2


def test_a_large_index_of_the_memo_takes_no_memory(tmp_path: Path) -> None:
    path = _write(tmp_path / "x.npy", b"\x80\x02}r\xff\xff\xff\x7f.")
    tracemalloc.start()
    assert read_pickled(path) == {}
    assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    tracemalloc.stop()


def test_a_pickle_of_endless_steps_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvast.data.pickled_timestamps._MOST_STEPS", 50)
    with pytest.raises(TimestampError, match="its pickle asks for more than 50 steps"):
        read_pickled(_write(tmp_path / "x.npy", b"}" * 60 + b"."))


@pytest.mark.parametrize("step", [b"}Nb.", b"Q.", b"(i_codecs\nencode\n.", b"N\x85\x81."])
def test_steps_that_timestamps_do_not_need(tmp_path: Path, step: bytes) -> None:
    with pytest.raises(TimestampError):
        read_pickled(_write(tmp_path / "x.npy", step))
