"""The confidence loss: against a plain loop, in padded batches, over stages."""

from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.config import LossConfig
from uvast.models import Encoded
from uvast.training.loss_sums import framewise_losses, stage_one_losses
from uvast.training.losses import confidence_loss

N_CLASSES = 4


def plain(logits, classes):
    """One video: logits `(T, C)`, and the class of each annotated frame."""
    logs = [[one - math.log(sum(map(math.exp, row))) for one in row] for row in logits.tolist()]
    frames = sorted(classes)
    costs = []
    for left, right in pairwise(frames):
        if classes[left] == classes[right]:
            continue
        for t in range(left, right):
            rise = logs[t + 1][classes[left]] - logs[t][classes[left]]
            fall = logs[t][classes[right]] - logs[t + 1][classes[right]]
            costs += [max(rise, 0.0), max(fall, 0.0)]
    return sum(costs) / len(costs) if costs else 0.0


def batched(videos):
    """Logits, labels and annotated frames of videos `(logits, classes)`, padded with rubbish."""
    longest = max(len(logits) for logits, _ in videos)
    logits = torch.full((len(videos), longest, N_CLASSES), 7.0, dtype=torch.float64)
    logits[..., 0] = torch.arange(longest)
    labels = torch.full((len(videos), longest), -1)
    is_timestamp = torch.zeros(len(videos), longest, dtype=torch.bool)
    for index, (one, classes) in enumerate(videos):
        logits[index, : len(one)] = one
        labels[index, : len(one)] = 3  # what lies between the timestamps does not matter
        for frame, action in classes.items():
            labels[index, frame], is_timestamp[index, frame] = action, True
    return logits.requires_grad_(), labels, is_timestamp


def random_video(generator, n_frames):
    n_clicks = int(torch.randint(1, min(n_frames, 5) + 1, (), generator=generator))
    frames = torch.randperm(n_frames, generator=generator)[:n_clicks].tolist()
    actions = torch.randint(N_CLASSES, (n_clicks,), generator=generator).tolist()
    logits = 2 * torch.randn(n_frames, N_CLASSES, generator=generator, dtype=torch.float64)
    return logits, dict(zip(frames, actions, strict=True))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 20), min_size=1, max_size=3))
def test_it_is_the_plain_loop_and_padding_takes_no_part(seed, lengths):
    generator = torch.Generator().manual_seed(seed)
    videos = [random_video(generator, n_frames) for n_frames in lengths]
    logits, labels, is_timestamp = batched(videos)
    loss = confidence_loss(logits, labels, is_timestamp)
    assert loss.item() == pytest.approx(sum(plain(*one) for one in videos) / len(videos))
    loss.backward()
    assert logits.grad.isfinite().all()
    for gradient, (one, classes) in zip(logits.grad, videos, strict=True):
        assert not gradient[len(one) :].any()
        outside = [t for t in range(len(one)) if t < min(classes) or t > max(classes)]
        assert not gradient[outside].any()


def test_a_peak_at_every_timestamp_costs_nothing_and_a_valley_does():
    frames = torch.arange(11.0)
    peaks = torch.stack((-(frames - 2).abs(), -(frames - 8).abs()), 1)[None]
    labels = torch.tensor([[0] * 5 + [1] * 6])
    is_timestamp = torch.zeros(1, 11, dtype=torch.bool)
    is_timestamp[0, [2, 8]] = True
    assert confidence_loss(peaks, labels, is_timestamp) == 0
    assert confidence_loss(-peaks, labels, is_timestamp) > 0.5
    # beyond the last timestamp, and between timestamps of one class, nothing is asked
    is_timestamp[0, 8] = False
    assert confidence_loss(-peaks, labels, is_timestamp) == 0
    is_timestamp[0, 8] = True
    assert confidence_loss(-peaks, torch.zeros_like(labels), is_timestamp) == 0


@pytest.mark.parametrize("sums", [framewise_losses, stage_one_losses])
def test_every_stage_has_the_term_where_there_are_timestamps(sums):
    generator = torch.Generator().manual_seed(0)
    videos = [random_video(generator, n_frames) for n_frames in (12, 7)]
    logits, labels, is_timestamp = batched(videos)
    first = Encoded(torch.zeros(2, 12, 3), logits.flip(2))
    encoded = Encoded(torch.zeros(2, 12, 3), logits, earlier=(first,))
    targets = SimpleNamespace(labels=labels, frame_labels=labels, is_timestamp=is_timestamp)
    given = (targets,) if sums is framewise_losses else (None, targets)
    off = {"group_frame": "off", "smoothing": 0.15}
    found = sums(encoded, *given, LossConfig(confidence=0.075, **off)).terms
    both = [confidence_loss(one, labels, is_timestamp) for one in (logits.flip(2), logits)]
    torch.testing.assert_close(found["confidence"], 0.075 * (both[0] + both[1]))
    assert "confidence" not in sums(encoded, *given, LossConfig(**off)).terms
    targets.is_timestamp = None
    without = sums(encoded, *given, LossConfig(confidence=0.075, **off)).terms
    assert without.keys() == found.keys() - {"confidence"}
