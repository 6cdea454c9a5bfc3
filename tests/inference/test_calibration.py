"""The weights of decoding, chosen on videos that were not trained on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import uvast
from uvast.data import Dataset, Timestamps
from uvast.inference.calibration import (
    DECODER_WEIGHTS,
    TRANSITION_WEIGHTS,
    Calibration,
    best_grid,
    calibrate,
)
from uvast.inference.candidates import Candidates
from uvast.inference.held_out import POWERS, Ballots, HeldOut, Truth, hold_out
from uvast.inference.temperature import JudgedFrames
from uvast.inference.weights import DecodingWeights
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

N = len(POWERS)
RIGHT, WRONG = 95.0, 55.0


def planted(*, frames: bool, decoder: bool, order: bool = True, seed: int = 0) -> HeldOut:
    """Two candidates, of which the first is right, and who is for it.

    Semi-Markov decoding, which hears no decoder, finds what the frames are for. Votes of frames
    are of hundreds, as those of a thousand frames are.
    """
    noise = np.random.default_rng(seed).normal(size=2)
    one = Segmentation([0], [9])

    def says(is_right: bool, size: float) -> list[float]:
        return [size, 0.0] if is_right else [0.0, size]

    parts = np.column_stack([says(frames, 200), [0, 0], says(order, 4), says(decoder, 5)])
    parts = parts - [500, 20, 10, 12] + np.abs(noise[:, None]) * 1e-3
    candidates = Candidates((one, one), parts, written=0 if decoder else 1)
    found = 0 if frames else 1
    scores = np.array([RIGHT, WRONG]) + noise
    return HeldOut(
        alone=np.full(N, scores[found]),
        ballots=Ballots(
            (candidates,) * N,
            np.tile(scores, (N, 1)),
            always=np.array([True, True]),
            joint=np.full(N, found),
        ),
        frames=JudgedFrames(
            np.log([[0.7, 0.3]]).astype(np.float32), np.array([0]), np.ones(1), confidence=0.7
        ),
    )


def test_a_perfect_decoder_of_noisy_frames_gets_a_large_vote() -> None:
    found = calibrate([planted(frames=False, decoder=True, seed=one) for one in range(8)])
    ratio = found.weights.decoder / found.weights.frames
    assert ratio > 200 / 5, "the frames' vote is outvoted"
    assert found.scores["best"] > found.scores["semi-markov"] + 35
    assert found.scores["best"] == pytest.approx(found.scores["decoder"], abs=0.01)
    assert found.scores["default"] < found.scores["best"] - 35


def test_a_useless_decoder_gets_a_small_vote() -> None:
    found = calibrate([planted(frames=True, decoder=False, seed=one) for one in range(8)])
    assert found.weights == DecodingWeights(), "which outvotes it already"
    assert found.scores["best"] == pytest.approx(found.scores["semi-markov"], abs=0.01)


def test_a_decoder_that_is_right_against_both_orders_lowers_the_bigrams() -> None:
    """Bigrams and decoder speak of the same: the frames cannot tell, the bigrams are wrong."""
    videos = []
    for seed in range(8):
        one = planted(frames=True, decoder=True, order=False, seed=seed)
        parts = one.ballots.candidates[0].parts.copy()
        parts[:, 0] = -500.0
        parts[:, 3] = [-12.0, -13.0]  # hardly sure
        same = replace(one.ballots.candidates[0], parts=parts)
        videos.append(replace(one, ballots=replace(one.ballots, candidates=(same,) * N)))
    found = calibrate(videos)
    assert found.weights.decoder * 1.0 > found.weights.transitions * 4
    assert found.scores["best"] == pytest.approx(found.scores["decoder"], abs=0.01)


def test_two_videos_that_disagree_change_nothing() -> None:
    videos = [planted(frames=False, decoder=True), planted(frames=True, decoder=False)]
    assert calibrate(videos).weights == DecodingWeights()


def test_an_undecided_semi_markov_decoding_is_not_for_the_decoder_to_judge() -> None:
    one = planted(frames=False, decoder=True)
    one = replace(one, ballots=replace(one.ballots, joint=np.full(N, -1)))
    votes = np.array([[0.2, 1, 1, 100.0]])
    assert one.best(3, 3, votes).tolist() == [one.alone[3]]


@pytest.fixture(scope="module")
def held(model: uvast.Segmenter, tiny_path: object) -> list[tuple[object, Truth, HeldOut]]:
    data = Dataset.open(tiny_path)
    found = []
    for name in data.side(1, "test"):
        video = data.video(name, labels=False)
        truth = Truth(Segmentation.from_labels(data.video(name).labels))
        found.append((video, truth, hold_out(model, video, truth)))
    return found


def test_the_grid_is_what_decoding_does(
    model: uvast.Segmenter, held: list[tuple[object, Truth, HeldOut]]
) -> None:
    """Any cell of it, both pure decodings among them."""
    generator = np.random.default_rng(5)
    options = model.options(transcript="best")
    for alpha in (1, 4):
        grid = best_grid([one for _, _, one in held], alpha)
        places = [tuple(generator.integers(grid.shape[1:])) for _ in range(6)]
        places.append((alpha, alpha, len(TRANSITION_WEIGHTS) - 1, 0))  # semi-Markov
        places.append((alpha, 0, 0, len(DECODER_WEIGHTS) - 1))  # the decoder
        for place in places:
            durations, frames, transitions, decoder = place
            weights = DecodingWeights(
                POWERS[alpha],
                POWERS[durations],
                POWERS[frames],
                DECODER_WEIGHTS[decoder],
                TRANSITION_WEIGHTS[transitions],
            )
            priors = replace(model.priors, weights=weights)
            for number, (video, truth, one) in enumerate(held):
                encoded = model.encode_batch([video])
                (found,) = model.decode_batch(encoded, options, priors=priors)
                expected = truth.score(found.segmentation, model.vocabulary)
                assert grid[(number, *place)] == pytest.approx(expected)
                if place == places[-2]:
                    joint = model.options(transcript="semi-markov")
                    (alone,) = model.decode_batch(encoded, joint, priors=priors)
                    assert found.segmentation == alone.segmentation
                    assert one.alone[alpha] == pytest.approx(expected)


def test_with_the_last_weight_the_decoder_decides_alone(
    model: uvast.Segmenter, held: list[tuple[object, Truth, HeldOut]]
) -> None:
    """Its own transcript with Viterbi and Gamma lengths, whatever the frames say."""
    last = replace(model.priors.weights, decoder=DECODER_WEIGHTS[-1])
    priors = replace(model.priors, weights=last)
    for video, _, _ in held:
        encoded = model.encode_batch([video])
        for width in (0, 3):
            best = model.options(transcript="best", beam_width=width)
            pure = model.options(transcript="decoder", length_model="gamma", beam_width=width)
            (found,) = model.decode_batch(encoded, best, priors=priors)
            (expected,) = model.decode_batch(encoded, pure, priors=priors)
            assert found.segmentation == expected.segmentation


def test_each_video_is_encoded_and_searched_once(
    model: uvast.Segmenter, tiny: Dataset, count_calls: object
) -> None:
    calls = count_calls("segmenter.Segmenter.encode_batch", "writing.beam_transcripts")
    name = tiny.names[0]
    truth = Truth(Segmentation.from_labels(tiny.video(name).labels))
    hold_out(model, tiny.video(name, labels=False), truth)
    assert sorted(calls) == ["beam_transcripts", "encode_batch"]


def test_calibration_of_a_model_is_kept_with_it(
    model: uvast.Segmenter, held: list[tuple[object, Truth, HeldOut]]
) -> None:
    found = calibrate([one for _, _, one in held])
    assert isinstance(found, Calibration)
    priors = found.applied(model.priors)
    assert (priors.weights, priors.temperature) == (found.weights, found.temperature)
    assert priors.gamma == model.priors.gamma
    assert found.n_videos == len(held)


def test_clicks_stand_for_their_segments() -> None:
    """The transcript and the clicked frames are known; the ends of segments are not."""
    truth = Truth(
        Segmentation([0, 1, 0], [10, 30, 20]),
        Timestamps(np.array([2, 15, 25, 50]), np.array([0, 1, 1, 0])),
    )
    assert truth.known.frames.tolist() == [2, 15, 25, 50]
    assert truth.known.labels.tolist() == [0, 1, 1, 0]
    assert truth.known.weights.tolist() == [10, 15, 15, 20]
    some = truth.known.some(2)
    assert (some.frames.tolist(), some.weights.tolist()) == ([2, 50], [20, 40])
    words = Vocabulary(("a", "b"))
    moved = Segmentation([0, 1, 0], [14, 16, 30])  # every click is still in its segment
    late = Segmentation([0, 1, 0], [16, 20, 24])  # one is not
    assert truth.score(moved, words) == truth.score(truth.segmentation, words) == 100
    assert truth.score(late, words) == pytest.approx((75 + 100 + 100) / 3)
