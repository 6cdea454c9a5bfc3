"""The whole network: sizes, padding, and the corners of its domain."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uvast.errors import InputError
from uvast.models import Encoded, Uvast, UvastDimensions

EVERY_ENCODER = [
    {"encoder": "uvast", "window": "neighbourhood"},
    {"encoder": "uvast", "window": "band"},
    {"encoder": "asformer", "window": "neighbourhood"},
    {"encoder": "asformer", "window": "band"},
    {"encoder": "plain"},
]


def encoder_name(changes):
    return "-".join(changes.values())


def random_video(model, n_frames, n_segments, seed=0):
    """Features `(1, T, F)` and the decoder's input `(1, S + 1)`."""
    generator = torch.Generator().manual_seed(seed)
    n_classes = model.dimensions.n_classes
    actions = torch.randint(n_classes, (1, n_segments), generator=generator)
    tokens = torch.cat((torch.tensor([[n_classes + 1]]), actions), 1)
    features = torch.randn(1, n_frames, model.dimensions.n_features, generator=generator)
    return features, tokens


def run(model, features, mask, tokens, segment_mask):
    """Everything the model says."""
    encoded = model.encode(features, mask)
    decoded = model.decode(encoded, mask, tokens, need_weights=True)
    scores = model.align(encoded.features, mask, decoded.features[:, :-1], segment_mask)
    return encoded, decoded, scores


def pad(rows, value):
    """Rows `(1, n, …)` of any length to one batch."""
    longest = max(row.shape[1] for row in rows)
    padded = [
        torch.cat((row, row.new_full((1, longest - row.shape[1], *row.shape[2:]), value)), 1)
        for row in rows
    ]
    return torch.cat(padded)


def count_mask(counts):
    return torch.arange(max(counts)) < torch.tensor(counts)[:, None]


def assert_same_in_a_batch(model, sizes, garbage=123.0):
    """Runs videos of `sizes` (frames, segments) alone and in a padded batch full of garbage."""
    dtype = next(model.parameters()).dtype
    videos = [
        (features.to(dtype), tokens)
        for features, tokens in (
            random_video(model, *size, seed=index) for index, size in enumerate(sizes)
        )
    ]
    mask, segment_mask = (count_mask(counts) for counts in zip(*sizes, strict=True))
    batch = run(
        model,
        pad([features for features, _ in videos], garbage),
        mask,
        pad([tokens for _, tokens in videos], 2),
        segment_mask,
    )
    for row, ((features, tokens), (n_frames, n_segments)) in enumerate(
        zip(videos, sizes, strict=True)
    ):
        alone = run(model, features, None, tokens, None)
        length = n_segments + 1
        pairs = {
            "frame features": (batch[0].features[row, :n_frames], alone[0].features[0]),
            "frame logits": (batch[0].logits[row, :n_frames], alone[0].logits[0]),
            "logits": (batch[1].logits[:, row, :length], alone[1].logits[:, 0]),
            "features": (batch[1].features[row, :length], alone[1].features[0]),
            "attention": (
                batch[1].cross_attention[:, row, :length, :n_frames],
                alone[1].cross_attention[:, 0],
            ),
            "durations": (batch[1].fractions[:, row, :length], alone[1].fractions[:, 0]),
            "alignment": (batch[2][row, :n_frames, :n_segments], alone[2][0]),
        }
        for name, (together, apart) in pairs.items():
            error = (together - apart).abs().max() / apart.abs().max().clamp(min=1)
            assert error <= 1e-5, f"{name} of video {row} are off by {error:.1e}"
        assert batch[0].features[row, n_frames:].abs().sum() == 0
        assert batch[1].cross_attention[:, row, :, n_frames:].abs().sum() == 0


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("changes", EVERY_ENCODER, ids=encoder_name)
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 150), st.integers(1, 9)), min_size=2, max_size=3),
    n_heads=st.sampled_from([1, 2]),
    smoothing=st.sampled_from([None, 5]),
)
def test_a_video_is_the_same_alone_and_in_a_batch(
    small_model, changes, training, sizes, n_heads, smoothing
):
    # In float64: norms of very short videos magnify rounding errors, whoever makes them.
    model = small_model(n_heads=n_heads, attention_smoothing=smoothing, **changes).double()
    model.train(training)
    with torch.no_grad():
        assert_same_in_a_batch(model, sizes)


@pytest.mark.parametrize("training", [False, True])
def test_padding_at_the_published_size_in_float32(training):
    torch.manual_seed(0)
    rates = dict.fromkeys(("channel", "encoder", "decoder", "input", "output"), 0.0)
    rates = {f"{name}_dropout": rate for name, rate in rates.items()}
    model = Uvast(UvastDimensions(64, 19, explicit_durations=True, attention_smoothing=31, **rates))
    model.add_alignment()
    model.train(training)
    with torch.no_grad():
        assert_same_in_a_batch(model, [(700, 12), (1300, 30)])


