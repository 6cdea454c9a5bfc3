"""Frame confidences that mean what they say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import log_softmax

import uvast
from uvast.data import Dataset
from uvast.evaluation import expected_calibration_error
from uvast.inference.temperature import fit_temperature, tempered


def drawn(temperature: float, n_frames: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of a head that is too sure by a factor, and labels of the true ones."""
    generator = np.random.default_rng(0)
    logits = generator.normal(scale=2, size=(n_frames, 5))
    true = np.exp(log_softmax(logits, axis=1))
    labels = (true.cumsum(1) > generator.random((n_frames, 1))).argmax(1)
    return log_softmax(logits * temperature, axis=1).astype(np.float32), labels


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_a_planted_temperature_is_found_and_mends_the_error(temperature: float) -> None:
    logs, labels = drawn(temperature)
    found = fit_temperature(logs, labels, np.ones(len(labels)))
    assert found == pytest.approx(temperature, rel=0.05)
    shown = np.exp(tempered(logs, found))
    np.testing.assert_allclose(shown.sum(1), 1)
    right = shown.argmax(1) == labels
    assert expected_calibration_error(shown.max(1), right) < 0.015


def test_a_weight_is_so_many_frames() -> None:
    logs, labels = drawn(3.0, 300)
    weights = np.arange(300) % 3
    repeated = np.repeat(np.arange(300), weights)
    one = fit_temperature(logs, labels, weights.astype(np.float64))
    assert one == fit_temperature(logs[repeated], labels[repeated], np.ones(len(repeated)))


def test_without_frames_or_classes_nothing_changes() -> None:
    assert fit_temperature(np.zeros((0, 4)), np.zeros(0, int), np.zeros(0)) == 1
    assert fit_temperature(np.zeros((3, 1)), np.zeros(3, int), np.ones(3)) == 1


def test_it_changes_what_is_shown_and_nothing_else(model: uvast.Segmenter, tiny: Dataset) -> None:
    features = tiny.video(tiny.names[0], labels=False).features
    hot = dataclasses.replace(model, priors=dataclasses.replace(model.priors, temperature=3.0))
    for transcript in ("decoder", "semi-markov", "best"):
        one, other = (m.segment(features, transcript=transcript) for m in (model, hot))
        assert one.segmentation == other.segmentation
        assert other.confidence < one.confidence
        assert (other.doubts.entropies > one.doubts.entropies).all()
        np.testing.assert_array_equal(other.doubts.agreements, one.doubts.agreements)
