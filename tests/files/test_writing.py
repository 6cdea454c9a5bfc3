"""Writing leaves the old file or the new one, and nothing else."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from uvast import files
from uvast.errors import OutputError


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_and_json_come_back(tmp_path):
    files.write_text(tmp_path / "new" / "folder" / "a.txt", "Grüße\n")
    assert files.read_text(tmp_path / "new" / "folder" / "a.txt") == "Grüße\n"
    value = {"name": "ä", "list": [1, 2.5, None]}
    files.write_json(tmp_path / "a.json", value)
    assert files.read_json(tmp_path / "a.json") == value
    assert "ä" in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_large_json_is_written_piece_by_piece(tmp_path):
    value = {"segments": [{"start": place, "look": [0.5, None]} for place in range(20_000)]}
    tracemalloc.start()
    files.write_json(tmp_path / "a.json", value)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    text = (tmp_path / "a.json").read_text()
    assert text == json.dumps(value, indent=2) + "\n"
    assert peak < len(text) / 2


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
        "the disk is full: free some space or choose another place"
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


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        files.write_text(tmp_path / "file" / "a.txt", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match=r"cannot be written \(Is a directory\)"):
        files.write_text(tmp_path / "folder", "text")
    assert names_in(tmp_path) == ["file", "folder"]


def test_a_temporary_that_cannot_be_removed_hides_no_error(tmp_path, monkeypatch):
    """As on a disk that can only be read."""

    def read_only(path, *_, **__):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", read_only)
    monkeypatch.setattr("uvast.files.writing.os.open", read_only)
    with pytest.raises(OutputError) as caught:
        files.write_text(tmp_path / "x.csv", "")
    assert str(caught.value).startswith(f"{tmp_path / 'x.csv'}: ")


def test_files_reach_the_disk_by_a_handle_that_may_write(tmp_path, monkeypatch):
    """As Windows demands, which refuses to sync any other."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.write(handle, b"")))
    files.write_text(tmp_path / "a.txt", "text")
    assert synced == [0]
    assert (tmp_path / "a.txt").read_text() == "text"


def test_a_value_that_is_no_json_leaves_no_file(tmp_path):
    with pytest.raises(TypeError):
        files.write_json(tmp_path / "a.json", {"a": object()})
    assert names_in(tmp_path) == []


def test_no_write_changes_the_umask_of_the_process(tmp_path, monkeypatch):
    def refuse(mask):
        raise AssertionError("other threads create files, too")

    monkeypatch.setattr(os, "umask", refuse)
    files.write_text(tmp_path / "a.txt", "text")


LEFT_BEHIND = """
import os, signal, sys
from pathlib import Path
from uvast import files
with files.{kind}(Path(sys.argv[1])) as temporary:
    (temporary / "new").mkdir() if temporary.is_dir() else temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("kind", "target"), [("atomic_path", "a.txt"), ("temporary_folder", "")])
def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path, kind, target):
    code = LEFT_BEHIND.format(kind=kind)
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path / target)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    os.utime(left, (0, 0))
    (tmp_path / ".uvast.notes.tmp").write_text("not ours")
    files.write_text(tmp_path / "b.txt", "text")
    assert names_in(tmp_path) == [".uvast.notes.tmp", "b.txt"]


def test_what_a_living_process_prepares_stays(tmp_path):
    code = "import sys; from pathlib import Path; from uvast import files\n"
    code += "files.write_text(Path(sys.argv[1]), 'text')"
    with files.atomic_path(tmp_path / "a.txt") as file, files.temporary_folder(tmp_path) as folder:
        file.write_text("new")
        for path in (file, folder):
            os.utime(path, (0, 0))
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "b.txt")], check=True)
        assert folder.is_dir()
    assert names_in(tmp_path) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("in_one_step", [True, False])
def test_two_folders_change_places(tmp_path, monkeypatch, in_one_step):
    if not in_one_step:
        monkeypatch.setattr("uvast.files.writing._exchanged", lambda *_: False)
    new, old = tmp_path / "new", tmp_path / "old"
    new.mkdir()
    (new / "a").touch()
    files.swap(new, old)
    assert names_in(tmp_path) == ["old"]
    new.mkdir()
    (new / "b").touch()
    files.swap(new, old)
    assert (names_in(old), names_in(new)) == (["b"], ["a"])
    assert names_in(tmp_path) == ["new", "old"]


def test_a_link_changes_places_itself_and_not_what_it_leads_to(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "old").symlink_to("kept")
    (tmp_path / "new").mkdir()
    files.swap(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "new").is_symlink()
    assert (tmp_path / "kept").is_dir()


@pytest.mark.parametrize("n_renames", [0, 1, 2])
def test_a_swap_of_several_steps_that_breaks_off_is_recovered(tmp_path, monkeypatch, n_renames):
    new, old = tmp_path / "new", tmp_path / "old"
    for folder in (new, old):
        folder.mkdir()
        (folder / folder.name).touch()
    rename, done = Path.rename, []

    def killed(path, target):
        if len(done) == n_renames:
            raise KeyboardInterrupt
        done.append(path)
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr("uvast.files.writing._exchanged", lambda *_: False)
        patched.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            files.swap(new, old)
    files.recover(old)
    assert names_in(old) == ["old" if n_renames < 2 else "new"]
    assert names_in(tmp_path) == (["new", "old"] if n_renames < 2 else ["old"])


def test_a_link_to_nowhere_is_not_overwritten_by_mistake(tmp_path):
    (tmp_path / "a.txt").symlink_to("gone.txt")
    with pytest.raises(OutputError, match="exists already"):
        files.check_absent(tmp_path / "a.txt")


def test_a_full_disk_says_so(tmp_path):
    with pytest.raises(OutputError) as caught:
        raise files.unwritable(Path("a.txt"), OSError(errno.EDQUOT, "Disk quota exceeded"))
    assert str(caught.value) == (
        "a.txt: cannot be written (Disk quota exceeded); "
        "your disk quota is used up: free some space or choose another place"
    )


def test_a_full_disk_amid_a_folder_names_the_place_the_file_would_have(tmp_path):
    def fail():
        with files.temporary_folder(tmp_path) as folder, files.atomic_path(folder / "b" / "a.txt"):
            raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="the disk is full") as caught:
        fail()
    assert caught.value.where == str(tmp_path / "b" / "a.txt")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"),
        OSError("15808 requested and 2016 written"),
    ],
    ids=["safetensors", "numpy"],
)
def test_a_full_disk_in_a_library_s_words(error):
    assert str(files.unwritable(Path("a.npy"), error)) == (
        "a.npy: cannot be written (No space left on device); "
        "the disk is full: free some space or choose another place"
    )
