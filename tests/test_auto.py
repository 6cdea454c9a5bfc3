"""Preset `auto`: what it chooses for planted facts, and the sentences that say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.config import load_config
from uvast.config.auto import DataFacts, plan
from uvast.errors import ConfigError

GTEA = DataFacts(
    supervision="full",
    n_videos=21,
    n_frames=22_115,
    longest=1814,
    n_features=33,
    n_classes=11,
    short_segment=2,
    typical_segment=22,
    n_segments=695,
    most_segments=44,
)
KNOTS = replace(
    GTEA,
    n_videos=29,
    n_frames=47_390,
    longest=3850,
    short_segment=30,
    typical_segment=97,
    frames_per_second=30.0,
)


def rate(facts: DataFacts) -> int:
    return plan(facts).config.train.sampling_rate


def test_where_small_was_found_auto_is_small():
    config = plan(GTEA).config
    assert (config.train.epochs, config.train.sampling_rate) == (200, 1)
    small = {"train.sampling_rate": 0, "train.alignment_epochs": 30}
    assert config.replaced(**small) == load_config("small")


def test_thirty_frames_a_second_are_not_fed_at_thirty():
    found = plan(KNOTS)
    assert found.config.train.sampling_rate == 3
    assert found.sentences == (
        "29 videos with labels: 47,390 frames, 695 actions of 11 classes",
        "your videos have 30 features a second and actions of about 3.2 s, short ones of 1 s: the "
        "model sees every 3rd frame (--sampling-rate changes that)",
        "145 epochs, fewer where there are more videos",
        "no alignment decoder (stage 2), which `best` does not use; "
        "--set train.alignment_epochs=30 adds it",
    )


def test_without_a_frame_rate_lengths_are_in_frames():
    (_, sentence, *_) = plan(replace(KNOTS, frames_per_second=None)).sentences
    assert sentence.startswith("your actions have about 97 frames, short ones 30: the model sees ")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(replace(KNOTS, short_segment=2), 1, id="two-frame segments"),
        pytest.param(replace(KNOTS, short_segment=8), 2, id="short ones keep four frames"),
        pytest.param(replace(KNOTS, sampling_rate=1), 1, id="dataset.toml says 1"),
        pytest.param(replace(KNOTS, sampling_rate=7), 7, id="dataset.toml says 7"),
        pytest.param(replace(KNOTS, least_gap=2), 2, id="clicks close together"),
        pytest.param(replace(KNOTS, least_gap=200), 3, id="clicks far apart"),
        pytest.param(
            replace(KNOTS, short_segment=900, typical_segment=9000), 30, id="one a second is left"
        ),
        pytest.param(
            replace(KNOTS, short_segment=900, typical_segment=9000, frames_per_second=None),
            225,
            id="long actions, no frame rate known",
        ),
        pytest.param(
            replace(KNOTS, frames_per_second=0.5, short_segment=100, typical_segment=500),
            1,
            id="less than a frame a second",
        ),
    ],
)
def test_the_sampling_rate(facts, expected):
    assert rate(facts) == expected


def test_two_hours_at_sixty_frames_a_second():
    facts = replace(
        KNOTS,
        n_videos=3,
        longest=432_000,
        n_frames=1_000_000,
        frames_per_second=60.0,
        short_segment=50,
        typical_segment=120,
        most_segments=3600,
    )
    found = plan(facts)
    assert found.config.train.sampling_rate == 22  # 20,000 frames, and short ones keep two
    assert found.config.decode.max_segments == 7200
    assert found.config.train.time_masking == 0
    assert "every 22nd frame (the longest video has 432,000 frames)" in found.sentences[1]
    shorter = plan(replace(facts, short_segment=20))
    assert shorter.config.train.sampling_rate == 10
    assert shorter.sentences[-1].startswith("the longest video has 432,000 frames, which may take")


@pytest.mark.parametrize(
    ("n_videos", "epochs", "batch_size"),
    [(1, 300, 1), (5, 300, 1), (30, 140, 1), (100, 42, 1), (400, 30, 1), (2000, 30, 4)],
)
def test_epochs_and_batches(n_videos, epochs, batch_size):
    train = plan(replace(GTEA, n_videos=n_videos)).config.train
    assert (train.epochs, train.batch_size) == (epochs, batch_size)


def test_one_video_of_one_class():
    alone = replace(GTEA, n_videos=1, n_frames=1, n_segments=1, most_segments=1, n_classes=1)
    found = plan(replace(alone, longest=1, short_segment=1, typical_segment=1))
    assert found.config.train.sampling_rate == 1
    assert found.sentences[0] == "1 video with labels: 1 frame, 1 action of 1 class"


def test_clicks_are_learned_from():
    found = plan(replace(KNOTS, supervision="timestamps", least_gap=2, n_validation=7))
    assert found.config.supervision.kind == "timestamps"
    assert found.sentences[0].startswith("29 videos with clicks, 7 more held out for validation: ")
    assert found.sentences[1].endswith("every 2nd frame (two clicks are only 2 frames apart)")


def test_what_is_asked_for_stays():
    asked = ["train.epochs=5", "train.sampling_rate=2", "train.alignment_epochs=3"]
    found = plan(KNOTS, [*asked, "train.batch_size=3", "model.width=32"])
    train = found.config.train
    assert (train.epochs, train.sampling_rate, train.alignment_epochs) == (5, 2, 3)
    assert (train.batch_size, found.config.model.width) == (3, 32)
    assert found.sentences[1:] == (
        "the model sees every 2nd frame, as you asked",
        "5 epochs in batches of 3 videos, as you asked",
    )
    (_, sentence, *_) = plan(replace(KNOTS, sampling_rate=1)).sentences
    assert sentence == "the model sees every frame, as dataset.toml says"


def test_the_datasets_own_rate_can_be_asked_for():
    found = plan(replace(KNOTS, sampling_rate=4), ["train.sampling_rate=0"])
    assert found.config.train.sampling_rate == 4


def test_a_wrong_setting_is_named():
    with pytest.raises(ConfigError, match=r"--set: train\.epoch: no such setting; did you mean"):
        plan(GTEA, ["train.epoch=3"])


def test_it_is_no_preset_without_data():
    with pytest.raises(ConfigError, match="preset 'auto' looks at the data, so it needs a dataset"):
        load_config("auto")


lengths = st.integers(1, 10**6)


@settings(deadline=None)
@given(
    lengths,
    lengths,
    st.integers(1, 10**7),
    st.none() | st.floats(0.1, 1000),
    st.none() | st.integers(1, 1000),
    st.integers(1, 5000),
)
def test_any_facts_make_a_plan(one, other, longest, fps, gap, n_videos):
    facts = replace(
        KNOTS,
        short_segment=min(one, other),
        typical_segment=max(one, other),
        longest=longest,
        frames_per_second=fps,
        least_gap=gap,
        n_videos=n_videos,
    )
    found = rate(facts)
    assert 1 <= found <= max(1, facts.short_segment / 2)
    assert gap is None or found <= gap
    assert all(plan(facts).sentences)
