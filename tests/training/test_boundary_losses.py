"""Boundary targets and the losses of ASRF, each against a plain loop, in padded batches."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.config import LossConfig
from uvast.data import Video, collate
from uvast.models import Encoded
from uvast.segments import Segmentation
from uvast.training.loss_sums import framewise_losses, stage_one_losses
from uvast.training.losses import (
    boundary_loss,
    boundary_targets,
    cross_entropy,
    likeness_of_neighbours,
    smoothing_loss,
)
from uvast.training.target_weights import TargetWeights

N_CLASSES = 4
seeds = st.integers(0, 2**32 - 1)


def drawn(seed, n_videos=3, longest=14):
    """Labels `(B, T)` of runs, -1 on padding, and the lengths."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (n_videos,), generator=generator)
    lengths[0] = longest
    changes = torch.rand(n_videos, longest, generator=generator) < 0.3
    labels = (changes.cumsum(1) * 3) % N_CLASSES
    labels[torch.arange(longest) >= lengths[:, None]] = -1
    return labels, lengths.tolist(), generator


def plain_targets(labels, width):
    cuts = [t for t in range(1, len(labels)) if labels[t] != labels[t - 1]]
    if not width:
        return [float(t in cuts) for t in range(len(labels))]
    return [
        max((math.exp(-((t - cut) ** 2) / (2 * width**2)) for cut in cuts), default=0.0)
        for t in range(len(labels))
    ]


def plain_boundary(logits, labels, width, weight):
    losses = []
    for x, y in list(zip(logits, plain_targets(labels, width), strict=True))[1:]:
        p = 1 / (1 + math.exp(-x))
        losses.append(-weight * y * math.log(p) - (1 - y) * math.log(1 - p))
    return sum(losses) / len(losses) if losses else 0.0


@settings(max_examples=100, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.5, 1.0, 4.0]))
def test_boundary_targets_and_loss_are_their_formulas(seed, width):
    labels, lengths, generator = drawn(seed)
    logits = 2 * torch.randn(labels.shape, generator=generator, dtype=torch.float64)
    targets = boundary_targets(labels, width)
    expected = []
    for row, n in enumerate(lengths):
        one = labels[row, :n].tolist()
        assert targets[row, :n].tolist() == pytest.approx(plain_targets(one, width), abs=1e-6)
        expected.append(plain_boundary(logits[row, :n].tolist(), one, width, 7.0))
    loss = boundary_loss(logits, labels, width=width, positive_weight=7.0)
    assert loss.item() == pytest.approx(sum(expected) / len(expected), rel=1e-5)


def test_padding_and_first_frames_have_no_gradient():
    labels, lengths, _ = drawn(0)
    logits = torch.randn(labels.shape, requires_grad=True)
    boundary_loss(logits, labels, width=1.0, positive_weight=5.0).backward()
    assert not logits.grad[:, 0].any()
    for row, n in enumerate(lengths):
        assert (logits.grad[row, 1:n] != 0).all()
        assert not logits.grad[row, n:].any()
    assert boundary_loss(logits[:, :1], labels[:, :1], width=1.0, positive_weight=5.0).item() == 0


def test_chunks_of_a_segment_have_no_boundary_between_them():
    segmentation = Segmentation(np.array([1, 0, 2]), np.array([20, 4, 6]))
    video = Video("v", np.zeros((30, 2), np.float32), None, 30)
    chunked = collate([video], [segmentation], chunk_fraction=0.2).targets
    assert chunked.n_segments.item() > 3
    assert boundary_targets(chunked.labels, 0.0)[0].nonzero().flatten().tolist() == [20, 24]


def test_logits_of_zero_say_as_likely_as_anywhere():
    """The best constant answer is about 0, whatever the share of the starts."""
    segmentation = Segmentation(np.arange(10) % 2, np.full(10, 30))
    labels = torch.from_numpy(segmentation.labels.copy())[None]
    for width in (0.0, 1.0):
        config = LossConfig(boundary_width=width)
        weight = TargetWeights.fit([segmentation], 2, config).boundary
        answer = torch.zeros(1, requires_grad=True)
        optimiser = torch.optim.Adam([answer], lr=0.05)
        for _ in range(200):
            optimiser.zero_grad()
            logits = answer.expand(labels.shape)
            boundary_loss(logits, labels, width=width, positive_weight=weight).backward()
            optimiser.step()
        assert abs(answer.item()) < 0.15


def test_target_weights_count_the_training_side():
    one = Segmentation(np.array([0, 1, 2]), np.array([10, 4, 2]))
    other = Segmentation(np.array([1]), np.array([5]))
    config = LossConfig(class_weights="median-frequency", boundary_width=0.0)
    weights = TargetWeights.fit([one, other], N_CLASSES, config)
    # 10, 9 and 2 frames: the median is 9; class 3 never occurs
    assert weights.classes.tolist() == pytest.approx([9 / 10, 1.0, 9 / 2, 1.0])
    assert weights.boundary == pytest.approx((15 + 4) / 2)
    soft = TargetWeights.fit([one, other], N_CLASSES, LossConfig(boundary_width=1.0))
    assert soft.classes is None
    expected = sum(plain_targets(one.labels.tolist(), 1.0)[1:])
    assert soft.boundary == pytest.approx(19 / expected)
    assert TargetWeights.fit([other], N_CLASSES, LossConfig()).boundary == 1.0


