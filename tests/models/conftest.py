"""Small models whose outputs depend on every weight."""

from __future__ import annotations

import pytest
import torch

from uvast.models import Uvast, UvastDimensions

NO_DROPOUT = dict.fromkeys(
    (
        "channel_dropout",
        "encoder_dropout",
        "decoder_dropout",
        "input_dropout",
        "output_dropout",
    ),
    0.0,
)


def _small_model(**changes) -> Uvast:
    """Every part, explicit durations and alignment included; dropout off unless asked for."""
    sizes = {
        "n_features": 7,
        "n_classes": 5,
        "width": 16,
        "attention_width": 8,
        "n_encoder_layers": 7,
        "decoder_feedforward": 32,
        "alignment_feedforward": 24,
        "plain_feedforward": 24,
        "explicit_durations": True,
    }
    torch.manual_seed(0)
    model = Uvast(UvastDimensions(**{**sizes, **NO_DROPOUT, **changes}))
    model.add_alignment()
    return model


@pytest.fixture
def small_model():
    return _small_model
