"""Every loss against a plain loop, in padded batches, with gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.config import GroupMean, LossConfig
from uvast.models import Encoded
from uvast.training.loss_sums import Losses, framewise_losses, stage_one_losses
from uvast.training.losses import (
    alignment_loss,
    cross_attention_loss,
    cross_entropy,
    decoder_inputs,
    duration_loss,
    group_loss,
    segment_targets,
    smoothing_loss,
)

FORMS = get_args(GroupMean)
N_CLASSES, N_LAYERS = 4, 2
TEMPERATURE = 0.1


def random_video(generator, n_frames, n_segments, dtype=torch.float64):
    """One unpadded video: targets and model outputs, as a batch of one."""
    cuts = torch.randperm(n_frames - 1, generator=generator)[: n_segments - 1].sort().values + 1
    starts = torch.zeros(n_frames, dtype=torch.int64).scatter(0, cuts, 1)
    segment_of_frame = starts.cumsum(0)
    transcript = torch.randint(N_CLASSES, (n_segments,), generator=generator)
    durations = segment_of_frame.bincount(minlength=n_segments)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    length = n_segments + 1
    return SimpleNamespace(
        labels=transcript[segment_of_frame][None],
        frame_labels=transcript[segment_of_frame][None],
        transcript=transcript[None],
        n_segments=torch.tensor([n_segments]),
        segment_of_frame=segment_of_frame[None],
        fractions=(durations / n_frames).to(dtype)[None],
        frame_logits=2 * normal(1, n_frames, N_CLASSES),
        decoder_logits=2 * normal(N_LAYERS, 1, length, N_CLASSES + 1),
        cross_attention=normal(N_LAYERS, 1, length, n_frames).softmax(-1),
        durations=normal(N_LAYERS, 1, length),
        alignment_logits=normal(1, n_frames, n_segments),
    )


def padded(tensors, value, batch_dim):
    """Tensors joined along their batch, every later axis padded to the longest."""
    tails = [tensor.shape[batch_dim + 1 :] for tensor in tensors]
    longest = [max(sizes) for sizes in zip(*tails, strict=True)]
    grown = []
    for tensor, tail in zip(tensors, tails, strict=True):
        room = [(0, want - have) for want, have in zip(longest, tail, strict=True)]
        flat = [size for pair in reversed(room) for size in pair]
        grown.append(torch.nn.functional.pad(tensor, flat, value=value))
    return torch.cat(grown, batch_dim)


LAYERED = {"decoder_logits", "cross_attention", "durations"}
INTEGER = {"labels", "frame_labels", "transcript", "segment_of_frame"}


def batched(videos, garbage=3.5):
    """A padded batch: -1 in integer targets, garbage in everything else."""
    return SimpleNamespace(
        **{
            name: padded(
                [getattr(video, name) for video in videos],
                -1 if name in INTEGER else garbage,
                1 if name in LAYERED else 0,
            )
            for name in vars(videos[0])
        }
    )


def random_videos(seed, shapes):
    generator = torch.Generator().manual_seed(seed)
    return [random_video(generator, n_frames, n_segments) for n_frames, n_segments in shapes]


def eos_targets(batch):
    return segment_targets(batch.transcript, batch.n_segments, eos=N_CLASSES)


# name -> (output it reads, loss of that output and a batch)
LOSSES = {
    "frame": ("frame_logits", lambda x, b: cross_entropy(x, b.labels)),
    "segment": ("decoder_logits", lambda x, b: cross_entropy(x[0], eos_targets(b))),
    **{
        f"group-frame {form}": (
            "frame_logits",
            lambda x, b, form=form: group_loss(x, b.labels, form=form, n_classes=N_CLASSES),
        )
        for form in FORMS
    },
    **{
        f"group-segment {form}": (
            "decoder_logits",
            lambda x, b, form=form: group_loss(
                x[1], eos_targets(b), form=form, n_classes=N_CLASSES
            ),
        )
        for form in FORMS
    },
    "cross-attention": (
        "cross_attention",
        lambda x, b: cross_attention_loss(
            x, b.segment_of_frame, b.n_segments, temperature=TEMPERATURE
        ),
    ),
    "alignment": (
        "alignment_logits",
        lambda x, b: alignment_loss(x, b.segment_of_frame, b.n_segments, temperature=0.7),
    ),
    "durations": (
        "durations",
        lambda x, b: duration_loss(x[0, :, : b.fractions.shape[1]], b.fractions, b.n_segments),
    ),
    "smoothing": ("frame_logits", lambda x, b: smoothing_loss(x, b.labels >= 0, clip=2.0)),
}


def probabilities(row):
    exponents = [math.exp(value) for value in row]
    return [value / sum(exponents) for value in exponents]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def plain_cross_entropy(logits, targets):
    return mean(-math.log(probabilities(row)[t]) for row, t in zip(logits, targets, strict=True))


def plain_group(logits, targets, form):
    terms = []
    for action in sorted(set(targets) - {N_CLASSES}):
        rows = [row for row, target in zip(logits, targets, strict=True) if target == action]
        if form == "mean-probability":
            terms.append(-math.log(mean(probabilities(row)[action] for row in rows)))
        elif form == "mean-logit":
            average = [mean(column) for column in zip(*rows, strict=True)]
            terms.append(-math.log(probabilities(average)[action]))
        else:
            terms.append(-mean(math.log(probabilities(row)[action]) for row in rows))
    return mean(terms)


def plain_smoothing(logits, clip):
    squares = []
    for earlier, later in pairwise(logits):
        pairs = zip(probabilities(earlier), probabilities(later), strict=True)
        squares += [min((math.log(q) - math.log(p)) ** 2, clip**2) for p, q in pairs]
    return mean(squares) if squares else 0.0


def plain_loss(name, video):
    """The loss of one unpadded video, frame by frame."""
    labels, transcript = video.labels[0].tolist(), video.transcript[0].tolist()
    segments, n_segments = video.segment_of_frame[0].tolist(), int(video.n_segments)
    frame_logits = video.frame_logits[0].tolist()
    layers = video.decoder_logits[:, 0].tolist()
    tokens = [*transcript, N_CLASSES]
    if name == "frame":
        return plain_cross_entropy(frame_logits, labels)
    if name == "segment":
        return plain_cross_entropy(layers[0], tokens)
    if name.startswith("group-frame"):
        return plain_group(frame_logits, labels, name.split()[1])
    if name.startswith("group-segment"):
        return plain_group(layers[1], tokens, name.split()[1])
    if name == "cross-attention":
        rows = video.cross_attention[:, 0, :n_segments].transpose(1, 2) / TEMPERATURE
        return mean(plain_cross_entropy(layer.tolist(), segments) for layer in rows)
    if name == "alignment":
        return plain_cross_entropy((video.alignment_logits[0] / 0.7).tolist(), segments)
    if name == "durations":
        pairs = zip(video.durations[0, 0].tolist(), video.fractions[0].tolist(), strict=False)
        return mean((predicted - true) ** 2 for predicted, true in pairs)
    assert name == "smoothing"
    return plain_smoothing(frame_logits, 2.0)


shapes = st.tuples(st.integers(1, 14), st.integers(1, 6)).map(lambda pair: (pair[0], min(pair)))


@given(st.integers(0, 2**32), st.lists(shapes, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("name", LOSSES)
def test_padded_batch_is_mean_of_plain_loops(name, seed, shapes):
    videos = random_videos(seed, shapes)
    batch = batched(videos)
    output, loss = LOSSES[name]
    expected = mean(plain_loss(name, video) for video in videos)
    assert loss(getattr(batch, output), batch).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_right_and_zero_at_padding(name):
    videos = random_videos(3, [(9, 4), (5, 2), (1, 1)])
    batch = batched(videos)
    output, loss = LOSSES[name]
    leaf = getattr(batch, output).requires_grad_()
    if name != "smoothing":  # its gradient is cut on purpose; see the test of its own
        assert torch.autograd.gradcheck(lambda x: loss(x, batch), (leaf,))
    loss(leaf, batch).backward()
    ones = batched(
        [SimpleNamespace(**{output: torch.ones_like(getattr(v, output))}) for v in videos], 0.0
    )
    padding = getattr(ones, output) == 0
    assert padding.any()
    assert (leaf.grad[padding] == 0).all()
    assert (leaf.grad != 0).any()


@pytest.mark.parametrize("name", LOSSES)
def test_runs_on_the_device_of_its_inputs(name):
    batch = batched(random_videos(0, [(9, 4), (5, 2)]))
    moved = SimpleNamespace(**{key: value.to("meta") for key, value in vars(batch).items()})
    output, loss = LOSSES[name]
    assert loss(getattr(moved, output), moved).device.type == "meta"


def test_chance_level_is_the_log_of_the_number_of_outputs():
    labels = torch.tensor([[0, 1, 1, 2]])
    assert cross_entropy(torch.zeros(1, 4, 5), labels).item() == pytest.approx(math.log(5))
    for form in FORMS:
        loss = group_loss(torch.zeros(1, 4, 5), labels, form=form, n_classes=4)
        assert loss.item() == pytest.approx(math.log(5))
    segments, n_segments = torch.tensor([[0, 0, 1, 2]]), torch.tensor([3])
    attention = torch.full((2, 1, 6, 4), 0.25)
    assert cross_attention_loss(attention, segments, n_segments).item() == pytest.approx(
        math.log(3)
    )


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("mean-probability", -math.log((0.9 + 0.1) / 2)),
        ("mean-log-probability", -math.log(0.9 * 0.1) / 2),
        ("mean-logit", -math.log(0.5)),  # logits ±log 9 average to 0
    ],
)
def test_group_forms_on_a_group_of_two(form, expected):
    logits = torch.tensor([[[math.log(9.0), 0.0], [0.0, math.log(9.0)]]])
    loss = group_loss(logits, torch.tensor([[0, 0]]), form=form, n_classes=2)
    assert loss.item() == pytest.approx(expected)


def test_a_rare_class_weighs_as_much_as_a_common_one():
    logits = torch.zeros(1, 100, 2)
    logits[0, :99, 0] = 50.0
    labels = torch.zeros(1, 100, dtype=torch.int64)
    labels[0, 99] = 1
    for form in FORMS:
        loss = group_loss(logits, labels, form=form, n_classes=2)
        assert loss.item() == pytest.approx(math.log(2) / 2)


@pytest.mark.parametrize("form", FORMS)
def test_eos_forms_no_group_and_takes_part_in_the_softmax(form):
    logits = torch.zeros(1, 3, 3, requires_grad=True)
    targets = torch.tensor([[1, 2, -1]])
    loss = group_loss(logits, targets, form=form, n_classes=2)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(3))
    assert logits.grad[0, 0, 2] > 0
    assert (logits.grad[0, 1:] == 0).all()


@pytest.mark.parametrize("form", FORMS)
def test_a_video_without_groups_costs_nothing(form):
    logits = torch.randn(2, 3, 3, requires_grad=True)
    loss = group_loss(logits, torch.tensor([[2, -1, -1], [-1] * 3]), form=form, n_classes=2)
    loss.backward()
    assert loss.item() == 0
    assert (logits.grad == 0).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1e4, 1e20])
def test_a_group_of_probability_zero_still_learns(form, scale):
    logits = torch.zeros(1, 3, 3)
    logits[0, :, 2] = scale
    logits.requires_grad_()
    # The last target is of another class with probability 1: it must not swamp the group's sum.
    loss = group_loss(logits, torch.tensor([[0, 0, 2]]), form=form, n_classes=3)
    loss.backward()
    if form == "mean-logit" or scale < 1e10:
        assert loss.item() == pytest.approx(scale / 2)
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[0, :2, 0] < 0).all()


def test_cross_attention_ignores_positions_past_the_segments():
    batch = batched(random_videos(5, [(9, 4), (6, 2)]))
    arguments = (batch.segment_of_frame, batch.n_segments)
    attention = batch.cross_attention.clone()
    expected = cross_attention_loss(attention[:, :, :4], *arguments)
    attention[:, 0, 4:] = 1e6
    attention[:, 1, 2:] = 1e6
    attention.requires_grad_()
    loss = cross_attention_loss(attention, *arguments)
    loss.backward()
    assert torch.equal(loss, expected)
    assert (attention.grad[:, 0, 4:] == 0).all()
    assert (attention.grad[:, 1, 2:] == 0).all()


def test_cross_attention_averages_layers():
    batch = batched(random_videos(6, [(9, 4), (6, 2)]))
    arguments = (batch.segment_of_frame, batch.n_segments)
    layers = [cross_attention_loss(layer, *arguments).item() for layer in batch.cross_attention]
    together = cross_attention_loss(batch.cross_attention, *arguments).item()
    assert layers[0] != layers[1]
    assert together == pytest.approx(mean(layers))


def test_cross_attention_is_small_once_frames_know_their_segment():
    n_frames, segments = 5000, torch.arange(5000)[None] // 1000
    attention = torch.nn.functional.one_hot(segments, 5).transpose(1, 2) / (n_frames / 5)
    loss = cross_attention_loss(attention.float(), segments, torch.tensor([5]), temperature=1e-4)
    assert loss.item() < 0.01


def test_a_video_without_segments_has_no_nan():
    logits = torch.randn(2, 3, 2, requires_grad=True)
    segments = torch.tensor([[0, 0, 1], [-1, -1, -1]])
    loss = alignment_loss(logits, segments, torch.tensor([2, 0]))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()


def test_smoothing_moves_the_later_frame_only():
    logits = torch.randn(1, 2, 3, dtype=torch.float64, requires_grad=True)
    smoothing_loss(logits, torch.ones(1, 2, dtype=torch.bool), clip=100.0).backward()
    assert (logits.grad[0, 0] == 0).all()
    earlier = logits.detach()[:, :1]

    def of_later(later):
        change = later.log_softmax(2) - earlier.log_softmax(2)
        return change.square().mean()

    later = logits.detach()[:, 1:].requires_grad_()
    of_later(later).backward()
    torch.testing.assert_close(logits.grad[:, 1:], later.grad)


def test_smoothing_is_clipped_without_gradient():
    logits = torch.tensor([[[0.0, 1e30], [1e30, 0.0], [-1e30, 1e30]]], requires_grad=True)
    loss = smoothing_loss(logits, torch.ones(1, 3, dtype=torch.bool))
    loss.backward()
    assert loss.item() == pytest.approx(16.0)
    assert (logits.grad == 0).all()


def test_smoothing_of_one_frame_is_zero():
    loss = smoothing_loss(torch.randn(2, 1, 3), torch.ones(2, 1, dtype=torch.bool))
    assert loss.item() == 0


def test_decoder_tokens():
    transcript = torch.tensor([[3, 1, 2], [0, -1, -1]])
    n_segments = torch.tensor([3, 1])
    targets = segment_targets(transcript, n_segments, eos=4)
    inputs = decoder_inputs(transcript, n_segments, sos=5, padding=0)
    assert targets.tolist() == [[3, 1, 2, 4], [0, 4, -1, -1]]
    assert inputs.tolist() == [[5, 3, 1, 2], [5, 0, 0, 0]]


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_decoder_tokens_whatever_the_padding(transcripts):
    longest = max(map(len, transcripts))
    transcript = torch.tensor([t + [7] * (longest - len(t)) for t in transcripts]).long()
    n_segments = torch.tensor([len(t) for t in transcripts])
    targets = segment_targets(transcript, n_segments, eos=10)
    inputs = decoder_inputs(transcript, n_segments, sos=11, padding=12)
    for row, told, actions in zip(targets.tolist(), inputs.tolist(), transcripts, strict=True):
        room = longest - len(actions)
        assert row == [*actions, 10] + [-1] * room
        assert told == [11, *actions] + [12] * room


def model_outputs(batch, *, durations=False):
    encoded = Encoded(batch.frame_logits, batch.frame_logits)
    decoded = SimpleNamespace(
        logits=batch.decoder_logits,
        cross_attention=batch.cross_attention,
        fractions=batch.durations if durations else None,
    )
    return encoded, decoded


def test_stage_one_is_the_sum_of_its_terms_over_layers():
    videos = random_videos(7, [(12, 5), (7, 3), (1, 1)])
    batch = batched(videos)
    options = LossConfig(
        group_frame="mean-probability",
        group_segment="mean-log-probability",
        temperature=TEMPERATURE,
        smoothing=0.3,
        smoothing_clip=2.0,
    )
    losses = stage_one_losses(*model_outputs(batch, durations=True), batch, options)

    def of_layer(function):
        return mean(
            function(video.decoder_logits[layer, 0].tolist(), [*video.transcript[0].tolist(), 4])
            for video in videos
            for layer in range(N_LAYERS)
        )

    squares = [
        (video.durations[:, 0, :-1] - video.fractions).square().mean().item() for video in videos
    ]
    expected = {
        "frame": mean(plain_loss("frame", v) for v in videos),
        "group_frame": mean(plain_loss("group-frame mean-probability", v) for v in videos),
        "segment": of_layer(plain_cross_entropy),
        "group_segment": of_layer(lambda x, t: plain_group(x, t, "mean-log-probability")),
        "cross_attention": mean(plain_loss("cross-attention", v) for v in videos),
        "durations": mean(squares),
        "smoothing": 0.3 * mean(plain_loss("smoothing", v) for v in videos),
    }
    expected["total"] = sum(expected.values())
    assert losses.as_floats() == pytest.approx(expected)
    assert losses.total.item() == pytest.approx(expected["total"])


ON = {
    "frame": True,
    "segment": True,
    "group_frame": "mean-logit",
    "group_segment": "mean-probability",
    "cross_attention": True,
    "smoothing": 0.15,
}
OFF = {**dict.fromkeys(ON, False), "group_frame": "off", "group_segment": "off", "smoothing": 0.0}


@pytest.mark.parametrize("name", ON)
def test_each_term_has_its_own_switch(name):
    batch = batched(random_videos(8, [(9, 4)]))
    alone = LossConfig(**{**OFF, name: ON[name]})
    without = LossConfig(**{**ON, name: OFF[name]})
    assert set(stage_one_losses(*model_outputs(batch), batch, alone).terms) == {name}
    rest = {*ON} - {name}
    assert set(stage_one_losses(*model_outputs(batch), batch, without).terms) == rest


def test_explicit_durations_have_a_term_where_the_model_gives_them():
    batch = batched(random_videos(8, [(9, 4)]))
    outputs = model_outputs(batch, durations=True)
    assert set(stage_one_losses(*outputs, batch, LossConfig(**OFF)).terms) == {"durations"}


def test_the_default_is_the_objective_of_the_paper():
    batch = batched(random_videos(8, [(9, 4)]))
    names = set(stage_one_losses(*model_outputs(batch), batch, LossConfig()).terms)
    assert names == {*ON} - {"smoothing"}


def test_stage_one_reaches_every_output():
    batch = batched(random_videos(9, [(9, 4), (5, 2)]))
    encoded, decoded = model_outputs(batch, durations=True)
    for output in (encoded.logits, *vars(decoded).values()):
        output.requires_grad_()
    stage_one_losses(encoded, decoded, batch, LossConfig()).total.backward()
    for output in (encoded.logits, *vars(decoded).values()):
        assert (output.grad != 0).any()
        assert torch.isfinite(output.grad).all()


def test_framewise_losses_sum_over_stages():
    videos = random_videos(11, [(12, 5), (7, 3)])
    batch = batched(videos)
    stages = [
        Encoded(one, one)
        for one in (batch.frame_logits, -batch.frame_logits, 0 * batch.frame_logits)
    ]
    encoded = replace(stages[-1], earlier=tuple(stages[:-1]))
    losses = framewise_losses(encoded, batch, LossConfig(smoothing=0.5, smoothing_clip=2.0))
    losses = losses.as_floats()
    frame = smoothing = 0.0
    for sign in (1, -1, 0):
        rows = [(sign * v.frame_logits[0]).tolist() for v in videos]
        frame += mean(
            plain_cross_entropy(r, v.labels[0].tolist()) for r, v in zip(rows, videos, strict=True)
        )
        smoothing += mean(plain_smoothing(r, 2.0) for r in rows)
    expected = {"frame": frame, "smoothing": smoothing / 2, "total": frame + smoothing / 2}
    assert losses == pytest.approx(expected)


def test_losses_keep_the_graph_and_report_without_it():
    first = torch.tensor(1.5, requires_grad=True)
    losses = Losses({"frame": first, "segment": 2 * first})
    assert losses.as_floats() == {"frame": 1.5, "segment": 3.0, "total": 4.5}
    losses.total.backward()
    assert first.grad == 3
