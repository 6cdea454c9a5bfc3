"""Frame times without decoding are those of decoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from video_files import write_video

from uvast.features import presentation_times
from uvast.features.packet_times import _told_by_packets, packet_times


@pytest.mark.parametrize(
    ("name", "options", "quick"),
    [
        ("h264.mp4", {}, True),
        ("h264.mkv", {}, True),
        ("vp9.webm", {"codec": "libvpx-vp9"}, True),
        ("ten_bits.mov", {"codec": "prores_ks", "pixels": "yuv422p10le"}, True),
        ("by_order.avi", {"codec": "mpeg4"}, True),
        ("b_frames.avi", {"codec": "mpeg4", "stream_options": {"bf": "2"}}, None),
        ("variable.mkv", {"times": [0.0, 0.1, 0.15, 0.5, 1.2, 1.25, *range(2, 26)]}, True),
        ("late.mp4", {"times": [0.5 + i / 30 for i in range(30)]}, True),
        ("edited.mp4", {"times": [(i - 10) / 30 for i in range(30)]}, True),
        ("clock_starts_anywhere.ts", {}, True),
    ],
)
def test_packets_tell_what_decoding_tells(name, options, quick, tmp_path: Path):
    path = write_video(tmp_path / name, 30, **options)
    assert packet_times(path) == pytest.approx(presentation_times(path), abs=1e-4)
    if quick is not None:
        assert (_told_by_packets(path) is not None) == quick


def test_a_video_that_was_cut_off_is_decoded(tmp_path: Path):
    path = write_video(tmp_path / "video.mkv", 30)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    np.testing.assert_allclose(packet_times(path), presentation_times(path), atol=1e-4)
