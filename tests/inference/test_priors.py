"""What decoding knows, in a model card and back: nothing comes in unchecked."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from uvast.errors import CheckpointError
from uvast.inference.priors import Priors
from uvast.inference.temperature import Temperature
from uvast.inference.weights import DecodingWeights
from uvast.segments import Segmentation

SEGMENTATIONS = [Segmentation([0, 1, 2], [5, 9, 30]), Segmentation([0, 2], [7, 3])]


def test_priors_survive_json() -> None:
    priors = Priors.fit(SEGMENTATIONS, 4, chunk_fraction=0.17)
    text = json.dumps(priors.as_dict(), allow_nan=False)
    again = Priors.from_dict(json.loads(text), 4)
    assert (again.poisson, again.gamma) == (priors.poisson, priors.gamma)
    np.testing.assert_array_equal(again.transitions.initial, priors.transitions.initial)
    np.testing.assert_array_equal(again.transitions.bigram, priors.transitions.bigram)
    np.testing.assert_array_equal(again.transitions.final, priors.transitions.final)
    assert again.transcripts == ((0, 1, 2), (0, 2))
    assert again.as_dict() == priors.as_dict()


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("momentum",), 3, "momentum is unknown"),
        (("temperature",), 0, "temperature.usual is 0, below 0.001"),
        (("temperature", "slope"), 9, "temperature.slope is 9, above 2"),
        (("weights", "alpha"), "0.2", "weights.alpha is '0.2', not a number"),
        (("weights", "alpha"), float("nan"), "alpha is nan, not a finite number"),
        (("weights", "decoder"), -1, "weights.decoder is -1, below 0"),
        (("weights", "more"), 1, "weights.more is unknown"),
        (("chunk_fraction",), None, "chunk_fraction is None, not a number"),
        (("poisson",), {}, "poisson.kind is missing"),
        (("poisson", "kind"), "gamma", "0 shapes for 3 classes of kind gamma"),
        (("poisson", "means"), [1.0, 2.0], "are of 2, 3 classes, the model of 3"),
        (("gamma", "means"), [1.0, 1e300, 2.0], "positive numbers below 10^9"),
        (("gamma", "shapes"), [1.0, 2.0, 900.0], "a Gamma shape is not between 1 and 100"),
        (("gamma", "shapes"), [1.0, 2.0, float("inf")], "gamma.shapes.2 is inf, not a finite num"),
        (("transitions", "initial"), [0.0, None], "transitions of shapes (2,) and (3, 3)"),
        (("transitions", "initial"), [None] * 3, "allow no first action"),
        (("transitions", "bigram"), [[None, 0.0], [0.0]], "its transitions cannot be read"),
        (("transitions", "bigram"), [[0.0] * 3] * 3, "from an action to itself"),
        (("transitions", "bigram"), [[5.0]], "transitions.bigram.0.0"),
        (("transitions", "final"), [0.0], "ends of shape (1,), not (3,)"),
        (("transitions", "final"), [0.5] * 3, "transitions.final.0"),
        (("transcripts",), [[0], []], "transcripts.1"),
        (("transcripts",), [[0, 3]], "its transcripts have more classes than the model, 3"),
        (("transcripts",), [[-1]], "transcripts.0.0 is -1, below 0"),
    ],
)
def test_a_wrong_value_of_a_card_is_one_sentence(
    place: tuple[str, ...], value: object, sentence: str
) -> None:
    values = copy.deepcopy(Priors.fit(SEGMENTATIONS, 3).as_dict())
    inner = values
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(CheckpointError) as error:
        Priors.from_dict(values, 3, where=Path("run/best.safetensors"))
    text = str(error.value)
    assert sentence in text
    assert text.startswith("run/best.safetensors: ")
    assert text.endswith("use the version of uvast that wrote it, or train again")
    with pytest.raises(CheckpointError, match="the model of 4"):
        Priors.from_dict(Priors.fit(SEGMENTATIONS, 3).as_dict(), 4)


def test_cards_of_earlier_versions_mean_what_they_did() -> None:
    """One power for all, bigrams as they are, and confidences as the network has them."""
    values = Priors.fit(SEGMENTATIONS, 3).as_dict()
    del values["weights"], values["temperature"], values["transcripts"]
    del values["transitions"]["final"]
    found = Priors.from_dict({**values, "alpha": 0.3, "decoder_weight": 2.0}, 3)
    assert found.weights == DecodingWeights(0.3, 0.3, 0.3, 2.0, 1.0)
    assert found.temperature == Temperature()
    assert found.transitions.final is None
    assert found.transcripts == ()
    with pytest.raises(CheckpointError, match="weights is missing"):
        Priors.from_dict(values, 3)
    with pytest.raises(CheckpointError, match=r"weights\.decoder is -1, below 0"):
        Priors.from_dict({**values, "alpha": 0.3, "decoder_weight": -1}, 3)
