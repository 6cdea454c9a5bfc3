"""The frame-wise baselines: sizes and settings as published, stages that refine.

What holds of every kind of model is in tests/training/test_every_kind.py.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from uvast.config import ModelConfig, load_config
from uvast.errors import ConfigError
from uvast.models.asformer import AsformerDimensions, asformer
from uvast.models.build import BUILDERS, build_model
from uvast.models.convolution import DilatedConvolution
from uvast.models.ms_tcn import DilatedResidualLayer, MsTcnDimensions, ms_tcn
from uvast.models.ms_tcn_plus_plus import (
    DualDilatedLayer,
    MsTcnPlusPlusDimensions,
    ms_tcn_plus_plus,
)
from uvast.models.protocols import gives_boundaries

KINDS = ("ms-tcn", "ms-tcn++", "asformer", "asrf")
N_CLASSES = {"gtea": 11, "50salads": 19, "breakfast": 48}
MILLIONS = {"ms-tcn": 0.80, "ms-tcn++": 0.99, "asformer": 1.13, "asrf": 1.29}
N_LAYERS = {"ms-tcn": 40, "ms-tcn++": 41, "asformer": 40, "asrf": 70}


def small_model(kind, **changes):
    torch.manual_seed(0)
    sizes = {"width": 8, "attention_width": 4, "n_encoder_layers": 6, "n_stages": 3}
    config = ModelConfig(kind=kind, **{**sizes, **changes})
    return build_model(config, n_features=5, n_classes=4).eval()


def stages(model, features, mask):
    """Class logits and, where there are any, boundaries of every stage."""
    found = model.encode(features, mask).stages
    logits = [one.logits for one in found]
    starts = [one.boundaries[..., None] for one in found if one.boundaries is not None]
    return (*starts, *logits)


def n_parameters_by_hand(kind, n_classes):
    """Weights and biases, counted from the papers' descriptions at F 2048, D 64."""
    linear = {(i, o): i * o + o for i, o in ((2048, 64), (64, 64), (128, 64), (64, 32), (32, 64))}
    convolution = 3 * 64 * 64 + 64
    residual = convolution + linear[64, 64]
    ends = (64 * n_classes + n_classes) * 4 + (n_classes * 64 + 64) * 3 + linear[2048, 64]
    if kind == "ms-tcn":
        return ends + 40 * residual
    if kind == "asrf":  # a trunk, three stages of either branch, and the boundaries' ends
        return ends + 70 * residual + (64 + 1) * 4 + (64 + 64) * 3
    if kind == "ms-tcn++":
        return ends + 11 * (2 * convolution + linear[128, 64]) + 30 * residual
    return ends + 40 * (residual + 3 * linear[64, 32] + linear[32, 64])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dataset", N_CLASSES)
