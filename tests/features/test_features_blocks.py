"""Blocks with context: what is seen in pieces is what is seen as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.features.blocks import Blocks
from uvast.features.extractor import Picture, View
from uvast.features.spool import Column, Spool, write_joined

VIEW = View(Picture(1, 1), None)


@dataclass(frozen=True)
class Smoother:
    """The mean over a neighbourhood, at every `stride`-th frame."""

    stride: int
    window: int
    context: int
    reach: int
    name: str = "smoother"
    version: str = "1"
    width: int = 1
    view: View = VIEW
    centre: float = 0.0

    def __call__(self, frames):
        values = frames[:, 0, 0, 0].astype(np.float32)
        middles = range(0, len(values), self.stride)
        return np.array(
            [[values[max(0, i - self.reach) : i + self.reach + 1].mean()] for i in middles],
            np.float32,
        )


def in_blocks(extractor, values):
    blocks = Blocks(extractor)
    rows = []
    for value, n_ticks in values:
        rows += blocks.push(np.full((1, 1, 3), value, np.uint8), n_ticks)
    return np.concatenate([*rows, *blocks.finish()])


@given(
    st.lists(st.tuples(st.integers(0, 255), st.integers(1, 4)), min_size=1, max_size=60),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(0, 4),
)
def test_pieces_equal_the_whole(values, stride, blocks, context):
    extractor = Smoother(stride, stride * blocks, stride * context, reach=stride * context)
    whole = np.repeat([value for value, _ in values], [n for _, n in values]).astype(np.uint8)
    expected = extractor(whole[:, None, None, None].repeat(3, 3))
    assert np.array_equal(in_blocks(extractor, values), expected)


def test_too_little_context_is_a_seam():
    """The test above can fail."""
    extractor = Smoother(1, 4, 1, reach=3)
    values = [(value, 1) for value in range(0, 200, 10)]
    whole = np.array([value for value, _ in values], np.uint8)[:, None, None, None].repeat(3, 3)
    assert not np.array_equal(in_blocks(extractor, values), extractor(whole))


@given(st.integers(1, 50), st.lists(st.floats(-3, 60), min_size=1, max_size=40))
def test_columns_interpolate_as_numpy_does(tmp_path_factory, n_rows, places):
    rows = np.random.default_rng(n_rows).normal(size=(n_rows, 3)).astype(np.float32)
    spool = Spool(tmp_path_factory.mktemp("spool") / "rows", 3)
    spool.add(rows[: n_rows // 2])
    spool.add(rows[n_rows // 2 :])
    places = np.sort(places)
    found = Column(spool, places).rows(0, len(places))
    for index in range(3):
        expected = np.interp(places, np.arange(n_rows), rows[:, index])
        assert found[:, index] == pytest.approx(expected, abs=1e-5)
    spool.close()


def test_joined_columns_stand_side_by_side_in_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr("uvast.features.spool._CHUNK", 7)
    fast, slow = Spool(tmp_path / "fast", 2), Spool(tmp_path / "slow", 1)
    values = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    fast.add(values)
    slow.add(np.arange(10, dtype=np.float32)[:, None])
    places = np.arange(40.0)
    write_joined(tmp_path / "all.npy", [Column(fast, places), Column(slow, places / 4)])
    found = np.load(tmp_path / "all.npy")
    assert (found.shape, found.dtype, found.flags.c_contiguous) == ((40, 3), np.float32, True)
    assert np.array_equal(found[:, :2], values)
    assert found[:37, 2] == pytest.approx(np.arange(37) / 4)
    fast.close()
    slow.close()
