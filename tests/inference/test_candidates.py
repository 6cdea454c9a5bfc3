"""What `best` chooses from, and whether its choice was cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import uvast
from uvast.data import Dataset
from uvast.durations import viterbi
from uvast.inference.search import Transcript


def test_noise_makes_no_candidate_longer_than_the_cap(
    model: uvast.Segmenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = []

    def counted(
        frames: object, transcript: np.ndarray, *given: object, **options: object
    ) -> object:
        lengths.append(len(transcript))
        return viterbi(frames, transcript, *given, **options)

    monkeypatch.setattr("uvast.inference.candidates.viterbi", counted)
    noise = np.random.default_rng(0).normal(scale=9, size=(400, model.n_features))
    features = noise.astype(np.float32)
    runs = model.segment(features, transcript="frames", durations="none")
    assert len(runs.transcript) > 40, "a noisy head is needed for this test"
    joint = model.segment(features, transcript="semi-markov")
    best = model.segment(features, transcript="best", max_segments=len(joint.transcript))
    assert best.segmentation.n_frames == 400
    assert max(lengths) <= len(joint.transcript) < len(runs.transcript)
    # a joint segmentation above the cap is taken as it is
    lengths.clear()
    best = model.segment(features, transcript="best", max_segments=len(joint.transcript) - 1)
    assert best.segmentation == joint.segmentation
    assert best.complete
    assert not lengths


def test_best_says_if_its_transcript_was_cut(
    model: uvast.Segmenter, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = tiny.video(tiny.names[0], labels=False)
    joint = model.segment(video.features, transcript="semi-markov")

    def cut(*_: object, **__: object) -> tuple[Transcript, ...]:
        return (Transcript(joint.transcript, 0.0, ended=False),)

    monkeypatch.setattr("uvast.inference.writing.beam_transcripts", cut)
    monkeypatch.setattr(
        "uvast.inference.candidates.smoothed_transcript", lambda *_, **__: np.array([0])
    )
    encoded, options = model.encode_batch([video]), model.options(transcript="best", beam_width=2)
    (found,) = model.decode_batch(encoded, options)
    assert found.complete == (not np.array_equal(found.transcript, joint.transcript))
    alone = replace(model.priors, weights=replace(model.priors.weights, decoder=0.0))
    (found,) = model.decode_batch(encoded, options, priors=alone)
    assert not found.complete