@pytest.mark.parametrize("changes", EVERY_ENCODER, ids=encoder_name)
def test_gradients_are_the_same_alone_and_in_a_batch(small_model, changes):
    model = small_model(attention_smoothing=3, **changes).double()
    sizes = [(90, 4), (33, 2)]
    videos = [
        (features.double(), tokens)
        for features, tokens in (
            random_video(model, *size, seed=seed) for seed, size in enumerate(sizes)
        )
    ]

    def loss(encoded, decoded, scores, mask, segment_mask):
        token_mask = torch.cat((segment_mask[:, :1], segment_mask), 1)
        return (
            encoded.logits[mask].square().sum()
            + decoded.logits[:, token_mask].square().sum()
            + decoded.fractions[:, token_mask].sum()
            + scores[mask.unsqueeze(2) & segment_mask.unsqueeze(1)].square().sum()
        )

    def gradients(total):
        return torch.autograd.grad(total, list(model.parameters()))

    mask, segment_mask = (count_mask(counts) for counts in zip(*sizes, strict=True))
    features, tokens = (pad(parts, 1) for parts in zip(*videos, strict=True))
    together = gradients(
        loss(*run(model, features, mask, tokens, segment_mask), mask, segment_mask)
    )
    apart = gradients(
        sum(
            loss(*run(model, *video_inputs), *map(count_mask, ([size[0]], [size[1]])))
            for video_inputs, size in (
                ((features, None, tokens, None), size)
                for (features, tokens), size in zip(videos, sizes, strict=True)
            )
        )
    )
    for (name, _), one, other in zip(model.named_parameters(), together, apart, strict=True):
        torch.testing.assert_close(one, other, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("changes", EVERY_ENCODER, ids=encoder_name)
def test_a_video_of_one_frame(small_model, changes, training):
    model = small_model(
        **changes, attention_smoothing=31, channel_dropout=0.3, encoder_dropout=0.5
    ).train(training)
    encoded, decoded, scores = run(model, *_inputs(model, 1, 1))
    assert encoded.logits.shape == (1, 1, 5)
    assert scores.shape == (1, 1, 1)
    torch.testing.assert_close(decoded.cross_attention, torch.ones(2, 1, 2, 1))
    total = encoded.logits.sum() + decoded.logits.sum() + scores.sum()
    total.backward()
    for parameter in model.parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all()


def test_a_video_of_many_segments(small_model):
    model = small_model()
    encoded, decoded, scores = run(model, *_inputs(model, 400, 150))
    assert decoded.logits.shape == (2, 1, 151, 6)
    assert scores.shape == (1, 400, 150)
    assert all(part.isfinite().all() for part in (encoded.logits, decoded.logits, scores))


def _inputs(model, n_frames, n_segments):
    features, tokens = random_video(model, n_frames, n_segments)
    return features, None, tokens, None


@pytest.mark.parametrize(("n_classes", "stage1"), [(48, 1.109), (19, 1.103), (11, 1.102)], ids=str)
def test_parameter_counts_of_the_paper(n_classes, stage1):
    """Table of the supplement: Breakfast, 50Salads, GTEA on I3D features."""
    model = Uvast(UvastDimensions(2048, n_classes))
    assert round(n_weights(model) / 1e6, 3) == stage1
    assert round(n_weights(model.add_alignment()) / 1e6, 3) == 0.166


def n_weights(module):
    return sum(each.numel() for each in module.parameters())


def test_alignment_is_added_once_and_needed(small_model):
    model = Uvast(small_model().dimensions).double()
    encoded = Encoded(torch.zeros(1, 3, 16).double(), torch.zeros(1, 3, 5))
    with pytest.raises(InputError, match="no alignment decoder"):
        model.align(encoded.features, None, encoded.features, None)
    decoder = model.add_alignment()
    assert model.add_alignment() is decoder
    assert model.align(encoded.features, None, encoded.features, None).dtype == torch.float64


@pytest.mark.parametrize("shape", [(4, 7), (1, 4, 8)])
def test_features_of_a_wrong_shape_are_refused(small_model, shape):
    with pytest.raises(InputError, match=r"features of shape .*takes \(B, T, 7\)"):
        small_model().encode(torch.zeros(shape), None)


@pytest.mark.parametrize("changes", EVERY_ENCODER, ids=encoder_name)
def test_dropout_acts_in_training_only(small_model, changes):
    rates = dict.fromkeys(("channel_dropout", "encoder_dropout", "decoder_dropout"), 0.4)
    model = small_model(**changes, **rates)
    features, _ = random_video(model, 30, 3)
    assert not torch.equal(model.encode(features, None).logits, model.encode(features, None).logits)
    model.eval()
    assert torch.equal(model.encode(features, None).logits, model.encode(features, None).logits)


@pytest.mark.parametrize("changes", EVERY_ENCODER[:4], ids=encoder_name)
def test_the_encoder_sees_as_far_as_its_windows(small_model, changes):
    """A change of one frame of a long video reaches other frames, through convolution and norm."""
    model = small_model(**changes).eval()
    features, _ = random_video(model, 200, 3)
    changed = features.clone()
    changed[:, 100] += 1
    moved = (model.encode(changed, None).logits - model.encode(features, None).logits).abs().sum(2)
    assert moved[0, 100] > 1e-3
    assert moved[0, 40] > 0


@pytest.mark.parametrize("changes", EVERY_ENCODER, ids=encoder_name)
def test_training_after_inference(small_model, changes):
    """What inference mode leaves in caches may be used with gradients."""
    model = small_model(**changes)
    features, _ = random_video(model, 77, 3)
    with torch.inference_mode():
        expected = model.encode(features, None).logits
    logits = model.encode(features, None).logits
    torch.testing.assert_close(logits, expected.clone())
    logits.sum().backward()
