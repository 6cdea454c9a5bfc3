"""Cross-attention maps: where each decoded segment looks (the paper's ablation figure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from uvast.models.ensemble import writers, writers_of
from uvast.report.content import Attention
from uvast.sampling import source_bounds
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from uvast.data import Dataset, Video
    from uvast.inference import Segmenter
    from uvast.segments import IntArray

MAX_COLUMNS = 800
"""Frames are averaged to at most this many columns: more than a page can show."""


def has_attention(segmenter: Segmenter) -> bool:
    """Whether a model has a transcript decoder, and so cross-attention."""
    return bool(writers(segmenter.module))


def attention_maps(segmenters: Mapping[str, Segmenter], dataset: Dataset, name: str) -> Attention:
    """The target and one map per model, for one video with its true transcript as input.

    For a partly labelled video, the longest labelled stretch is used. Long segments are cut into
    chunks as in the first model's training, so that a row is what the decoder was trained to look
    at. The models are given by title; each needs a transcript decoder.
    """
    first = next(iter(segmenters.values()))
    name = max(dataset.samples(name), key=dataset.source_frames, default=name)
    video = _seen_by(first, dataset, name)
    rows = Segmentation.from_labels(video.labels if video.labels is not None else [])
    if first.priors.chunk_fraction:
        rows = rows.chunked(first.priors.chunk_fraction)
    true = rows.upsampled(video.sampling_rate, video.source_frames)
    maps = {"Target: the frames of each segment": _scaled(_target(true))}
    for title, segmenter in segmenters.items():
        maps[title] = _scaled(_weights(segmenter, _seen_by(segmenter, dataset, name), rows))
    return Attention(name, true, maps)


def _seen_by(segmenter: Segmenter, dataset: Dataset, name: str) -> Video:
    return dataset.video(name, sampling_rate=segmenter.sampling_rate)


@torch.inference_mode()
def _weights(segmenter: Segmenter, video: Video, rows: Segmentation) -> NDArray[np.float64]:
    """Weights over columns of source frames: means over layers, heads, an ensemble's members."""
    encoded = segmenter.encode_batch([video]).encoded
    tokens = np.concatenate(([segmenter.vocabulary.sos], rows.transcript))
    inputs = torch.from_numpy(tokens)[None].to(segmenter.device)
    bounds = source_bounds(video.source_frames, video.sampling_rate)
    found = []
    for writer, own in writers_of(segmenter.module, encoded):
        decoded = writer.decode(own, None, inputs, need_weights=True)
        assert decoded.cross_attention is not None, "asked for"
        # Output i predicts segment i; the last one predicts EOS.
        layers = [
            _columns(layer[0, :-1].cpu().numpy(), bounds) for layer in decoded.cross_attention
        ]
        found.append(np.mean(layers, axis=0))
    return np.asarray(np.mean(found, axis=0))


def _target(rows: Segmentation) -> NDArray[np.float64]:
    """The share of each column's frames that lie in each segment."""
    edges = _edges(rows.n_frames)
    before = np.clip(edges, rows.starts[:, None], rows.ends[:, None])  # (S, columns + 1)
    return np.asarray(np.diff(before) / np.diff(edges))


def _columns(weights: NDArray[np.float32], bounds: IntArray) -> NDArray[np.float64]:
    """Means over the source frames of each column `(S, T)` -> `(S, columns)`.

    `bounds` say which source frames each frame stands for `(T + 1,)`, see `source_bounds`.
    """
    edges, counts = _edges(int(bounds[-1])), np.diff(bounds)
    before = [
        np.interp(edges, bounds, np.concatenate(([0.0], np.cumsum(row * counts))))
        for row in weights
    ]
    return np.asarray(np.diff(before) / np.diff(edges))


def _edges(n_frames: int) -> IntArray:
    """Where the columns begin, and where the last one ends; at most `MAX_COLUMNS` of them."""
    n_columns = min(n_frames, MAX_COLUMNS)
    return np.arange(n_columns + 1) * n_frames // n_columns


def _scaled(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row scaled to a maximum of 1."""
    largest = np.maximum(means.max(1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(means / largest)
