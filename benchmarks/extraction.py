"""Features from a 640x480 video: frames per second beside raw decoding, and beside GEMM speed.

    python benchmarks/extraction.py [--models pixels,appearance,i3d] [--seconds 20] [--video FILE]
    python benchmarks/extraction.py --hours 2 [--models pixels]

`times real time` is at 15 features per second, from the file to `NAME.npy`; `of GEMM` compares the
network alone, its operations counted by torch, with a matrix product in the same run.
`appearance` has to be 4 times faster than real time with 2 cores, `i3d` has to reach 30 % of GEMM.
With --hours the video is looped, and its peak memory is shown beside that of a short one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from machine import gemm_speed, in_new_process, measure, peak_memory
from uvast.features import (
    Order,
    Request,
    extract,
    generate_videos,
    presentation_times,
    video_info,
)
from uvast.features.models import parse_models

if TYPE_CHECKING:
    from uvast.features import Extractor, VideoInfo

RATE = 15.0
LEAST_SPEED = {"appearance": 4.0}
LEAST_SHARE = {"i3d": 0.3}


def main() -> int:
    """Prints the numbers; exit code 1 if one of them is below its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="pixels,appearance,i3d")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--video", type=Path)
    parser.add_argument("--hours", type=float)
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        return _print_peak(options.peak, options.models)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        video = options.video or _generated(folder, options.seconds)
        if options.hours:
            return _memory(video, folder, options.hours, options.models)
        return _speeds(video, folder, options.models)


def _generated(folder: Path, seconds: float) -> Path:
    generate_videos(folder / "videos", n_videos=1, seconds=seconds, width=640, height=480)
    return folder / "videos" / "s01_001.mp4"


def _speeds(video: Path, folder: Path, names: str) -> int:
    info = video_info(video)
    gemm = gemm_speed()
    start = time.perf_counter()
    n_frames = len(presentation_times(video))
    decoding = n_frames / (time.perf_counter() - start)
    print(f"{info.width}x{info.height} {info.codec}, {info.seconds:.0f} s, {n_frames} frames")
    print(f"{torch.get_num_threads()} threads, GEMM {gemm:.0f} GFLOP/s")
    print(f"{'decoding':12} {decoding:7.0f} frames/s")
    failed = False
    for model in parse_models(names):
        order = Order(video, folder / model.kind, (model,), RATE, n_threads=2)
        model.make(Request(RATE, info.frames_per_second))  # loads the weights, untimed
        start = time.perf_counter()
        outcome = extract(order)
        seconds = time.perf_counter() - start
        speed = info.seconds / seconds
        share = _share_of_gemm(model.make(Request(RATE, info.frames_per_second)), info, gemm)
        told = "" if share is None else f"   network {share:4.0%} of GEMM"
        print(
            f"{model.kind:12} {outcome.n_frames / seconds:7.1f} features/s   "
            f"{speed:5.1f} times real time{told}"
        )
        failed |= speed < LEAST_SPEED.get(model.kind, 0.0)
        failed |= share is not None and share < LEAST_SHARE.get(model.kind, 0.0)
    return int(failed)


def _share_of_gemm(extractor: Extractor, info: VideoInfo, gemm: float) -> float | None:
    """The network's operations per second as a share of a matrix product's."""
    if extractor.name not in ("appearance", "i3d"):
        return None
    size = extractor.view.picture
    height, width = (
        (size.height, size.width) if size.fit == "crop" else size.scaled(info.height, info.width)
    )
    frames = np.random.default_rng(0).integers(0, 256, (32, height, width, 3), dtype=np.uint8)
    with FlopCounterMode(display=False) as counter:
        extractor(frames)
    fastest = measure(lambda: extractor(frames), n_calls=3, n_warm=1).fastest
    return counter.get_total_flops() / fastest / 1e6 / gemm


def _memory(video: Path, folder: Path, hours: float, names: str) -> int:
    """Peak memory of a short and of a looped video, which may differ by a tenth."""
    seconds = video_info(video).seconds
    failed = False
    for model in parse_models(names):
        peaks = []
        for length in (120.0, hours * 3600):
            looped = _looped(video, folder / "looped.mp4", max(1, round(length / seconds)))
            found = in_new_process(__file__, "--peak", str(looped), "--models", str(model))
            peaks.append(found["megabytes"])
            print(f"{model.kind:12} {length / 60:6.0f} min   peak {peaks[-1]:6.0f} MB")
        failed |= peaks[1] > 1.1 * peaks[0] + 20
    return int(failed)


def _looped(video: Path, out: Path, n_times: int) -> Path:
    """The packets of a video, again and again."""
    with av.open(str(out), "w") as target:
        stream, shift = None, 0
        for _ in range(n_times):
            with av.open(str(video)) as source:
                template = source.streams.video[0]
                if stream is None:
                    stream = target.add_stream_from_template(template)
                for packet in source.demux(template):
                    if packet.dts is None or packet.pts is None:
                        continue
                    packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                    packet.stream = stream
                    target.mux(packet)
                assert template.duration is not None, "a file has a length"
                shift += template.duration
    return out


def _print_peak(video: Path, names: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        extract(Order(video, Path(folder), parse_models(names), RATE))
    print(json.dumps({"megabytes": peak_memory()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
