"""Settings: presets, files, single settings, and the sentence of each mistake."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.config import Config, load_config, parse_config, parse_run_config
from uvast.errors import ConfigError, MissingFileError
from uvast.presets import presets


@pytest.fixture
def toml(tmp_path):
    def write(text: str):
        path = tmp_path / "run.toml"
        path.write_text(text)
        return path

    return write


def test_the_defaults_are_the_papers():
    config = load_config()
    assert config == Config()
    assert (config.model.width, config.model.n_encoder_layers) == (64, 10)
    assert (config.model.n_decoder_layers, config.model.decoder_feedforward) == (2, 2048)
    assert (config.train.learning_rate, config.train.weight_decay) == (5e-4, 1e-5)
    assert (config.train.batch_size, config.train.epochs) == (1, 800)
    assert (config.loss.group_frame, config.loss.group_segment) == (
        "mean-logit",
        "mean-probability",
    )
    assert config.loss.temperature == 0.001


@pytest.mark.parametrize(
    ("preset", "chunk_fraction", "smoothing", "channel_dropout", "fifa"),
    [
        ("breakfast", 0.17, 0, 0.3, (0.01, 0.1, 1)),
        ("50salads", 0.15, 31, 0.3, (0.01, 0.01, 1)),
        ("gtea", 0.17, 0, 0.5, (0.1, 0, 0.1)),
    ],
)
def test_the_published_presets(preset, chunk_fraction, smoothing, channel_dropout, fifa):
    config = load_config(preset)
    assert config.train.chunk_fraction == chunk_fraction
    assert config.model.attention_smoothing == smoothing
    assert config.model.channel_dropout == channel_dropout
    decode = config.decode
    assert (decode.fifa_step_size, decode.fifa_length_weight, decode.fifa_sum_weight) == fifa


def test_every_preset_is_valid_and_survives_toml(tmp_path):
    assert {"breakfast", "50salads", "gtea"} <= set(presets())
    for preset in presets():
        config = load_config(preset)
        path = tmp_path / f"{preset}.toml"
        path.write_text(config.as_toml())
        assert load_config(file=path) == config


@settings(deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(0, 1e6, exclude_min=True),
    st.booleans(),
    st.sampled_from(["off", "mean-logit", "mean-probability", "mean-log-probability"]),
)
def test_settings_survive_as_dict(epochs, rate, frame, form):
    changes = {
        "train.epochs": epochs,
        "train.learning_rate": rate,
        "loss.frame": frame,
        "loss.group_frame": form,
    }
    config = Config().replaced(**changes)
    assert (config.train.epochs, config.train.learning_rate) == (epochs, rate)
    assert (config.loss.frame, config.loss.group_frame) == (frame, form)
    assert parse_config(config.as_dict(), where="here") == config
    texts = [f"{name}={json.dumps(value)}" for name, value in changes.items()]
    assert load_config(settings=texts) == config


def test_a_file_then_single_settings(toml):
    path = toml("[train]\nepochs = 3\nseed = 7\n")
    config = load_config(file=path, settings=["train.epochs=5", "model.encoder=plain"])
    assert (config.train.epochs, config.train.seed, config.model.encoder) == (5, 7, "plain")


def test_the_last_of_equal_settings_wins_over_a_preset():
    config = load_config(
        "gtea", settings=["model.channel_dropout=0.1", "model.channel_dropout=0.2"]
    )
    assert config.model.channel_dropout == 0.2
    assert config.decode.fifa_step_size == 0.1


def test_settings_may_be_quoted_or_bare():
    quoted = load_config(settings=['decode.transcript="best"', " train.epochs = 4 "])
    assert quoted == load_config(settings=["decode.transcript=best", "train.epochs=4"])
    assert load_config(settings=["train.learning_rate=1"]).train.learning_rate == 1
    assert load_config(settings=["train.learning_rate=.5"]).train.learning_rate == 0.5


def test_a_file_and_a_setting_may_be_plain_text(toml):
    config = load_config(file=str(toml("[train]\nseed = 7\n")), settings="train.epochs=3")
    assert (config.train.seed, config.train.epochs) == (7, 3)


def test_text_and_booleans_are_no_numbers():
    wrong = []
    for section, values in Config().as_dict().items():
        for name in (name for name, value in values.items() if type(value) is float):
            for value in (True, "0.5"):
                with pytest.raises(ConfigError, match="not a number"):
                    Config().replaced(**{f"{section}.{name}": value})
                wrong.append(name)
    assert {"learning_rate", "fifa_sharpness", "prior", "channel_dropout"} <= set(wrong)


@pytest.mark.parametrize("setting", ["decode.mode_filter=4", "decode.fifa_sharpness=900"])
def test_values_that_decoding_would_refuse_are_refused_at_once(setting):
    with pytest.raises(ConfigError, match=setting.partition("=")[0]):
        load_config(settings=[setting])
    assert load_config(settings=["decode.mode_filter=5"]).decode.mode_filter == 5


def test_a_beam_is_only_what_someone_set(toml):
    """So the decoder of `small` is greedy, though its `best` searches with a beam."""

    def width(*settings, file=None):
        return load_config(file=file, settings=settings).decode.beam_width

    small = load_config("small")
    assert (small.decode.transcript, small.decode.beam_width) == ("best", 0)
    assert small.replaced(**{"decode.transcript": "decoder"}).decode.beam_width == 0
    assert width("decode.transcript=best", "decode.beam_width=1") == 1
    wide = toml("[decode]\nbeam_width = 3\n")
    assert width("decode.transcript=best", file=wide) == width(file=wide) == 3
    assert load_config(file=toml(small.as_toml())) == small


def test_configs_are_frozen_and_replaced_copies():
    config = Config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.train.epochs = 3
    assert config.replaced(**{"train.epochs": 3}).train.epochs == 3
    assert config.train.epochs == 800


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        (
            "train.epochs=-1",
            "--set: train.epochs is -1, below 0; give another value, such as its default 800",
        ),
        ("train.epochs=2.5", "--set: train.epochs is 2.5, not a whole number"),
        ("train.epochs=true", "--set: train.epochs is True, not a whole number"),
        ("train.epochs=", "--set: train.epochs is '', not a whole number"),
        ("train.batch_size=0", "train.batch_size is 0, below 1"),
        ("train.learning_rate=0", "train.learning_rate is 0, not above 0"),
        ("train.learning_rate=nan", "train.learning_rate is nan, not a finite number"),
        ("train.clip_norm=inf", "train.clip_norm is inf, not a finite number"),
        ("model.encoder_dropout=1", "model.encoder_dropout is 1, not below 1"),
        ("loss.frame=maybe", "loss.frame is 'maybe', not true or false"),
        (
            "decode.durations=magic",
            "decode.durations is 'magic', not 'viterbi', 'fifa', 'alignment'",
        ),
        ("train.epoch=5", "train.epoch: no such setting; did you mean epochs?"),
        ("train.zzz=5", "train.zzz: no such setting; the known ones are seed, epochs, "),
        ("trains.epochs=5", "trains: no such setting; did you mean train?"),
        (
            "zzz.epochs=5",
            "no such setting; the known ones are model, loss, train, supervision, decode",
        ),
        ("train.epochs=many", "is 'many', not a whole number; give another value, such as its d"),
        ("model.width=200000", "model.width is 200000, above 2048"),
        ("model.n_encoder_layers=70", "model.n_encoder_layers is 70, above 20"),
        ("decode.beam_width=100000", "decode.beam_width is 100000, above 1000"),
        ("decode.max_segments=1000000", "decode.max_segments is 1000000, above 10000"),
        ("train.epochs=10000000", "train.epochs is 10000000, above 1000000"),
        ("train.learning_rate=1e10", "train.learning_rate is 10000000000.0, above 1000000000"),
        ("decode.mode_filter=4", "decode.mode_filter is 4, not an odd number"),
        (f"train.epochs={'9' * 400}", "9999, above 1000000; give another value"),
        (f"train.epochs={'9' * 5000}", "9999', not a setting; give another value"),
        (f"train.learning_rate={'9' * 400}", "9999, not a number; give another value"),
        (f"train.epochs={'[' * 5000}", "[[[[', not a setting; give another value"),
        ("model.kind=\udc80", r"model.kind is '\udc80', not a valid string"),
        ("train.epochs", "--set 'train.epochs' is not of the form section.name=value; write for"),
        ("epochs=5", "--set 'epochs=5' is not of the form section.name=value; write for example"),
        ("a.b.c=5", "--set 'a.b.c=5' is not of the form section.name=value; write for example"),
    ],
)
def test_a_setting_that_cannot_be_right(setting, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        load_config("gtea", settings=[setting])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[train]\nepoch = 5\n", "run.toml: train.epoch: no such setting; did you mean epochs?"),
        (
            "epochs = 5\n",
            "run.toml: epochs: no such setting; the known ones are model, loss, train, ",
        ),
        ("train = 5\n", "run.toml: train is 5, not a table of values; give another value"),
        ("[train\n", "run.toml: is not valid TOML ("),
        (f"[train]\nepochs = {'9' * 5000}\n", "run.toml: has a number with thousands of digits"),
        (f"[train]\nepochs = {'[' * 9000}\n", "run.toml: is TOML nested too deeply; correct the"),
    ],
)
def test_a_file_that_cannot_be_right_is_named_whatever_is_set(toml, text, sentence):
    for changes in ([], ["train.epochs=3"]):
        with pytest.raises(ConfigError, match=re.escape(sentence)):
            load_config(file=toml(text), settings=changes)
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        load_config(("gtea", str(toml(text))))


def test_where_settings_come_from(tmp_path):
    sentence = f"no preset 'kitchen'; choose from {', '.join(presets())}"
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        load_config("kitchen")
    with pytest.raises(ConfigError, match="both a preset and a file are given; pass one of them"):
        load_config("gtea", tmp_path / "run.toml")
    with pytest.raises(MissingFileError, match=r"run.toml: does not exist; check the path"):
        load_config(file=tmp_path / "run.toml")


def test_replaced_checks_too():
    with pytest.raises(ConfigError, match=r"settings: train.epochs is nan, not a whole number"):
        Config().replaced(**{"train.epochs": math.nan})
    with pytest.raises(ConfigError, match="no such setting; the known ones are"):
        Config().replaced(epochs=3)


def test_a_run_with_a_setting_that_was_given_up_is_read_if_it_did_nothing() -> None:
    values = Config().as_dict()
    values["supervision"]["lengths"] = 0.0
    assert parse_run_config(values, where="run") == Config()
    with pytest.raises(ConfigError, match=r"supervision.lengths: no such setting"):
        parse_config(values, where="file")
    values["supervision"]["lengths"] = 0.5
    with pytest.raises(ConfigError, match=r"supervision.lengths: no such setting"):
        parse_run_config(values, where="run")
