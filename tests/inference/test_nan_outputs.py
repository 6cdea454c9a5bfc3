"""Outputs of NaN are blamed on the features where these are out of range, else on the weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import uvast
from uvast.data import Dataset, Scaling, Video
from uvast.errors import CheckpointError
from uvast.models import Encoded


@pytest.fixture
def broken(model: uvast.Segmenter, monkeypatch: pytest.MonkeyPatch) -> uvast.Segmenter:
    encode = model.module.encode

    def spoiled(features: torch.Tensor, mask: torch.Tensor) -> Encoded:
        encoded = encode(features, mask)
        return replace(encoded, logits=encoded.logits * float("nan"))

    monkeypatch.setattr(model.module, "encode", spoiled)
    return model


def told(model: uvast.Segmenter, video: Video) -> str:
    with pytest.raises(CheckpointError, match="the model's outputs are NaN") as found:
        model.encode_batch([video])
    return str(found.value)


def enlarged(dataset: Dataset, factor: float) -> Video:
    video = dataset.video(dataset.names[0], labels=False)
    return replace(video, features=(video.features * factor).astype(np.float32))


def test_features_that_are_not_scaled(broken: uvast.Segmenter, tiny: Dataset) -> None:
    video = enlarged(tiny, 1e20)
    largest = np.abs(video.features).max()
    assert told(replace(broken, scaling=None), video).endswith(
        f"features reach {largest:.2g} and the model does not scale them: check them, "
        "or train again with train.scaling=true or train.scaling=video"
    )


def test_features_far_from_those_of_training(broken: uvast.Segmenter, tiny: Dataset) -> None:
    video = enlarged(tiny, 1e20)
    scaling = Scaling(np.zeros(tiny.n_features), np.full(tiny.n_features, 0.5))
    apart = 2 * np.abs(video.features).max()
    message = told(replace(broken, scaling=scaling), video)
    assert f"features are up to {apart:.2g} standard deviations away from those of" in message
    assert message.endswith("train again with train.scaling=video")
    own = replace(broken, scaling=replace(scaling, levels=True))
    assert "its weights are broken" in told(own, video)


@pytest.mark.parametrize("is_scaled", [True, False])
def test_features_in_range(broken: uvast.Segmenter, tiny: Dataset, is_scaled: bool) -> None:
    model = broken if is_scaled else replace(broken, scaling=None)
    assert "its weights are broken: train again with a lower" in told(model, enlarged(tiny, 1))
