"""Recipes: groups of transcripts, how many there are, and what decoding makes of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.durations import Transitions, segmentation_score
from uvast.errors import ConfigError
from uvast.evaluation.metrics import levenshtein
from uvast.inference.candidates import Candidates
from uvast.inference.decoder import Decoder
from uvast.inference.recipes import (
    best_score,
    description_length,
    fit_recipes,
    transcript_groups,
)

TEA, COFFEE = (0, 1, 2, 3, 4, 5, 0), (0, 3, 1, 5, 2, 4, 0)


def cooked(recipe: tuple[int, ...], generator: np.random.Generator) -> tuple[int, ...]:
    """A recipe of which one step may be left out."""
    left_out = generator.integers(0, 2 * len(recipe))
    return tuple(one for place, one in enumerate(recipe) if place != left_out)


def test_planted_recipes_are_found_and_how_many_they_are():
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 2, 24)
    transcripts = tuple(cooked((TEA, COFFEE)[one], generator) for one in truth)
    found = transcript_groups(transcripts, 8, "auto")
    assert found.max() == 1
    assert np.array_equal(found == found[0], truth == truth[0])
    first, second = fit_recipes(transcripts, 8, "auto")
    assert np.exp([first.log_share, second.log_share]).sum() == pytest.approx(1)
    tea, coffee = sorted((first, second), key=lambda one: -one.score(TEA))
    assert coffee.score(COFFEE) > tea.score(COFFEE)
    assert best_score((first, second), TEA) == tea.score(TEA)


@pytest.mark.parametrize("seed", range(5))
def test_one_recipe_where_there_is_no_structure(seed: int):
    generator = np.random.default_rng(seed)
    random = tuple(tuple(generator.permutation(6).tolist()) for _ in range(20))
    same = tuple(cooked(TEA, generator) for _ in range(20))
    for transcripts in (random, same, (TEA,), (TEA, TEA)):
        (only,) = fit_recipes(transcripts, 8, "auto")
        assert only.log_share == 0
        expected = Transitions.fit(transcripts, 8)
        np.testing.assert_array_equal(only.transitions.bigram, expected.bigram)


def test_as_many_recipes_as_are_asked_for_and_can_be():
    transcripts = (TEA, TEA, COFFEE, (1, 2))
    assert set(transcript_groups(transcripts, 8, 2)) == {0, 1}
    assert sorted(transcript_groups(transcripts, 8, 3)) == [0, 0, 1, 2]
    assert transcript_groups(transcripts, 8, 9).max() == 2
    assert transcript_groups(transcripts, 8, 1).tolist() == [0] * 4


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_groups_lie_around_their_most_typical_transcripts(seed: int):
    """What brute force over all pairs of typical ones cannot improve by moving one alone."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 5, 7)
    transcripts = tuple(dict.fromkeys(tuple(generator.integers(0, 4, n).tolist()) for n in sizes))
    groups = transcript_groups(transcripts, 4, 2)
    if len(transcripts) == 1:
        return

    def apart(i: int, j: int) -> float:
        one, other = transcripts[i], transcripts[j]
        return levenshtein(one, other) / max(len(one), len(other))

    typical = []
    for number in (0, 1):
        own = np.flatnonzero(groups == number).tolist()
        typical.append(min(own, key=lambda i: sum(apart(i, j) for j in own)))
    for i, group in enumerate(groups.tolist()):
        assert apart(i, typical[group]) <= apart(i, typical[1 - group]) or i in typical


def test_the_description_is_told_choice_by_choice():
    """By the rule itself: (count so far + 0.5) of (all so far + 0.5 for each choice)."""
    transcripts, groups, n_classes = ((0, 1), (0, 1, 0), (2,)), np.array([0, 0, 1]), 3
    expected, seen = 0.0, {}

    def tell(place: object, choice: int, n_choices: int) -> float:
        counts = seen.setdefault(place, [])
        share = (counts.count(choice) + 0.5) / (len(counts) + 0.5 * n_choices)
        counts.append(choice)
        return -log(share)

    for one, group in zip(transcripts, groups, strict=True):
        expected += tell("groups", int(group), 2)
        for before, after in zip((-1, *one), (*one, -1), strict=True):
            expected += tell((int(group), before), after, n_classes)
    assert description_length(transcripts, groups, n_classes) == pytest.approx(expected)


def decoder_of(model: uvast.Segmenter, **options: object) -> Decoder:
    return Decoder(model.module, model.vocabulary, model.priors, model.options(**options))


@pytest.mark.parametrize("ends", [False, True])
def test_every_recipe_is_tried_and_the_likeliest_kept(
    model: uvast.Segmenter, tiny: Dataset, ends: bool
):
    options = {"transcript": "semi-markov", "recipes": 3, "ends": ends}
    decoder = decoder_of(model, **options)
    assert len(decoder.recipes) == 3
    assert all((one.transitions.final is not None) == ends for one in decoder.recipes)
    for name in tiny.names[:3]:
        video = tiny.video(name, labels=False)
        found = model.segment(video.features, **options).segmentation
        frames, alpha = model.frames(video.features).log_probabilities, decoder.weights.alpha
        best = -inf
        for one, judge in product(decoder.recipes, repeat=2):
            alone = replace(model.priors, transitions=one.transitions)
            (made,) = model.decode_batch(
                model.encode_batch([video]),
                model.options(transcript="semi-markov", ends=ends),
                priors=alone,
            )
            score = segmentation_score(
                frames, made.segmentation, alone.gamma, judge.transitions, alpha=alpha
            )
            best = max(best, score + judge.log_share)
        own = max(
            one.log_share
            + segmentation_score(frames, found, model.priors.gamma, one.transitions, alpha=alpha)
            for one in decoder.recipes
        )
        assert own == pytest.approx(best)


def test_best_hears_the_recipe_that_a_transcript_fits(model: uvast.Segmenter, tiny: Dataset):
    encoded = model.encode_batch([tiny.video(tiny.names[0], labels=False)])
    for options in ({"recipes": 2, "ends": True}, {"ends": True}, {"recipes": "auto"}, {}):
        chosen = model.options(transcript="best", **options)
        (found,) = model.candidates(encoded, chosen)
        assert isinstance(found, Candidates)
        recipes = model.priors.recipes(chosen)
        votes = [best_score(recipes, one.transcript) for one in found.segmentations]
        assert found.parts[:, 2] == pytest.approx(votes)
    own = [
        model.priors.transitions.without_ends.score(one.transcript) for one in found.segmentations
    ]
    assert votes == pytest.approx(own), "the settings' defaults leave the bigrams as they were"


def test_a_model_of_before_has_no_recipes(model: uvast.Segmenter, tiny: Dataset):
    old = replace(model, priors=replace(model.priors, transcripts=()))
    features = tiny.video(tiny.names[0], labels=False).features
    old.segment(features, transcript="semi-markov")
    with pytest.raises(ConfigError, match=r"does not know the transcripts .* train it again"):
        old.segment(features, transcript="semi-markov", recipes="auto")
    bare = replace(model.priors, transitions=model.priors.transitions.without_ends)
    with pytest.raises(ConfigError, match=r"does not know after which actions videos end; train"):
        replace(model, priors=bare).segment(features, transcript="semi-markov", ends=True)


@pytest.mark.parametrize("value", [-1, 101, True, "two", 1.5])
def test_numbers_of_recipes(value: object):
    with pytest.raises(ConfigError, match="not 'auto' or a whole number from 0 to 100"):
        Config().replaced(**{"decode.recipes": value})