def test_presets_have_the_published_number_of_parameters(kind, dataset):
    n_classes = N_CLASSES[dataset]
    model = build_model(load_config(preset=kind).model, n_features=2048, n_classes=n_classes)
    found = sum(parameter.numel() for parameter in model.parameters())
    assert found == n_parameters_by_hand(kind, n_classes)
    # Published counts are rounded to 0.01 M, and for one number of classes: ours are within 2 % of
    # what rounds to them. (MS-TCN++ has 1.011 M with 48 classes, 2.1 % above 0.99 M sharp.)
    least, most = MILLIONS[kind] - 0.005, MILLIONS[kind] + 0.005
    assert 0.98 * least <= found / 1e6 <= 1.02 * most


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_alone_has_the_published_size(kind):
    preset = load_config(preset=kind).model
    sizes = [
        sum(p.numel() for p in build_model(one, n_features=9, n_classes=3).parameters())
        for one in (preset, ModelConfig(kind=kind))
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("kind", KINDS)
def test_presets_hold_the_published_settings(kind):
    config = load_config(preset=kind)
    epochs = {"ms-tcn": 50, "ms-tcn++": 100, "asformer": 120, "asrf": 50}
    decays = {"ms-tcn": 0.0, "ms-tcn++": 0.0, "asformer": 1e-5, "asrf": 1e-4}
    assert config.model.kind == kind
    assert (config.train.epochs, config.train.learning_rate) == (epochs[kind], 5e-4)
    assert config.train.weight_decay == decays[kind]
    assert config.train.batch_size == 1
    smoothing = 1.0 if kind == "asrf" else 0.15
    assert (config.loss.smoothing, config.loss.smoothing_clip) == (smoothing, 4.0)
    assert config.model.channel_dropout == (0.3 if kind == "asformer" else 0.0)
    transcript = "boundaries" if kind == "asrf" else "frames"
    assert (config.decode.transcript, config.decode.durations) == (transcript, "none")


@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_has_outputs_of_its_own(kind):
    model = small_model(kind)
    encoded = model.encode(torch.randn(2, 20, 5), torch.ones(2, 20, dtype=torch.bool))
    assert [one.logits.shape for one in encoded.stages] == [(2, 20, 4)] * 3
    assert encoded.stages[-1] is encoded
    assert not any(one.earlier for one in encoded.earlier)
    assert encoded.features.shape == (2, 20, 8)
    first, second, _ = encoded.stages
    assert not torch.allclose(first.logits, second.logits)
    assert gives_boundaries(model) == (kind == "asrf")
    if kind == "asrf":
        assert [one.boundaries.shape for one in encoded.stages] == [(2, 20)] * 3
        assert not torch.allclose(first.boundaries, second.boundaries)
    else:
        assert all(one.boundaries is None for one in encoded.stages)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_dimensions_are_refused(kind):
    dimensions = BUILDERS[kind].dimensions
    for wrong in ({"width": 0}, {"n_stages": 0}, {"dropout": 1.0}, {"channel_dropout": -0.1}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            dimensions(n_features=5, n_classes=4, **wrong)


def test_an_unknown_window_is_refused():
    with pytest.raises(ConfigError, match="choose from neighbourhood, band"):
        AsformerDimensions(n_features=5, n_classes=4, window="wide")


def test_dilations_double_and_the_dual_layers_cross():
    plain = ms_tcn(MsTcnDimensions(5, 4, width=8))
    layers = [m for m in plain.modules() if isinstance(m, DilatedResidualLayer)]
    assert [one.convolution.dilation for one in layers] == [2**i for i in range(10)] * 4
    plus = ms_tcn_plus_plus(MsTcnPlusPlusDimensions(5, 4, width=8))
    dual = [m for m in plus.modules() if isinstance(m, DualDilatedLayer)]
    pairs = [tuple(c.dilation for c in one.convolutions) for one in dual]
    assert pairs == [(2 ** (10 - i), 2**i) for i in range(11)]


def by_conv1d(convolution, x):
    kernel = convolution.weight.permute(2, 1, 0)  # (D', D, 3)
    dilation = convolution.dilation
    y = functional.conv1d(
        x.transpose(1, 2), kernel, convolution.bias, padding=dilation, dilation=dilation
    )
    return y.transpose(1, 2)


def test_a_residual_layer_is_its_formula():
    layer = DilatedResidualLayer(3, 2, 0.5).eval()
    x = torch.randn(1, 7, 3)
    expected = x + layer.mix(by_conv1d(layer.convolution, x).relu())
    torch.testing.assert_close(layer(x, None), expected)


def test_a_dual_dilated_layer_is_its_formula():
    layer = DualDilatedLayer(3, (4, 1), 0.5).eval()
    x = torch.randn(1, 9, 3)
    far, near = (by_conv1d(one, x) for one in layer.convolutions)
    torch.testing.assert_close(layer(x, None), x + layer.fuse(torch.cat((far, near), -1)).relu())


def test_refinement_sees_probabilities_only():
    model = small_model("ms-tcn")
    features = torch.randn(1, 20, 5)
    before = stages(model, features, None)
    # A softmax does not see a shift of all logits, so no later stage may.
    with torch.no_grad():
        model.prediction.classify.bias += 3.0
    after = stages(model, features, None)
    assert not torch.allclose(before[0], after[0])
    torch.testing.assert_close(before[1:], after[1:], atol=1e-5, rtol=1e-5)


def test_the_branches_of_asrf_do_not_see_each_other():
    model = small_model("asrf")
    features = torch.randn(1, 20, 5)
    before = model.encode(features, None)
    with torch.no_grad():
        model.boundary.bias += 3.0
    after = model.encode(features, None)
    for one, other in zip(before.stages, after.stages, strict=True):
        torch.testing.assert_close(one.logits, other.logits)
        assert not torch.allclose(one.boundaries, other.boundaries)
    with torch.no_grad():
        model.trunk.classify.bias[0] += 3.0
    last = model.encode(features, None)
    torch.testing.assert_close(last.boundaries, after.boundaries)
    assert not torch.allclose(last.logits, after.logits)


def test_asformer_decoders_look_at_the_features_before_them_ever_less():
    model = asformer(AsformerDimensions(5, 4, width=8, attention_width=4, n_layers=3)).eval()
    assert [decoder.blocks[0].weight for decoder in model.refinements] == [
        math.exp(-3 * index) for index in range(3)
    ]
    features = torch.randn(1, 25, 5)
    encoded = model.encode(features, None)
    changed = type(encoded)(encoded.features + torch.randn(1, 25, 8), encoded.logits)
    shifts = [
        (decoder(changed, None).logits - decoder(encoded, None).logits).abs().mean().item()
        for decoder in model.refinements
    ]
    assert shifts[0] > 5 * shifts[1] > 25 * shifts[2] > 0


def test_asformer_block_with_attention_over_all_frames_is_its_formula():
    model = asformer(AsformerDimensions(5, 4, width=8, attention_width=4, n_layers=5)).eval()
    block = model.refinements[1].blocks[4]  # window 16 >= T
    x, memory = torch.randn(1, 11, 8), torch.randn(1, 11, 8)
    hidden = block.convolution(x).relu()
    mean, variance = hidden.mean(1, keepdim=True), hidden.var(1, keepdim=True, unbiased=False)
    normal = (hidden - mean) / (variance + 1e-5).sqrt()
    queries, keys = block.attention.project_own(normal).chunk(2, -1)
    scores = (queries @ keys.transpose(1, 2) / 2).softmax(-1)
    attended = block.attention.restore((scores @ block.attention.project_memory(memory)).relu())
    expected = x + block.mix(hidden + math.exp(-3) * attended)
    torch.testing.assert_close(block(x, memory, None), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_layers(kind):
    model = build_model(ModelConfig(kind=kind), n_features=3, n_classes=2)
    n_convolutions = sum(isinstance(one, DilatedConvolution) for one in model.modules())
    assert n_convolutions == N_LAYERS[kind] + (11 if kind == "ms-tcn++" else 0)
