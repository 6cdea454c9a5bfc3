"""DTGRM: its size, a graph layer against a loop over frames, and the losses of swapped frames."""

from __future__ import annotations

import math

import pytest
import torch

from uvast.config import LossConfig, load_config
from uvast.data.batching import Targets
from uvast.models.build import build_model
from uvast.models.dilated_graph import missing_pairs
from uvast.models.dtgrm import Dtgrm, DtgrmDimensions, GraphLayer, SwappedEncoded, swapped_places
from uvast.models.protocols import own_terms
from uvast.training.loss_sums import framewise_losses


def small(**changes):
    torch.manual_seed(0)
    sizes = {"width": 8, "n_layers": 4, "n_stages": 3, "dropout": 0.0, **changes}
    return Dtgrm(DtgrmDimensions(n_features=5, n_classes=4, **sizes))


def padded_batch(*lengths, seed=0):
    """Features `(B, T, 5)`, mask and targets; the last frame of the first video is not certain."""
    generator = torch.Generator().manual_seed(seed)
    shape = (len(lengths), max(lengths))
    features = torch.randn(*shape, 5, generator=generator)
    mask = torch.arange(shape[1]) < torch.tensor(lengths)[:, None]
    labels = torch.randint(4, shape, generator=generator).where(mask, -1)
    certain = torch.ones(shape, dtype=torch.bool)
    certain[0, -1] = False
    empty = torch.zeros(len(lengths), 1)
    targets = Targets(labels, empty, empty, labels, empty, certain)
    return features, mask, targets


def test_the_preset_has_the_layers_of_the_paper():
    model = build_model(load_config(preset="dtgrm").model, n_features=2048, n_classes=11)
    residual = 3 * 64 * 64 + 64 + 64 * 64 + 64
    graph = 2 * (64 * 64 + 64) + (3 * 64 * 9 + 9) + 64 * 64 + 64
    ends = (2048 * 64 + 64) + 3 * (11 * 64 + 64) + 4 * (64 * 11 + 11) + 4 * (64 + 1)
    found = sum(one.numel() for one in model.parameters())
    assert found == ends + 10 * residual + 30 * graph == 728_190
    dilations = [one.dilation for one in model.modules() if isinstance(one, GraphLayer)]
    assert dilations == [2**index for index in range(10)] * 3


def test_the_preset_has_the_settings_of_the_paper():
    config = load_config(preset="dtgrm")
    assert (config.train.epochs, config.train.learning_rate) == (50, 5e-4)
    assert (config.loss.smoothing, config.loss.smoothing_clip) == (0.15, 4.0)
    assert (config.decode.transcript, config.decode.durations) == ("frames", "none")


