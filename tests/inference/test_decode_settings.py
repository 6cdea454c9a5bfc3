"""Decoding settings as a command has them, and the formats that fit them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import uvast
from uvast.data import Dataset
from uvast.errors import ConfigError
from uvast.inference.named_decodings import DECODINGS
from uvast.inference.output import parse_formats
from uvast.inference.search import beam_transcripts


def test_best_alone_is_the_named_decoding(model: uvast.Segmenter) -> None:
    named = model.options(**DECODINGS["best"])
    assert model.options(transcript="best") == named
    assert model.parsed_options([], transcript="best") == named
    assert model.options(transcript="best", beam_width=1).beam_width == 1


@pytest.mark.parametrize(
    ("changes", "width"),
    [
        (DECODINGS["transcript"], None),
        (DECODINGS["viterbi"], None),
        (DECODINGS["fifa"], None),
        (DECODINGS["alignment"], None),
        ({"transcript": "decoder"}, None),
        ({"transcript": "decoder", "beam_width": 3}, 3),
        ({}, 10),
        (DECODINGS["best"], 10),
        ({"beam_width": 2}, 2),
    ],
)
def test_the_decoder_alone_is_greedy_though_best_has_a_beam(
    model: uvast.Segmenter,
    tiny: Dataset,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object],
    width: int | None,
) -> None:
    """Preset `small` is `best`: what a benchmark says of its decoder is the paper's search."""
    small = model.config.replaced(**{"decode.transcript": "best", "decode.fifa_steps": 3})
    small_model = replace(model, config=small)
    widths: list[int | None] = []

    def searched(*given: object, beam_width: int, **options: object) -> object:
        widths.append(beam_width)
        return beam_transcripts(*given, beam_width=beam_width, **options)

    monkeypatch.setattr("uvast.inference.writing.beam_transcripts", searched)
    features = tiny.video(tiny.names[0], labels=False).features
    small_model.segment(features, **changes)
    assert widths == ([] if width is None else [width])


@pytest.mark.parametrize("text", ["beam_width=2", "decode.beam_width=2", " decode.beam_width = 2 "])
def test_a_setting_may_have_its_section(model: uvast.Segmenter, text: str) -> None:
    assert model.parsed_options([text]).beam_width == 2


@pytest.mark.parametrize("text", ["beam_width", "train.epochs=3", "decode.decode.beam_width=2"])
def test_what_is_no_decoding_setting_is_one_sentence(model: uvast.Segmenter, text: str) -> None:
    sentence = f"--set {text!r} is not a decoding setting of the form name=value; write for example"
    with pytest.raises(ConfigError, match=re.escape(f"{sentence} --set beam_width=5")):
        model.parsed_options([text])


@pytest.mark.parametrize(
    ("transcript", "settings", "idle"),
    [
        ("best", ["mode_filter=25", "length_model=none"], "mode_filter, length_model, durations"),
        ("semi-markov", ["beam_width=5"], "beam_width, durations"),
    ],
)
def test_settings_without_an_effect_are_refused(
    model: uvast.Segmenter, transcript: str, settings: list[str], idle: str
) -> None:
    sentence = f"transcript '{transcript}' finds its own durations and does not use {idle}; leave"
    with pytest.raises(ConfigError, match=sentence):
        model.parsed_options(settings, transcript=transcript, durations="fifa")


def test_settings_with_an_effect_are_taken(model: uvast.Segmenter) -> None:
    best = model.parsed_options(["alpha=0.3", "beam_width=3", "max_segments=9"], transcript="best")
    assert (best.alpha, best.beam_width, best.max_segments) == (0.3, 3, 9)
    assert model.parsed_options(["alpha=0.3"], transcript="semi-markov").alpha == 0.3
    assert model.parsed_options(["fifa_steps=9"], durations="fifa").fifa_steps == 9


def test_bare_transcripts_have_no_labels_of_frames(model: uvast.Segmenter) -> None:
    bare = model.options(durations="none")
    assert bare.is_bare
    assert not model.options().is_bare
    assert not model.options(transcript="frames", durations="none").is_bare
    assert parse_formats(None, bare=True) == ("json",)
    assert parse_formats(None, bare=False) == ("txt", "json")
    assert parse_formats("csv, json", bare=True) == ("csv", "json")
    sentence = (
        "--format: txt holds a label for every frame, but durations 'none' gives only a transcript"
    )
    with pytest.raises(ConfigError, match=sentence):
        parse_formats("txt,csv", bare=True)
    prediction = model.segment(np.zeros((5, 6), np.float32), durations="none")
    assert prediction.as_dict()["confidence"] is None