def test_weighted_cross_entropy_is_a_weighted_mean():
    labels, lengths, generator = drawn(3)
    logits = torch.randn(*labels.shape, N_CLASSES, generator=generator)
    weights = torch.tensor([0.5, 1.0, 3.0, 2.0])
    expected = []
    for row, n in enumerate(lengths):
        pairs = zip(logits[row, :n].log_softmax(-1), labels[row, :n].tolist(), strict=True)
        terms = [(weights[c].item(), -one[c].item()) for one, c in pairs]
        expected.append(sum(w * x for w, x in terms) / sum(w for w, _ in terms))
    loss = cross_entropy(logits, labels, weights)
    assert loss.item() == pytest.approx(sum(expected) / 3, rel=1e-5)
    ones = torch.ones(N_CLASSES)
    torch.testing.assert_close(cross_entropy(logits, labels, ones), cross_entropy(logits, labels))


def test_smoothing_counts_frames_that_look_alike():
    labels, lengths, generator = drawn(4)
    logits = 3 * torch.randn(*labels.shape, N_CLASSES, generator=generator)
    features = torch.randn(*labels.shape, 5, generator=generator)
    likeness = likeness_of_neighbours(features, 2.0)
    expected = []
    for row, n in enumerate(lengths):
        total = 0.0
        for t in range(1, n):
            apart = math.dist(features[row, t].tolist(), features[row, t - 1].tolist())
            change = logits[row, t].log_softmax(-1) - logits[row, t - 1].log_softmax(-1)
            squares = [min(abs(one), 4.0) ** 2 for one in change.tolist()]
            total += math.exp(-apart / 2) * sum(squares) / N_CLASSES
        expected.append(total / max(n - 1, 1))
    loss = smoothing_loss(logits, labels >= 0, clip=4.0, likeness=likeness)
    assert loss.item() == pytest.approx(sum(expected) / 3, rel=1e-5)


def test_the_objective_of_asrf_sums_both_branches_over_stages():
    labels, _, generator = drawn(5)

    def stage():
        logits = torch.randn(*labels.shape, N_CLASSES, generator=generator)
        return Encoded(logits, logits, torch.randn(labels.shape, generator=generator))

    first, second = stage(), stage()
    features = torch.randn(*labels.shape, 5, generator=generator)
    config = LossConfig(smoothing=0.5, smoothing_distance=2.0, boundary=0.1, boundary_width=0.0)
    weights = TargetWeights(torch.tensor([0.5, 1.0, 3.0, 2.0]), 9.0)
    targets = SimpleNamespace(labels=labels, frame_labels=labels)
    encoded = replace(second, earlier=(first,))
    found = framewise_losses(encoded, targets, config, weights, features=features)
    likeness = likeness_of_neighbours(features, 2.0)
    expected = dict.fromkeys(("frame", "smoothing", "boundary"), 0.0)
    for one in (first, second):
        expected["frame"] += cross_entropy(one.logits, labels, weights.classes).item()
        change = smoothing_loss(one.logits, labels >= 0, clip=4.0, likeness=likeness)
        expected["smoothing"] += 0.5 * change.item()
        starts = boundary_loss(one.boundaries, labels, width=0.0, positive_weight=9.0)
        expected["boundary"] += 0.1 * starts.item()
    expected["total"] = sum(expected.values())
    assert found.as_floats() == pytest.approx(expected, rel=1e-5)


def test_every_refinement_of_uvast_is_in_the_frame_terms_and_boundaries_have_their_own():
    labels, _, generator = drawn(6)
    first, last = (torch.randn(*labels.shape, N_CLASSES, generator=generator) for _ in range(2))
    starts = torch.randn(labels.shape, generator=generator)
    targets = SimpleNamespace(labels=labels, frame_labels=labels)
    config = LossConfig(smoothing=0.15, boundary=0.3)

    def terms(encoded):
        return stage_one_losses(encoded, None, targets, config).as_floats()

    encoded = Encoded(last, last, starts, (Encoded(first, first),))
    found, alone = terms(encoded), [terms(Encoded(one, one)) for one in (first, last)]
    for name in ("frame", "group_frame", "smoothing"):
        assert found[name] == pytest.approx(alone[0][name] + alone[1][name])
    assert "boundary" not in alone[0]
    loss = boundary_loss(starts, labels, width=1.0, positive_weight=1.0)
    assert found["boundary"] == pytest.approx(0.3 * loss.item())