def plain_links(layer, x, learned, centre, length):
    """The links of one graph after their softmax, by pairs of frames."""
    d = layer.dilation
    there = [one for one in (centre - d, centre, centre + d) if 0 <= one < length]
    scores = {}
    for receiver in there:
        for giver in there:
            entry = 3 * ((receiver - centre) // d + 1) + (giver - centre) // d + 1
            if learned:
                score = layer.link_bias[entry]
                for tap, frame in enumerate((centre - d, centre, centre + d)):
                    if 0 <= frame < length:
                        score = score + x[frame] @ layer.link_weight[tap, :, entry]
            else:
                score = x[receiver] @ x[giver] / x[receiver].norm() / x[giver].norm()
            scores[receiver, giver] = score.exp()
    total = sum(scores.values())
    return {pair: score / total for pair, score in scores.items()}


@pytest.mark.parametrize("dilation", [1, 3, 8])
def test_a_graph_layer_is_its_formula_frame_by_frame(dilation):
    torch.manual_seed(1)
    layer = GraphLayer(3, dilation, 0.5).eval()
    lengths = (9, 5)
    mask = torch.arange(9) < torch.tensor(lengths)[:, None]
    batch = torch.randn(2, 9, 3) * mask[..., None]
    found = layer(batch, mask, missing_pairs(mask, 9, dilation, batch))
    for x, y, length in zip(batch, found, lengths, strict=True):
        hidden = torch.zeros(9, 3)
        for kind, learned in enumerate((False, True)):
            received = torch.zeros(9, 3)
            for centre in range(length):
                links = plain_links(layer, x, learned, centre, length)
                for (receiver, giver), link in links.items():
                    received[receiver] += link * x[giver]
            hidden += (received @ layer.weight[kind] + layer.bias[kind]).relu()
        expected = (x + layer.mix(hidden))[:length]
        torch.testing.assert_close(y[:length], expected, atol=1e-5, rtol=1e-5)
        assert not y[length:].any()


def test_a_fifth_of_the_frames_swap_in_pairs_and_padding_stays():
    torch.manual_seed(0)
    lengths = (100, 37, 9)
    places = swapped_places(lengths, 100)
    frames = torch.arange(100)
    for row, length in zip(places, lengths, strict=True):
        assert torch.equal(row[row], frames)
        assert int((row != frames).sum()) == 2 * int(length / 10)
        assert torch.equal(row[length:], frames[length:])
    assert not torch.equal(swapped_places([100], 100), places[:1])


def test_the_swapped_half_is_the_network_on_swapped_features():
    model = small().train()
    features, mask, _ = padded_batch(40, 23)
    encoded = model.encode(features, mask)
    assert isinstance(encoded, SwappedEncoded)
    assert encoded.is_swapped.sum(1).tolist() == [8, 4]
    plain = model.eval().encode(features, mask)
    for one, other in zip(encoded.stages, plain.stages, strict=True):
        torch.testing.assert_close(one.logits[mask], other.logits[mask], atol=1e-5, rtol=1e-5)
    # the same draw again
    torch.manual_seed(3)
    again = model.train().encode(features, mask)
    torch.manual_seed(3)
    places = swapped_places([40, 23], 40)
    swapped = features.take_along_dim(places[..., None], 1)
    expected = model.eval().encode(swapped, mask)
    for logits, stage in zip(again.swapped_logits, expected.stages, strict=True):
        torch.testing.assert_close(logits[mask], stage.logits[mask], atol=1e-5, rtol=1e-5)
    for odds, detect, stage in zip(
        again.swapped_odds, model.detectors, expected.stages, strict=True
    ):
        torch.testing.assert_close(
            odds[mask], detect(stage.features)[..., 0][mask], atol=1e-5, rtol=1e-5
        )


def test_losses_of_swapped_frames_are_plain_sums():
    model = small().train()
    features, mask, targets = padded_batch(30, 12)
    encoded = model.encode(features, mask)
    found = own_terms(model, encoded, features, mask, targets)
    detection = correction = 0.0
    for odds, logits in zip(encoded.swapped_odds, encoded.swapped_logits, strict=True):
        for video, length in enumerate((30, 12)):
            missed, wrong = [], []
            for frame in range(length):
                p = 1 / (1 + math.exp(-odds[video, frame].item()))
                missed.append(-math.log(p if encoded.is_swapped[video, frame] else 1 - p))
                if (video, frame) != (0, 29):  # the frame that is not certain
                    label = targets.labels[video, frame]  # of the place
                    wrong.append(-logits[video, frame].log_softmax(0)[label].item())
            detection += 2.0 * sum(missed) / len(missed) / 2
            correction += 0.5 * sum(wrong) / len(wrong) / 2
    expected = {"swap_detection": detection, "swap_correction": correction}
    assert {name: one.item() for name, one in found.items()} == pytest.approx(expected, rel=1e-4)


def test_every_weight_learns_and_padding_does_not_count():
    model = small(n_layers=3).train()
    gradients = []
    for filler in (0.0, 50.0):
        torch.manual_seed(5)
        model.zero_grad()
        features, mask, targets = padded_batch(40, 14)
        features[~mask] = filler
        encoded = model.encode(features, mask)
        losses = framewise_losses(encoded, targets, LossConfig(smoothing=0.15), features=features)
        own = own_terms(model, encoded, features, mask, targets)
        (losses.total + sum(own.values())).backward()
        gradients.append({name: one.grad.clone() for name, one in model.named_parameters()})
    for name, value in gradients[0].items():
        assert value.any(), name
        torch.testing.assert_close(value, gradients[1][name], msg=name)


def test_videos_too_short_to_swap_train():
    model = small().train()
    features, mask, targets = padded_batch(3, 1)
    encoded = model.encode(features, mask)
    assert not encoded.is_swapped.any()
    assert all(
        one.isfinite() for one in own_terms(model, encoded, features, mask, targets).values()
    )
