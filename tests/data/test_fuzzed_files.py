"""Broken files of every kind, through the public door: one sentence, no traceback, no wait."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uvast.data import Dataset, check_dataset, generate_dataset, read_timestamps
from uvast.errors import UvastError

SECONDS = 3.0
"""What one broken file may take; most take a few milliseconds."""

PIECES = [
    *(b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\n\n", b",", b";", b"\t", b'"', b"'"),
    *(b"-1", b"0", b"1e999", b"nan", b"true", b"null", b"None", b"True, 8", b"9" * 5000),
    *(b"[", b"]", b"{", b"}", b"(" * 300, b"[" * 3000, b"{'a':" * 500, b"\\ud83d", b"\x1b[2J"),
    *(
        b"\x80\x04",
        b"q\x00h\x00\x86" * 40,
        b"}",
        b"cos\nsystem\n",
        b"r\xff\xff\xff\x7f",
        b"PK\x03\x04",
        b".",
    ),
    *("\u202e".encode(), b"a" * 70_000, b"= 2", b"((a+)+)b", b"../../x", b"0 x\n0 y\n", b"12:99"),
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fuzzed") / "data"
    generate_dataset(path, n_videos=3, n_classes=4, n_frames=50, n_features=3, n_splits=2)
    clicks = json.loads((path / "timestamps.json").read_text())
    rows = [(name, entry["frame"], entry["label"]) for name in clicks for entry in clicks[name]]
    text = "".join(f"{name},{frame},{label}\n" for name, frame, label in rows)
    (path / "clicks.csv").write_text(f"video,frame,label\n{text}")
    frames = {name: [entry["frame"] for entry in clicks[name]] for name in clicks}
    np.save(path / "published.npy", np.array(frames, dtype=object), allow_pickle=True)
    return path


def files_of(dataset: Path) -> list[Path]:
    """One file of each kind."""
    names = ("dataset.toml", "mapping.txt", "timestamps.json", "clicks.csv", "published.npy")
    first = [min((dataset / folder).iterdir()) for folder in ("features", "groundTruth", "splits")]
    return [*(dataset / name for name in names), *first]


@st.composite
def mutations(draw: st.DrawFn) -> list[tuple[str, float, float, bytes]]:
    place = st.floats(0, 1)
    kinds = st.sampled_from(["insert", "replace", "cut", "only", "repeat"])
    piece = st.sampled_from(PIECES) | st.binary(max_size=8)
    return draw(st.lists(st.tuples(kinds, place, place, piece), min_size=1, max_size=3))


def mutated(content: bytes, changes: list[tuple[str, float, float, bytes]]) -> bytes:
    for kind, first, second, piece in changes:
        start = int(first * len(content))
        end = min(len(content), start + int(second * 20))
        match kind:
            case "insert":
                content = content[:start] + piece + content[start:]
            case "replace":
                content = content[:start] + piece + content[end:]
            case "cut":
                content = content[:start]
            case "only":
                content = piece
            case _:
                content = content[:end] + content[start:end] * 3 + content[end:]
    return content


def uses(dataset: Path) -> Iterator[object]:
    """Every public way to what the files hold; each may end in one sentence."""
    with suppress(UvastError):
        opened = Dataset.open(dataset)
        with suppress(UvastError):
            yield opened.vocabulary
        with suppress(UvastError):
            yield opened.timestamps()
        for name in opened.names:
            with suppress(UvastError):
                yield opened.video(name)
        for number in (1, 2):
            with suppress(UvastError):
                yield opened.side(number, "train")
    for name in ("clicks.csv", "published.npy"):
        with suppress(UvastError):
            yield read_timestamps(dataset / name)


@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(which=st.integers(0, 7), changes=mutations())
def test_a_broken_file_is_one_sentence(dataset: Path, which: int, changes: list) -> None:
    path = files_of(dataset)[which]
    content = path.read_bytes()
    start = time.perf_counter()
    try:
        path.write_bytes(mutated(content, changes))
        report = check_dataset(dataset)
        list(uses(dataset))
    finally:
        path.write_bytes(content)
    assert time.perf_counter() - start < SECONDS
    for sentence in (*report.problems, *report.notes):
        assert sentence.isprintable()
        assert len(sentence) < 1900


def test_the_files_are_right_before_they_are_broken(dataset: Path) -> None:
    assert check_dataset(dataset).ok
    assert len(list(uses(dataset))) == 1 + 1 + 3 + 2 + 2
