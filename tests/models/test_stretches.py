"""Long videos in stretches: the same results as at once, and nothing that grows faster than T D."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from uvast.models import Uvast, attention, encoder, stretches, window_attention
from uvast.models.asformer import AsformerDimensions, asformer
from uvast.models.c2f_tcn import C2fTcn, C2fTcnDimensions
from uvast.models.ms_tcn import MsTcnDimensions, ms_tcn
from uvast.models.stretches import stretches as cut

STRETCH = 64
N_FRAMES = 5 * STRETCH + 17


@pytest.fixture
def short_stretches(monkeypatch):
    """Everything is cut far more often than in earnest."""

    def shorten(stretch=STRETCH, most_scores=2**13):
        for module in (stretches, encoder):
            monkeypatch.setattr(module, "STRETCH", stretch)
        monkeypatch.setattr(window_attention, "MOST_SCORES", most_scores)

    return shorten


class LargestTensor(TorchDispatchMode):
    """Notes the most elements that any new tensor has."""

    def __init__(self):
        super().__init__()
        self.n_elements = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        found = operator(*args, **(kwargs or {}))
        for one in tree_leaves(found):
            if isinstance(one, torch.Tensor) and one._base is None:
                self.n_elements = max(self.n_elements, one.numel())
        return found


@pytest.mark.parametrize(("n_frames", "tile", "halo"), [(1, 1, 0), (300, 64, 2), (300, 128, 64)])
def test_stretches_tile_the_video_and_see_their_surroundings(n_frames, tile, halo, short_stretches):
    short_stretches()
    frames = list(range(n_frames))
    parts = list(cut(n_frames, tile=tile, halo=halo))
    assert [frame for part in parts for frame in frames[part.own]] == frames
    for part in parts:
        seen = frames[part.seen]
        assert seen[part.inner] == frames[part.own]
        assert part.own.start % tile == part.seen.start % tile == 0
        assert seen[0] <= max(0, part.own.start - halo)
        assert seen[-1] >= min(n_frames, part.own.stop + halo) - 1


@pytest.mark.parametrize("kind", ["neighbourhood", "band"])
@pytest.mark.parametrize("name", ["uvast", "asformer"])
@pytest.mark.parametrize("lengths", [[N_FRAMES], [N_FRAMES, N_FRAMES - 90]])
def test_an_encoder_gives_the_same_in_stretches(kind, name, lengths, small_model, short_stretches):
    model = small_model(encoder=name, window=kind, n_encoder_layers=9).double().eval()
    features = torch.randn(len(lengths), N_FRAMES, 7, dtype=torch.float64)
    mask = torch.arange(N_FRAMES) < torch.tensor(lengths)[:, None]
    with torch.inference_mode():
        whole = model.encode(features, mask)
        short_stretches()
        parts = model.encode(features, mask)
    torch.testing.assert_close(parts.features, whole.features)
    torch.testing.assert_close(parts.logits, whole.logits)


def test_window_attention_has_the_same_gradients_in_more_products(short_stretches):
    inputs = torch.randn(2, 700, 3, 4, dtype=torch.float64).requires_grad_()
    slope = torch.randn(2, 700, 4, dtype=torch.float64)

    def result():
        out = window_attention.window_attention(*inputs.unbind(2), 32, "neighbourhood")
        return out, *torch.autograd.grad((out * slope).sum(), inputs)

    whole = result()
    short_stretches()
    for found, expected in zip(result(), whole, strict=True):
        torch.testing.assert_close(found, expected)


def test_no_tensor_of_a_long_video_is_larger_than_its_frames(small_model, short_stretches):
    short_stretches(stretch=512, most_scores=2**15)
    model = small_model(n_encoder_layers=9).eval()
    n_frames = 2**13
    with torch.inference_mode(), LargestTensor() as largest:
        model.encode(torch.randn(1, n_frames, 7), None)
    assert largest.n_elements == n_frames * model.dimensions.width


def test_no_tensor_of_a_long_transcript_is_as_large_as_its_weights(small_model, monkeypatch):
    model = small_model().eval()
    n_frames, n_tokens = 2**11, 60
    tokens = torch.arange(n_tokens)[None] % 5
    with torch.inference_mode():
        encoded = model.encode(torch.randn(1, n_frames, 7), None)
        whole = model.decode(encoded, None, tokens)
        monkeypatch.setattr(attention, "MOST_WEIGHTS", (n_tokens - 1) * n_frames)
        with LargestTensor() as largest:
            parts = model.decode(encoded, None, tokens)
        weights = model.decode(encoded, None, tokens, need_weights=True).cross_attention
    torch.testing.assert_close(parts.logits, whole.logits)
    torch.testing.assert_close(parts.features, whole.features)
    assert largest.n_elements <= n_frames * model.dimensions.width < n_frames * n_tokens
    assert weights is not None


@pytest.mark.parametrize("n_frames", [1, STRETCH, N_FRAMES])
@pytest.mark.parametrize("kind", [Uvast, asformer, ms_tcn])
def test_features_are_scaled_and_embedded_in_stretches(
    kind, n_frames, small_model, short_stretches
):
    if kind is Uvast:
        model = small_model(n_refinement_stages=1, boundary_output=True)
    else:
        sizes = AsformerDimensions if kind is asformer else MsTcnDimensions
        model = kind(sizes(n_features=7, n_classes=5, width=8, n_layers=4, n_stages=2))
    model = model.double().eval()
    features = torch.randn(1, n_frames, 7, dtype=torch.float64)
    mask = torch.ones((1, n_frames), dtype=torch.bool)
    asked = []

    def scaled(rows):
        asked.append(len(range(n_frames)[rows]))
        return 2 * features[:, rows]

    with torch.inference_mode():
        whole = model.encode(2 * features, mask)
        short_stretches()
        parts = stretches.encode_scaled(model, n_frames, mask, scaled)
    torch.testing.assert_close(parts.features, whole.features)
    torch.testing.assert_close(parts.logits, whole.logits)
    assert (parts.boundaries is None) == (whole.boundaries is None)
    assert len(parts.earlier) == len(whole.earlier)
    assert sum(asked) == n_frames
    assert max(asked) <= STRETCH


def test_a_model_without_an_input_layer_sees_all_features_at_once(short_stretches):
    short_stretches()
    model = C2fTcn(C2fTcnDimensions(n_features=7, n_classes=5)).eval()
    features = torch.randn(1, N_FRAMES, 7)
    with torch.inference_mode():
        found = stretches.encode_scaled(model, N_FRAMES, None, lambda rows: features[:, rows])
        expected = model.encode(features, None)
    torch.testing.assert_close(found.logits, expected.logits)
