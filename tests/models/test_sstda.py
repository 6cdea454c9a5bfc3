"""SSTDA: sizes, each loss against a plain loop, reversed gradients, pooling, orders, padding."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch

from uvast.config import load_config
from uvast.models.build import build_model
from uvast.models.encoded import Encoded
from uvast.models.ms_tcn import MsTcnDimensions, ms_tcn
from uvast.models.protocols import adaptation_terms, learns_unlabelled
from uvast.models.sstda import (
    ORDERS,
    Sstda,
    SstdaDimensions,
    mixed_segments,
    order_class,
    pooled_segments,
    ramp,
    reverse_gradient,
)

WIDTH, N_CLASSES = 6, 3
SOURCE, TARGET = (9, 4), (5, 8, 7)
"""Frames of the labelled and of the unlabelled videos."""


def small(n_stages=4, dropout=0.0):
    torch.manual_seed(0)
    sizes = {"width": WIDTH, "n_layers": 2, "n_stages": n_stages, "dropout": dropout}
    return Sstda(SstdaDimensions(5, N_CLASSES, **sizes))


def stage(lengths, filler=0.0, *, longer=0):
    """What a stage might make of videos of these lengths, and their valid frames."""
    n_frames = max(lengths) + longer
    generator = torch.Generator().manual_seed(sum(lengths))
    drawn = [torch.randn(n, WIDTH + N_CLASSES, generator=generator) for n in lengths]
    values = torch.full((len(lengths), n_frames, WIDTH + N_CLASSES), filler)
    for row, one in zip(values, drawn, strict=True):
        row[: len(one)] = one
    features, logits = values.split([WIDTH, N_CLASSES], 2)
    mask = torch.arange(n_frames) < torch.tensor(lengths)[:, None]
    return Encoded(features.clone().requires_grad_(), logits.clone().requires_grad_()), mask


def stages(lengths, n_stages=4, **options):
    """The same from every stage of a network."""
    one, mask = stage(lengths, **options)
    return Encoded(one.features, one.logits, earlier=(one,) * (n_stages - 1)), mask


def entropy(probabilities):
    return -sum(p * math.log(p) for p in probabilities)


def test_it_is_an_ms_tcn_with_two_classifiers_at_stages_2_and_3():
    config = load_config("sstda").model
    model = build_model(config, n_features=2048, n_classes=11)
    alone = build_model(load_config("ms-tcn").model, n_features=2048, n_classes=11)
    frames = 64 * 64 + 64 + 64 + 1
    orders = 4 * 64 * 64 + 64 + 6 * 64 + 6
    n_alone = sum(p.numel() for p in alone.parameters())
    assert sum(p.numel() for p in model.parameters()) == n_alone + 2 * (frames + orders) == 838906
    assert learns_unlabelled(model)
    assert not learns_unlabelled(alone)


def test_the_preset_is_the_published_one():
    config, plain = load_config("sstda"), load_config("ms-tcn")
    assert config.train.unlabelled == "test"
    changed = {"model.kind": "ms-tcn", "train.unlabelled": "none"}
    assert config.replaced(**changed) == plain


def test_nothing_is_left_of_the_classifiers_at_inference():
    model = small().eval()
    alone = ms_tcn(MsTcnDimensions(5, N_CLASSES, width=WIDTH, n_layers=2, dropout=0.0)).eval()
    alone.load_state_dict(model.network.state_dict())
    features, mask = torch.randn(2, 20, 5), torch.ones(2, 20, dtype=torch.bool)
    torch.testing.assert_close(
        model.encode(features, mask).logits, alone.encode(features, mask).logits
    )


@pytest.mark.parametrize(
    ("n_stages", "adapted"), [(1, [0]), (2, [1]), (3, [1, 2]), (4, [1, 2]), (6, [1, 2])]
)
def test_which_stages_are_adapted(n_stages, adapted):
    model = small(n_stages)
    made = [stage(SOURCE) for _ in range(n_stages)]
    source = Encoded(made[-1][0].features, made[-1][0].logits, earlier=tuple(m[0] for m in made))
    source = Encoded(source.features, source.logits, earlier=source.earlier[:-1])
    target, target_mask = stages(TARGET, n_stages)
    terms = model.adaptation_terms(source, made[0][1], target, target_mask, 1.0)
    sum(terms.values()).backward()
    reached = [index for index, (one, _) in enumerate(made) if one.features.grad is not None]
    assert reached == adapted


def test_a_reversed_gradient_has_the_other_sign_and_the_weight():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    found = reverse_gradient(x, 0.25)
    assert found.tolist() == [1.0, -2.0]
    (found * torch.tensor([4.0, 8.0])).sum().backward()
    assert x.grad.tolist() == [-1.0, -2.0]


def test_the_ramp_goes_from_none_to_all():
    assert ramp(0.0) == 0
    assert ramp(0.1) == pytest.approx((1 - math.exp(-1)) / (1 + math.exp(-1)))
    assert 0.9999 < ramp(1.0) < 1


@torch.no_grad()
def plain_terms(model, source, target, order_seed):
    """Frame by frame and video by video, over the adapted stages."""
    frame_domain = video_domain = attentive_entropy = 0.0
    torch.manual_seed(order_seed)
    for adversary in model.adversaries:
        frames, entropies, parts = [], [], []
        for domain, (encoded, mask) in enumerate((source, target)):
            own_frames, own_entropies, own_parts = [], [], []
            for features, logits, valid in zip(encoded.features, encoded.logits, mask, strict=True):
                n = int(valid.sum())
                losses, weighted, attended = [], [], []
                for one, scores in zip(features[:n], logits[:n], strict=True):
                    p = float(adversary.frames(one).sigmoid())
                    losses.append(-math.log(p if domain else 1 - p))
                    doubt = entropy([p, 1 - p])
                    weighted.append((1 + doubt) * entropy(scores.softmax(0).tolist()))
                    attended.append(one * (1 + (1 - doubt)))
                half = -(-n // 2)
                halves = attended[:half], attended[half:]
                own_frames.append(sum(losses) / n)
                own_entropies.append(sum(weighted) / n)
                own_parts.append([sum(part) / len(part) for part in halves])
            frames.append(sum(own_frames) / len(own_frames))
            entropies.append(sum(own_entropies) / len(own_entropies))
            parts.append(own_parts)
        frame_domain += sum(frames) / 2
        attentive_entropy += sum(entropies) / 2
        labelled, unlabelled = parts
        n_pairs = max(len(labelled), len(unlabelled))
        drawn, losses = torch.rand(n_pairs, 4), []
        for pair in range(n_pairs):
            four = [*labelled[pair % len(labelled)], *unlabelled[pair % len(unlabelled)]]
            order = sorted(range(4), key=drawn[pair].tolist().__getitem__)
            places = tuple(place for place, which in enumerate(order) if which < 2)
            scores = adversary.orders(torch.cat([four[which] for which in order]))
            losses.append(-float(scores.log_softmax(0)[ORDERS.index(places)]))
        video_domain += sum(losses) / n_pairs
    return {
        "frame_domain": frame_domain,
        "video_domain": video_domain,
        "attentive_entropy": 0.01 * attentive_entropy,
    }


def test_losses_are_those_of_a_plain_loop():
    model = small()
    source, target = stages(SOURCE), stages(TARGET)
    torch.manual_seed(5)
    found = model.adaptation_terms(*source, *target, 0.3)
    expected = plain_terms(model, source, target, 5)
    assert {name: value.item() for name, value in found.items()} == pytest.approx(expected)


@pytest.mark.parametrize(("term", "share"), [("frame_domain", 1.0), ("video_domain", 0.1)])
def test_features_learn_to_deceive_the_classifiers(term, share, monkeypatch):
    """The gradient of the features is the true one, reversed; that of the classifiers is true."""
    model, progress = small(), 0.2

    def gradients():
        source, target = stages(SOURCE), stages(TARGET)
        torch.manual_seed(5)
        model.zero_grad()
        model.adaptation_terms(*source, *target, progress)[term].backward()
        inside = [p.grad.clone() for p in model.adversaries.parameters() if p.grad is not None]
        return [source[0].features.grad, target[0].features.grad], inside

    features, classifiers = gradients()
    monkeypatch.setattr("uvast.models.sstda.reverse_gradient", lambda x, weight: x)
    true_features, true_classifiers = gradients()
    for one, true in zip(features, true_features, strict=True):
        assert true.abs().max() > 1e-4
        torch.testing.assert_close(one, -ramp(progress) * share * true)
    for one, true in zip(classifiers, true_classifiers, strict=True):
        torch.testing.assert_close(one, true)


def test_entropy_reaches_the_classes_and_not_the_classifiers():
    model = small()
    source, target = stages(SOURCE), stages(TARGET)
    model.adaptation_terms(*source, *target, 1.0)["attentive_entropy"].backward()
    assert source[0].logits.grad.any()
    assert target[0].logits.grad.any()
    assert not any(p.grad is not None and p.grad.any() for p in model.adversaries.parameters())


@pytest.mark.parametrize("filler", [0.0, 1e3])
def test_padding_takes_no_part(filler):
    model = small()
    found = []
    for options in ({}, {"filler": filler, "longer": 6}):
        source, target = stages(SOURCE, **options), stages(TARGET, **options)
        torch.manual_seed(5)
        terms = model.adaptation_terms(*source, *target, 0.5)
        sum(terms.values()).backward()
        assert not any(
            one.features.grad[~mask].any() or one.logits.grad[~mask].any()
            for one, mask in (source, target)
        )
        found.append(terms)
    for name, value in found[0].items():
        torch.testing.assert_close(value, found[1][name], msg=name)


def test_videos_of_one_frame():
    terms = small().adaptation_terms(*stages((1,)), *stages((1, 1)), 0.5)
    assert all(value.isfinite() for value in terms.values())


def test_pooling_weighs_and_averages_the_halves():
    features = torch.tensor([[[1.0], [2.0], [4.0], [8.0], [99.0]], [[3.0], [0], [0], [0], [0]]])
    weights = torch.tensor([[1.0, 2.0, 1.0, 1.5, 7.0], [2.0, 1, 1, 1, 1]])
    mask = torch.tensor([[True] * 4 + [False], [True] + [False] * 4])
    found = pooled_segments(features, weights, mask).squeeze(2)
    assert found.tolist() == [[2.5, 8.0], [6.0, 0.0]]


def test_every_order_has_the_class_of_its_places():
    orders = list(permutations(range(4)))
    classes = order_class(torch.tensor(orders)).tolist()
    assert sorted(set(classes)) == list(range(6))
    for order, found in zip(orders, classes, strict=True):
        assert ORDERS[found] == tuple(place for place, which in enumerate(order) if which < 2)


def test_mixed_segments_are_a_pair_in_the_order_that_their_class_says():
    torch.manual_seed(0)
    source = torch.arange(2.0).reshape(1, 2, 1)  # 0 and 1
    target = torch.arange(10, 210.0).reshape(100, 2, 1)
    mixed, classes = mixed_segments(source, target)
    assert mixed.shape == (100, 4)
    for index, (four, found) in enumerate(zip(mixed.tolist(), classes.tolist(), strict=True)):
        assert sorted(four) == [0, 1, 10 + 2 * index, 11 + 2 * index]
        assert tuple(place for place, value in enumerate(four) if value < 2) == ORDERS[found]
    assert len(set(classes.tolist())) == 6


def test_a_batch_without_unlabelled_videos_has_no_terms():
    encoded, mask = stages(SOURCE)
    assert adaptation_terms(small(), encoded, mask, None) == {}


def test_the_classifiers_learn_what_differs():
    """A few steps tell labelled frames from unlabelled ones that are shifted."""
    model = small()
    source, target = stages(SOURCE), stages(TARGET)
    shifted = Encoded(target[0].features + 3, target[0].logits)
    target = Encoded(shifted.features, shifted.logits, earlier=(shifted,) * 3), target[1]
    optimiser = torch.optim.Adam(model.adversaries.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = sum(model.adaptation_terms(*source, *target, 1.0).values())
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    chance = 2 * (math.log(2) + math.log(6))
    assert losses[0] > 0.8 * chance
    assert losses[-1] < 0.3 * chance
