"""Several models as one: means of posteriors, each member's own scaling, padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from uvast.data import Scaling, Video, collate
from uvast.models import encoder, stretches
from uvast.models.ensemble import (
    Ensemble,
    mean_probabilities,
    scalings_of,
    writers,
    writers_of,
)
from uvast.models.ms_tcn import MsTcnDimensions, ms_tcn


@pytest.fixture
def ensemble(small_model):
    """A model with a scaling, one of another width that levels, and a frame-wise one."""
    generator = np.random.default_rng(0)
    deviation = generator.uniform(0.5, 3, 7)
    deviation[2] = np.inf  # a constant channel
    frame_wise = ms_tcn(MsTcnDimensions(7, 5, width=8, n_layers=3, n_stages=2))
    members = [small_model(), small_model(width=8), frame_wise]
    found = Ensemble(members, [True, True, False], [False, True, False]).eval()
    found.set_scaling(0, Scaling(generator.standard_normal(7), deviation))
    found.set_scaling(1, Scaling(np.zeros(7), deviation, levels=True))
    return found


def features(*lengths: int) -> list[Video]:
    generator = np.random.default_rng(1)
    return [
        Video(str(n), generator.standard_normal((n, 7)).astype(np.float32), None, n)
        for n in lengths
    ]


def test_posteriors_are_averaged():
    first = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]).log()
    second = torch.tensor([[0.9, 0.1, 0.0], [0.0, 0.0, 1.0]]).log()
    found = mean_probabilities([first, second])
    torch.testing.assert_close(found.exp(), torch.tensor([[0.7, 0.3, 0.0], [0.5, 0.0, 0.5]]))


@pytest.mark.parametrize("n_members", [1, 2, 3, 7])
def test_the_mean_of_equal_posteriors_is_theirs_to_the_bit(n_members):
    one = (torch.randn(50, 6, generator=torch.Generator().manual_seed(0)) * 30).log_softmax(-1)
    assert torch.equal(mean_probabilities([one] * n_members), one)


@torch.inference_mode()
def test_each_member_sees_features_at_its_own_scale(ensemble):
    videos = features(23)
    batch = collate(videos)
    found = ensemble.encode(batch.features, batch.mask)
    scaling, levelling, none = scalings_of(ensemble)
    assert scaling is not None
    assert none is None
    assert not scaling.levels
    assert levelling.levels
    own_scale = [video.levelled() for video in videos]
    for index, (own, seen) in enumerate(
        ((scaling, videos), (levelling, own_scale), (None, videos))
    ):
        alone = ensemble.members[index].encode(collate(seen, scaling=own).features, batch.mask)
        assert torch.equal(found.members[index].logits, alone.logits)
    mean = torch.stack([one.logits.softmax(-1) for one in found.members]).mean(0)
    torch.testing.assert_close(found.log_probabilities.exp(), mean)
    assert found.features.shape == (1, 23, 16 + 8 + 8)


@torch.inference_mode()
def test_a_video_is_the_same_alone_and_in_a_batch(ensemble):
    videos = features(40, 9, 23)
    batch = collate(videos)
    together = ensemble.encode(batch.features, batch.mask)
    for index, video in enumerate(videos):
        own = collate([video])
        alone = ensemble.encode(own.features, own.mask)
        part = together.video(index, video.n_frames)
        for left, right in ((part, alone), *zip(part.members, alone.members, strict=True)):
            torch.testing.assert_close(left.features, right.features, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(left.logits, right.logits, rtol=1e-4, atol=1e-5)


@torch.inference_mode()
def test_only_members_with_a_transcript_decoder_write(ensemble, small_model):
    batch = collate(features(12))
    encoded = ensemble.encode(batch.features, batch.mask)
    found = writers_of(ensemble, encoded)
    assert [writer for writer, _ in found] == list(ensemble.members)[:2] == list(writers(ensemble))
    assert [own for _, own in found] == list(encoded.members[:2])
    assert writers(ensemble.members[2]) == ()
    alone = small_model()
    encoded = alone.encode(batch.features, batch.mask)
    assert writers_of(alone, encoded) == ((alone, encoded),)


@pytest.mark.parametrize("lengths", [(70,), (70, 33)])
def test_members_scale_long_videos_in_stretches(ensemble, lengths, monkeypatch):
    videos = features(*lengths)
    batch = collate(videos)
    with torch.inference_mode():
        whole = ensemble.encode(batch.features, batch.mask)
        monkeypatch.setattr(stretches, "STRETCH", 16)
        monkeypatch.setattr(encoder, "STRETCH", 16)
        parts = ensemble.encode(batch.features, batch.mask)
    torch.testing.assert_close(parts.features, whole.features)
    torch.testing.assert_close(
        parts.logits[batch.mask], whole.logits[batch.mask], atol=1e-5, rtol=1e-4
    )
