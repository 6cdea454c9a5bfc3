"""Atomic writes, and readers that fail in one sentence."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from uvast import files
from uvast.errors import CorruptFileError, MissingFileError, OutputError


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_and_json_come_back(tmp_path):
    files.write_text(tmp_path / "new" / "folder" / "a.txt", "Grüße\n")
    assert files.read_text(tmp_path / "new" / "folder" / "a.txt") == "Grüße\n"
    value = {"name": "ä", "list": [1, 2.5, None]}
    files.write_json(tmp_path / "a.json", value)
    assert files.read_json(tmp_path / "a.json") == value
    assert "ä" in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_line_ends_and_byte_order_marks_of_other_platforms(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert files.read_text(path) == "one\ntwo\n"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_block_that_fails_leaves_the_old_file_and_no_temporary(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with files.atomic_path(path) as temporary:
            temporary.write_text("half of the n")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with files.atomic_path(path):
            raise OSError(28, "No space left on device")

    with pytest.raises(OutputError) as caught:
        fail()
    assert str(caught.value) == (
        f"{path}: cannot be written (No space left on device); "
        "choose another place or change its permissions"
    )
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


def test_readers_see_the_old_file_until_the_block_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with files.atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == tmp_path
    assert path.read_text() == "new"
    assert names_in(tmp_path) == ["a.txt"]


def test_a_written_file_has_the_usual_permissions(tmp_path):
    usual = tmp_path / "usual"
    usual.touch()
    files.write_text(tmp_path / "ours", "")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (usual, tmp_path / "ours")]
    assert modes[0] == modes[1]


def test_overwriting_has_to_be_asked_for(tmp_path):
    path = tmp_path / "a.txt"
    files.check_absent(path)
    path.touch()
    with pytest.raises(OutputError) as caught:
        files.check_absent(tmp_path / "other", path)
    assert str(caught.value) == f"{path}: exists already; pass --overwrite to replace it"


def test_names_may_be_as_long_as_the_file_system_lets_them(tmp_path):
    path = tmp_path / ("v" * 251 + ".txt")
    files.write_text(path, "text")
    assert path.read_text() == "text"


def test_a_forbidden_file_is_not_said_to_be_broken(tmp_path, monkeypatch):
    def forbid(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", forbid)
    with pytest.raises(CorruptFileError) as caught:
        files.read_text(tmp_path / "a.txt")
    assert str(caught.value) == (
        f"{tmp_path / 'a.txt'}: cannot be read as text (Permission denied); change its permissions"
    )


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        files.write_text(tmp_path / "file" / "a.txt", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match=r"cannot be written \(Is a directory\)"):
        files.write_text(tmp_path / "folder", "text")
    assert names_in(tmp_path) == ["file", "folder"]


def test_a_value_that_is_no_json_leaves_no_file(tmp_path):
    with pytest.raises(TypeError):
        files.write_json(tmp_path / "a.json", {"a": object()})
    assert names_in(tmp_path) == []


def test_a_missing_file(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        files.read_text(tmp_path / "a.txt")
    assert str(caught.value) == f"{tmp_path / 'a.txt'}: does not exist; check the path"


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CorruptFileError) as caught:
        files.read_text(path)
    assert str(caught.value) == (
        f"{path}: cannot be read as text "
        "('utf-8' codec can't decode byte 0xff in position 0: invalid start byte); "
        "save it as UTF-8 text"
    )
    with pytest.raises(CorruptFileError, match=r"is a folder, not a file"):
        files.read_text(tmp_path)
    path.write_text('{"a": 1,\n}')
    with pytest.raises(CorruptFileError, match=r"is not valid JSON \(line 2: .*\); restore or"):
        files.read_json(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": {"v": 1, "w": 2, "v": 3}}', "key 'v' comes more than once; keep one of them"),
        ("[" * 10**6, "is JSON nested too deeply; restore or write it again"),
        ("9" * 5000, "has a number of thousands of digits; restore or write it again"),
    ],
)
def test_json_that_python_would_read_wrongly_or_not_at_all(tmp_path, text, sentence):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(CorruptFileError) as caught:
        files.read_json(path)
    assert str(caught.value) == f"{path}: {sentence}"
