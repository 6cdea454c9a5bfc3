"""`pixels`: planted colours, planted motion."""

from __future__ import annotations

import numpy as np
import pytest

from uvast.features.extractor import Request
from uvast.features.pixels import make

PIXELS = make(Request(15.0, 30.0))


def blocks(frames):
    """Features by block `(N, 6, 8, 6)`: three colours, change, motion right and down."""
    return PIXELS(frames).reshape(len(frames), 6, 8, 6)


def texture(shift_right: float, shift_down: float):
    """A soft texture that moves by so many pixels a frame."""
    y, x = np.mgrid[:48, :64].astype(float)
    frames = [
        128 + 50 * np.sin((x - i * shift_right) / 4) + 50 * np.sin((y - i * shift_down) / 3.5)
        for i in range(6)
    ]
    return np.stack(frames).astype(np.uint8)[..., None].repeat(3, -1)


def test_colours_are_those_of_the_blocks():
    frames = np.zeros((2, 48, 64, 3), np.uint8)
    frames[:, 8:16, 24:32] = (255, 0, 51)
    found = blocks(frames)
    assert found[0, 1, 3, :3] == pytest.approx([1, 0, 0.2])
    assert not found[0, :, :, :3].sum() > 1.21


@pytest.mark.parametrize("moved", [(0.6, 0.0), (-0.6, 0.0), (0.0, 0.5), (0.4, -0.4)])
def test_motion_is_found_where_it_is_and_in_its_direction(moved):
    frames = texture(*moved)
    frames[:, :, :32] = frames[:1, :, :32]  # the left half rests
    motion = blocks(frames)[2:4]
    assert motion[:, :, 5:7, 4:].mean((0, 1, 2)) == pytest.approx(moved, abs=0.15)
    assert np.abs(motion[:, :, :3, 3:]).max() < 1e-6


def test_noise_alone_hardly_moves():
    noise = np.random.default_rng(0).normal(0, 2, (6, 48, 64, 1))
    frames = np.clip(128 + noise, 0, 255).astype(np.uint8).repeat(3, -1)
    assert np.abs(blocks(frames)[..., 4:]).mean() < 0.1
    assert PIXELS(frames).shape == (6, PIXELS.width)


def test_a_single_frame_is_enough():
    assert PIXELS(np.zeros((1, 48, 64, 3), np.uint8)).shape == (1, PIXELS.width)
