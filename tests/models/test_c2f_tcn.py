"""C2F-TCN: its size, its answer, chunks in training and at test, batch norm's statistics."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from uvast.config import load_config
from uvast.errors import ConfigError
from uvast.models.build import build_model
from uvast.models.c2f_tcn import C2fTcn, C2fTcnDimensions, drawn_chunks
from uvast.models.normalisation import BatchNorm
from uvast.models.resampling import Rate
from uvast.training.losses import smoothing_loss


def small_model(**changes):
    torch.manual_seed(0)
    sizes = {"n_features": 5, "n_classes": 4, "width": 4, "chunk": 2, "test_chunk_least": 2}
    model = C2fTcn(C2fTcnDimensions(**{**sizes, "test_chunk_most": 3, **changes}))
    for norm in model.modules():  # as after some training
        if isinstance(norm, BatchNorm):
            torch.nn.init.normal_(norm.running_mean, std=0.1)
            torch.nn.init.uniform_(norm.running_var, 0.05, 0.2)
    return model.eval()


def n_parameters(n_in, n_out):
    """Of a block: two convolutions of kernel 5, and shift and scale of two batch norms."""
    return 5 * n_in * n_out + n_out + 5 * n_out * n_out + n_out + 4 * n_out


@pytest.mark.parametrize(("n_classes", "millions"), [(11, 6.74), (19, 6.74), (48, 6.76)])
def test_the_preset_has_the_published_size(n_classes, millions):
    config = load_config(preset="c2f-tcn").model
    model = build_model(config, n_features=2048, n_classes=n_classes)
    found = {
        name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()
    }
    widths = (2048, 256, 256, 256, 128, 128, 128, 128)
    joined = (128 + 4 + 128, 128 + 128, 128 + 128, 128 + 256, 128 + 256, 128 + 256)
    assert found == {
        "down": sum(map(n_parameters, widths, widths[1:])),  # 5.00 M
        "pyramid": 128 + 1,
        "up": sum(n_parameters(n_in, 128) for n_in in joined),  # 1.73 M
        "classifiers": 4 * (128 * n_classes + n_classes),
    }
    assert sum(found.values()) / 1e6 == pytest.approx(millions, abs=0.005)


def test_the_preset_holds_the_published_settings():
    config = load_config(preset="c2f-tcn")
    train = config.train
    assert (train.learning_rate, train.weight_decay) == (5e-4, 3e-4)
    assert (train.epochs, train.batch_size) == (500, 11)
    model = config.model
    assert (model.chunk, model.test_chunk_least, model.test_chunk_most) == (4, 3, 5)


def test_its_smoothing_is_the_published_one_from_chunk_to_chunk():
    config = load_config(preset="c2f-tcn")
    n_chunks, chunk = 300, config.model.chunk
    chunks = 3 * torch.randn(1, n_chunks, 11)
    frames = chunks.repeat_interleave(chunk, 1)
    all_valid = torch.ones(1, chunk * n_chunks, dtype=torch.bool)
    published = 0.15 * smoothing_loss(chunks, all_valid[:, :n_chunks])
    ours = config.loss.smoothing * smoothing_loss(frames, all_valid)
    assert ours.item() == pytest.approx(published.item(), rel=0.01)


def test_the_answer_is_the_mean_probability_of_the_four_finest_resolutions():
    model = small_model()
    chunks, said = torch.randn(1, 77, 5), {}
    for level, classify in enumerate(model.classifiers):
        classify.register_forward_hook(lambda _m, _x, y, level=level: said.update({level: y}))
    _, answer = model._answer(chunks, Rate.of([77], torch.device("cpu")))
    assert [said[level].shape[1] for level in range(4)] == [77, 39, 20, 10]
    total = torch.zeros(1, 77, 4)
    for level, logits in said.items():
        fine = functional.interpolate(
            logits.transpose(1, 2), scale_factor=2**level, mode="linear"
        ).transpose(1, 2)
        total += fine[:, :77].softmax(-1)
    torch.testing.assert_close(answer.exp(), total / 4)


def test_six_pools_and_six_joined_up_steps():
    model = small_model()
    seen = []
    for block in (*model.down, *model.up):
        block.register_forward_hook(lambda _m, x, y: seen.append((*x[0].shape[1:], y.shape[2])))
    model._answer(torch.randn(1, 100, 5), Rate.of([100], torch.device("cpu")))
    down, up = seen[:7], seen[7:]
    assert down == [
        (100, 5, 8),
        (50, 8, 8),
        (25, 8, 8),
        (13, 8, 4),
        (7, 4, 4),
        (4, 4, 4),
        (2, 4, 4),
    ]
    assert up == [(4, 12, 4), (7, 8, 4), (13, 8, 4), (25, 12, 4), (50, 12, 4), (100, 12, 4)]


def test_the_coarsest_frames_get_their_maxima_beside_them():
    model = small_model()
    x = torch.rand(1, 6, 4)
    found = model.pyramid(x, Rate.of([6], torch.device("cpu")))
    torch.testing.assert_close(found[..., :4], x)
    for channel, factor in enumerate((2, 3, 5, 6), 4):
        maxima = torch.stack([part.amax(0) for part in x[0].split(factor)])[None]
        squeezed = model.pyramid.squeeze(maxima).transpose(1, 2)
        expected = functional.interpolate(squeezed, scale_factor=factor, mode="linear")[0, 0, :6]
        torch.testing.assert_close(found[0, :, channel], expected)


@torch.no_grad()
def test_at_test_the_probabilities_of_several_chunk_sizes_are_averaged():
    model = small_model(test_chunk_least=3, test_chunk_most=5)
    features = torch.randn(1, 50, 5)
    alone = []
    for size in (3, 4, 5):
        other = small_model(test_chunk_least=size, test_chunk_most=size)
        one = other.encode(features, None)
        per_chunk = one.logits[:, ::size]
        torch.testing.assert_close(one.logits, per_chunk.repeat_interleave(size, 1)[:, :50])
        alone.append(one)
    found = model.encode(features, None)
    mean = torch.stack([one.logits.exp() for one in alone]).mean(0)
    torch.testing.assert_close(found.logits.exp(), mean)
    torch.testing.assert_close(found.log_probabilities, found.logits)
    torch.testing.assert_close(found.features, torch.stack([x.features for x in alone]).mean(0))


def test_drawn_chunks_are_the_base_half_of_the_time_else_log_uniform():
    torch.manual_seed(0)
    drawn = torch.tensor(drawn_chunks(100, 4000), dtype=torch.float64)
    others = drawn[drawn != 100]
    assert len(others) == pytest.approx(2000, abs=150)
    assert (others.min(), others.max()) == (50, 200)
    powers = (others / 100).log2()  # uniform in -1 to 1
    assert powers.mean().item() == pytest.approx(0, abs=0.05)
    assert powers.std().item() == pytest.approx(1 / math.sqrt(3), rel=0.05)
    assert set(drawn_chunks(1, 200)) == {1, 2}


def test_training_draws_a_size_for_each_video():
    model = small_model(chunk=8).train()
    torch.manual_seed(3)
    sizes = drawn_chunks(8, 20)
    assert len(set(sizes)) > 2
    torch.manual_seed(3)
    logits = model.encode(torch.randn(20, 96, 5, generator=torch.Generator()), None).logits
    for size, video in zip(sizes, logits, strict=True):
        changes = (video[1:] != video[:-1]).any(1).nonzero().flatten() + 1
        assert changes.tolist() == list(range(size, 96, size))


@pytest.mark.parametrize("n_frames", [1, 2, 9])
@pytest.mark.parametrize("training", [True, False])
def test_a_video_shorter_than_the_deepest_pool_works(n_frames, training):
    model = small_model().train(training)
    encoded = model.encode(torch.randn(1, n_frames, 5), None)
    assert encoded.logits.shape == (1, n_frames, 4)
    assert torch.isfinite(encoded.logits).all()
    torch.testing.assert_close(encoded.logits.exp().sum(-1), torch.ones(1, n_frames))


def test_every_weight_learns_and_padding_takes_no_part_in_training():
    model = small_model()
    lengths = torch.tensor([300, 1, 170])
    mask = torch.arange(300) < lengths[:, None]
    features, labels = torch.randn(3, 300, 5), torch.randint(4, (3, 300))
    results = []
    for filler in (1e3, -7.0):
        model = small_model().train()
        torch.manual_seed(5)
        encoded = model.encode(features.masked_fill(~mask[..., None], filler), mask)
        functional.cross_entropy(encoded.logits[mask], labels[mask]).backward()
        gradients = {name: p.grad for name, p in model.named_parameters()}
        results.append({**gradients, **dict(model.named_buffers())})
        assert not encoded.features[~mask].any()
    torch.testing.assert_close(*results)
    assert all(value.any() for value in results[0].values())


def test_batches_teach_the_running_statistics():
    model = small_model().train()
    before = {name: value.clone() for name, value in model.named_buffers()}
    model.encode(torch.randn(2, 300, 5), None)
    assert len(before) == 2 * 2 * (7 + 6)
    assert all(not value.equal(before[name]) for name, value in model.named_buffers())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"test_chunk_least": 6}, "test_chunk_least is 6, above test_chunk_most, which is 5"),
        ({"chunk": 0}, "chunk is 0"),
        ({"width": 0}, "width is 0"),
    ],
)
def test_wrong_dimensions_are_refused(wrong, message):
    with pytest.raises(ConfigError, match=message):
        C2fTcnDimensions(n_features=5, n_classes=4, **wrong)
