"""`model.dilations`: which layers have which, what is refused, and checkpoints without any."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest
import torch

from uvast.config import ModelConfig, load_config, parse_config
from uvast.errors import ConfigError
from uvast.models.build import BUILDERS, build_model
from uvast.models.checkpoint import ModelCard, load_model, model_tensors, write_checkpoint
from uvast.models.convolution import DilatedConvolution
from uvast.vocabulary import Vocabulary

SIZES = {"width": 4, "n_encoder_layers": 3, "n_stages": 3}
A, B, C = (1, 3, 9), (5, 2, 7), (4, 4, 1)
DUAL = (8, 1, 4, 2, 2, 4, 1, 8)
"""The first stage of a small MS-TCN++, which has pairs of its own."""

EACH = (*A, *B, *C)
LAYERS = {
    "ms-tcn": {(): (1, 2, 4) * 3, A: A * 3, EACH: EACH},
    "ms-tcn++": {(): (*DUAL, *(1, 2, 4) * 2), A: (*DUAL, *A, *A), (*A, *B): (*DUAL, *A, *B)},
    "li": {(): (1, 2, 4) * 4, A: A * 4, EACH: (*A, *EACH)},
    "asrf": {(): (1, 2, 4) * 5, A: A * 5, EACH: (*A, *B, *C, *B, *C)},
}


def built(kind: str, dilations: tuple[int, ...], **sizes: int) -> torch.nn.Module:
    torch.manual_seed(0)
    config = ModelConfig(kind=kind, dilations=dilations, **{**SIZES, **sizes})
    return build_model(config, n_features=5, n_classes=4).eval()


@pytest.mark.parametrize("kind", LAYERS)
def test_layers_have_the_dilations_that_were_set(kind: str) -> None:
    for dilations, expected in LAYERS[kind].items():
        model = built(kind, dilations)
        found = [one.dilation for one in model.modules() if isinstance(one, DilatedConvolution)]
        assert tuple(found) == expected
        assert model.encode(torch.randn(1, 2, 5), None).logits.shape == (1, 2, 4)


def test_no_model_that_takes_them_ignores_them() -> None:
    """A model that inherits the field has to heed it."""
    features = torch.randn(1, 30, 5)
    for kind, builder in BUILDERS.items():
        if "dilations" in {one.name for one in fields(builder.dimensions)}:
            plain, other = (built(kind, one).encode(features, None).logits for one in ((), A))
            assert not torch.allclose(plain, other), kind


@pytest.mark.parametrize("kind", LAYERS)
def test_an_empty_list_and_the_doubled_numbers_are_the_same_model(kind: str) -> None:
    features = torch.randn(2, 30, 5)
    plain, spelt, other = (
        built(kind, one).encode(features, None).logits for one in ((), (1, 2, 4), A)
    )
    torch.testing.assert_close(plain, spelt, rtol=0, atol=0)
    assert not torch.allclose(plain, other)


@pytest.mark.parametrize("kind", LAYERS)
def test_checkpoints_keep_them_and_old_ones_have_none(kind: str, tmp_path: Path) -> None:
    vocabulary = Vocabulary(("a", "b", "c", "d"))
    for dilations in ((), A):
        model = built(kind, dilations)
        dimensions = asdict(model.dimensions)
        if not dilations:
            del dimensions["dilations"]  # as earlier versions wrote it
        path = tmp_path / f"{len(dilations)}.safetensors"
        write_checkpoint(path, model_tensors(model), ModelCard(kind, dimensions, vocabulary))
        loaded, _ = load_model(path)
        assert loaded.dimensions == model.dimensions
        features = torch.randn(1, 20, 5)
        torch.testing.assert_close(
            loaded.encode(features, None).logits, model.encode(features, None).logits
        )


@pytest.mark.parametrize(
    ("kind", "dilations", "sizes", "sentence"),
    [
        (
            "ms-tcn",
            (1, 2),
            {},
            "model.dilations: 2 dilations do not fit 3 stages of 3 layers; give 3, 9 or none",
        ),
        ("asrf", (1,) * 15, {}, "15 dilations do not fit 3 stages of 3 layers; give 3, 9 or none"),
        ("ms-tcn++", (1,) * 9, {}, "do not fit 2 stages of 3 layers; give 3, 6 or none"),
        ("ms-tcn++", (1,) * 3, {"n_stages": 1}, "do not fit 0 stages of 3 layers; give none"),
        (
            "uvast",
            A,
            {},
            "model.dilations: uvast has no dilations to set; choose ms-tcn, ms-tcn++",
        ),
        ("asformer", A, {}, "asformer has no dilations to set"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    kind: str, dilations: tuple[int, ...], sizes: dict[str, int], sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        built(kind, dilations, **sizes)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("wrong", [5, "1, 2, 4", [1, 2, 0], [1, 2, True], [1, 2, 2.0], {"a": 1}])
def test_dimensions_of_a_checkpoint_are_checked(wrong: object) -> None:
    with pytest.raises(ConfigError, match=r"dilations are .*; each must lie in 1 to"):
        BUILDERS["ms-tcn"].dimensions(n_features=5, n_classes=4, n_layers=3, dilations=wrong)


def test_they_are_a_list_in_settings_and_come_back() -> None:
    config = load_config("ms-tcn", settings=["model.dilations=[1, 3, 9]"])
    assert config.model.dilations == A
    assert config.as_dict()["model"]["dilations"] == [1, 3, 9]
    assert parse_config(config.as_dict(), where="here") == config
    assert hash(config.model)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("4", "model.dilations is 4, not a list; give another value, such as its default []"),
        ("[1, 0]", "model.dilations.1 is 0, below 1"),
        ("[1, true]", "model.dilations.1 is True, not a whole number"),
        ("[1, 2.5]", "model.dilations.1 is 2.5, not a whole number"),
    ],
)
def test_lists_that_cannot_be_right(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(settings=[f"model.dilations={text}"])
    assert sentence in str(caught.value)
