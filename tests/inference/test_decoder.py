"""How transcripts get their durations: where FIFA starts, and what noise costs."""

from __future__ import annotations

import copy
import sys
from dataclasses import replace

import numpy as np
import pytest

import uvast
from uvast.data import Dataset
from uvast.errors import InputError
from uvast.models import Uvast
from uvast.segments import round_durations

STILL = {"durations": "fifa", "fifa_steps": 1, "fifa_step_size": 1e-12}
"""FIFA that stays where it starts."""


@pytest.fixture
def features(tiny: Dataset) -> np.ndarray:
    return tiny.video(tiny.names[0], labels=False).features


@pytest.mark.parametrize("width", [0, 9])
def test_fifa_of_the_frames_transcript_starts_at_its_runs(
    model: uvast.Segmenter, features: np.ndarray, width: int
) -> None:
    frames = {"transcript": "frames", "mode_filter": width}
    runs = model.segment(features, **frames, durations="none").segmentation
    assert model.segment(features, **frames, **STILL).segmentation == runs
    assert len(set(runs.durations.tolist())) > 1, "uniform runs would not tell"


def test_fifa_of_the_decoders_transcript_starts_at_the_alignment(
    model: uvast.Segmenter, features: np.ndarray
) -> None:
    aligned = model.segment(features, durations="alignment").segmentation
    assert model.segment(features, **STILL).segmentation == aligned
    assert len(set(aligned.durations.tolist())) > 1, "uniform durations would not tell"


def test_fifa_starts_at_the_class_means_without_an_alignment_decoder(
    model: uvast.Segmenter, features: np.ndarray
) -> None:
    network = copy.deepcopy(model.module)
    assert isinstance(network, Uvast)
    network.alignment = None
    found = replace(model, module=network).segment(features, **STILL)
    means = np.array(model.priors.poisson.means)[found.transcript]
    expected = round_durations(means, len(features))
    assert found.segmentation.durations.tolist() == expected.tolist()


def test_a_beam_searches_where_greedy_search_comes_to_no_end(
    model: uvast.Segmenter, features: np.ndarray
) -> None:
    whole = model.segment(features, durations="none")
    cap = {"durations": "none", "max_segments": len(whole.transcript) - 1}
    greedy = model.segment(features, **cap, beam_width=1)
    assert greedy.transcript.tolist() == whole.transcript[:-1].tolist()
    beam = model.segment(features, **cap, beam_width=10)
    mended = model.segment(features, **cap)
    assert beam.complete
    assert mended.transcript.tolist() == beam.transcript.tolist() != greedy.transcript.tolist()
    assert not mended.complete, "it may still lack actions"


def test_a_video_is_searched_again_in_a_batch_as_alone(
    model: uvast.Segmenter, tiny: Dataset
) -> None:
    videos = [tiny.video(name, labels=False) for name in tiny.names[:3]]
    whole = [len(model.segment(one.features).transcript) for one in videos]
    capped = {"durations": "none", "max_segments": max(whole) - 1}
    together = model.decode_batch(model.encode_batch(videos), model.options(**capped))
    alone = [model.segment(one.features, **capped) for one in videos]
    assert [one.transcript.tolist() for one in together] == [
        one.transcript.tolist() for one in alone
    ]
    assert not all(one.complete for one in together)


def test_viterbi_on_noise_is_refused_for_that_video(
    model: uvast.Segmenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["uvast.durations.viterbi"]  # the package's `viterbi` is the function
    monkeypatch.setattr(module, "MAX_ENDS", 20_000)
    noise = np.random.default_rng(0).normal(scale=9, size=(400, model.n_features))
    features = noise.astype(np.float32)
    with pytest.raises(InputError, match="smooth the frame labels with mode_filter=25, or use"):
        model.segment(features, transcript="frames")
    for remedy in ({"transcript": "frames", "mode_filter": 25}, {"transcript": "semi-markov"}):
        assert model.segment(features, **remedy).segmentation.n_frames == 400


def test_transitions_that_forbid_everything_are_named_unless_they_are_not_asked(
    model: uvast.Segmenter, tiny: Dataset, features: np.ndarray
) -> None:
    own = model.priors.transitions
    nowhere = replace(own, final=np.full(own.n_classes, -np.inf))
    hand_made = replace(model, priors=replace(model.priors, transitions=nowhere))
    for transcript in ("semi-markov", "best"):
        with pytest.raises(InputError, match=f"no segmentation of {len(features)} frames"):
            hand_made.segment(features, transcript=transcript, ends=True)
        assert hand_made.segment(features, transcript=transcript, ends=False).segmentation
    for transcript in ("decoder", "frames"):
        given = {"transcript": transcript, "durations": "viterbi", "ends": True}
        found = hand_made.segment(features, **given).segmentation
        assert found == model.segment(features, **given).segmentation
    source = tiny.features_path(tiny.names[0])
    with pytest.raises(InputError, match=f"^{tiny.names[0]}: the transitions allow no segm"):
        uvast.segment(hand_made, source, transcript="best", ends=True)
