"""Reading stops at whatever is no ordinary file, and says so in one sentence."""

from __future__ import annotations

import errno
import os
import resource
import socket
from pathlib import Path

import pytest

from uvast import files
from uvast.errors import CorruptFileError, MissingFileError, UvastError


def sentence(read, path) -> str:
    with pytest.raises(UvastError) as caught:
        read(path)
    return str(caught.value).removeprefix(f"{path}: ")


def test_line_ends_and_byte_order_marks_of_other_platforms(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert files.read_text(path) == "one\ntwo\nthree\n"


def test_a_missing_file(tmp_path):
    path = tmp_path / "a.txt"
    assert sentence(files.read_text, path) == "does not exist; check the path"
    (tmp_path / "file").touch()
    with pytest.raises(MissingFileError):
        files.read_text(tmp_path / "file" / "a.txt")


def test_a_link_to_nowhere_is_named_and_counts_as_present(tmp_path):
    path = tmp_path / "a.txt"
    path.symlink_to("gone.txt")
    assert not path.exists()
    assert files.is_present(path)
    assert sentence(files.read_text, path) == (
        "is a link to gone.txt, which does not exist; restore what it links to, or remove the link"
    )
    path.unlink()
    path.symlink_to(path)
    assert "leads back to itself" in sentence(files.read_text, path)
    assert not files.is_present(tmp_path / "none")


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket", "device"])
def test_what_would_hang_or_never_end_is_refused(tmp_path, monkeypatch, kind):
    path = tmp_path / "a.txt"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            monkeypatch.chdir(tmp_path)  # names of sockets are short
            server.bind(path.name)
    else:
        path.symlink_to("/dev/zero")
    for read in (files.read_text, files.read_bytes, files.read_json):
        assert sentence(read, path) == f"is a {kind}, not a file; put the file in its place"


def test_a_file_that_is_too_large(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a" * 2049)
    with pytest.raises(CorruptFileError, match=r"is larger than 2 kB; check that it is the right"):
        files.read_text(path, largest=2048)
    assert len(files.read_text(path, largest=2049)) == 2049


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xff\xfe\x00")
    assert sentence(files.read_text, path) == (
        "cannot be read as text "
        "('utf-8' codec can't decode byte 0xff in position 0: invalid start byte); "
        "save it as UTF-8 text"
    )


def test_a_forbidden_file_is_not_said_to_be_broken(tmp_path, monkeypatch):
    def forbid(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    path = tmp_path / "a.txt"
    path.touch()
    monkeypatch.setattr(Path, "open", forbid)
    assert sentence(files.read_text, path) == (
        "cannot be read (Permission denied); change its permissions"
    )


def test_too_many_open_files_is_the_cause_that_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("text")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = []
    try:
        highest = os.dup(0)
        held.append(highest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
        found = sentence(files.read_text, path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for handle in held:
            os.close(handle)
    assert found == (
        "cannot be read (Too many open files); "
        "close other files or raise the limit with 'ulimit -n'"
    )


def test_a_path_that_no_system_takes(tmp_path):
    for name in ("a\0b", "v" * 300):
        with pytest.raises(UvastError, match="cannot be read"):
            files.read_text(tmp_path / name)
