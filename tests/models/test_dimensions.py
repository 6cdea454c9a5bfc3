"""Dimensions that make no model are refused."""

from __future__ import annotations

import dataclasses

import pytest

from uvast.config import ModelConfig
from uvast.errors import ConfigError
from uvast.models import UvastDimensions
from uvast.models.build import BUILDERS
from uvast.models.dimensions import SETTINGS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_classes": 0}, "n_classes is 0"),
        ({"n_encoder_layers": -1}, "n_encoder_layers is -1"),
        ({"encoder_dropout": 1.0}, "encoder_dropout is 1.0"),
        ({"channel_dropout": -0.1}, "channel_dropout is -0.1"),
        ({"n_heads": 3}, "width 64 cannot be shared among 3 heads"),
        ({"n_heads": 64}, "attention_width 32 cannot be shared among 64 heads"),
        ({"width": 63}, "width is 63"),
        ({"encoder": "lstm"}, "unknown encoder 'lstm'"),
        ({"window": "dilated"}, "unknown window 'dilated'"),
        ({"attention_smoothing": 4}, "attention_smoothing is 4"),
        ({"attention_smoothing": -1}, "attention_smoothing is -1"),
        ({"n_refinement_stages": 33}, "n_refinement_stages is 33"),
    ],
)
def test_wrong_dimensions_are_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        UvastDimensions(**{"n_features": 8, "n_classes": 3, **changes})


def test_dimensions_are_frozen_and_plain():
    dimensions = UvastDimensions(8, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        dimensions.width = 3
    assert UvastDimensions(**dataclasses.asdict(dimensions)) == dimensions


@pytest.mark.parametrize("kind", BUILDERS)
def test_every_dimension_has_a_setting(kind: str) -> None:
    """A field with a misspelt name would keep its default, whatever the settings say."""
    known = {one.name for one in dataclasses.fields(ModelConfig)}
    fields = {one.name for one in dataclasses.fields(BUILDERS[kind].dimensions)}
    without = {one for one in fields if SETTINGS.get(one, one) not in known}
    own = {"n_features", "n_classes", "n_prediction_layers", "n_refinement_stages"}
    assert without <= own | {"plain_feedforward"}
