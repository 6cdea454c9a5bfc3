"""The validation part: which decodings it scores, and at which cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.inference.priors import Priors
from uvast.inference.search import beam_transcripts
from uvast.models.build import build_model
from uvast.supervision import full_segmentations
from uvast.training.validation import ValidationPart


@pytest.fixture
def part(tiny: Dataset) -> ValidationPart:
    names = tiny.side(1, "test")
    return ValidationPart(tiny, names, full_segmentations(tiny, names))


@pytest.fixture
def model(tiny: Dataset, small_config: Config) -> uvast.Segmenter:
    """Untrained, with the decoding of preset `small`."""
    config = small_config.replaced(**{"decode.transcript": "best", "decode.max_segments": 20})
    network = build_model(config.model, n_features=6, n_classes=len(tiny.vocabulary)).eval()
    truths = full_segmentations(tiny, tiny.side(1, "train"))
    priors = Priors.fit(list(truths.values()), len(tiny.vocabulary))
    return uvast.Segmenter(network, vocabulary=tiny.vocabulary, config=config, priors=priors)


def test_the_decoder_alone_is_judged_beside_best_and_greedy(
    part: ValidationPart, model: uvast.Segmenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = []

    def counted(*given: object, **options: object) -> object:
        searches.append(options["beam_width"])
        return beam_transcripts(*given, **options)

    monkeypatch.setattr("uvast.inference.writing.beam_transcripts", counted)
    scores = part.scores(model, stage=1)
    # of `best` each video, of the greedy decoder those where it, untrained, knows no end
    assert set(searches) == {10}
    assert len(part) <= len(searches) <= 2 * len(part)
    alone = replace(model, config=model.config.replaced(**{"decode.transcript": "decoder"}))
    apart = part.scores(alone, stage=1)
    assert apart["selection"] == apart["score"]
    assert scores["selection"] == (scores["score"] + apart["score"]) / 2


def test_a_bare_transcript_is_validated_with_durations(
    part: ValidationPart, model: uvast.Segmenter
) -> None:
    def scores(**changes: object) -> dict[str, float]:
        settings = {f"decode.{name}": value for name, value in changes.items()}
        return part.scores(replace(model, config=model.config.replaced(**settings)), stage=1)

    viterbi = scores(transcript="decoder", durations="viterbi")
    assert scores(transcript="decoder", durations="none") == viterbi
    assert scores(transcript="decoder", durations="alignment") == viterbi
    frames = scores(transcript="frames", durations="none")
    assert frames != viterbi
