"""Every row of every table of the paper is there, and is the configuration it says."""

from __future__ import annotations

from dataclasses import fields

import pytest

from uvast.benchmark.paper_tables import find_table, tables
from uvast.benchmark.reproduce import Reproduction
from uvast.benchmark.systems import SYSTEMS, TABLES
from uvast.benchmark.tables import Row, make_table, preset_settings
from uvast.config import Config, DecodeConfig, load_config
from uvast.errors import ConfigError
from uvast.inference.named_decodings import DECODINGS, decodings_of
from uvast.models.build import (
    BUILDERS,
    build_model,
    described_model,
)
from uvast.models.protocols import gives_boundaries, gives_fractions

# Typed by hand from the paper, in its order. A star marks what other groups made: numbers only.
PAPER = {
    "fully-supervised": """
        *TDRN
        *SSA-GAN
        MuCon
        DTGRM
        *Gao et al.
        MS-TCN++
        BCN
        SSTDA
        Singhania et al.
        ASRF
        ASFormer
        ASFormer + Viterbi
        ASFormer + FIFA
        UVAST w/o duration
        UVAST + alignment decoder
        UVAST + Viterbi
        UVAST + FIFA""",
    "timestamps": """
        Li et al.
        MS-TCN
        MS-TCN + Viterbi
        MS-TCN + FIFA
        ASFormer
        ASFormer + Viterbi
        ASFormer + FIFA
        UVAST + alignment decoder
        UVAST + Viterbi
        UVAST + FIFA""",
    "k-medoids": """
        Constrained k-medoids""",
    "duration-prediction": """
        Vanilla Transformer: segment + MSE
        + Frame-wise Loss: segment + frame + MSE
        + Frame-wise Loss: full loss + MSE
        + Alignment Decoder: segment + frame + AD
        + Alignment Decoder: full loss + AD""",
    "loss-terms": """
        frame
        segment
        frame + segment
        frame + segment + CA
        frame + segment + g-frame
        frame + segment + g-segment
        frame + segment + g-frame + g-segment
        frame + segment + g-frame + g-segment + CA""",
    "encoders": """
        UVAST with Simple Encoder
        UVAST with ASFormer Encoder
        UVAST with Proposed Encoder
        UVAST Timestamp with ASFormer Encoder
        UVAST Timestamp with Proposed Encoder""",
    "split-segment": """
        No Split-Segment
        With Split-Segment""",
    "split-values": """
        0.05
        0.1
        0.15
        0.17
        0.2
        0.3""",
    "k-medoids-unconstrained": """
        Constrained k-medoids
        Unconstrained k-medoids""",
    "group-losses": """
        g-frame mean-probability, g-segment mean-probability
        g-frame mean-logit, g-segment mean-logit
        g-frame mean-probability, g-segment mean-logit""",
}

# The datasets, the split (0: all) and the columns that the paper's table has.
SHAPES = {
    "fully-supervised": ("breakfast 50salads gtea", 0, "f1@10 f1@25 f1@50 edit acc"),
    "timestamps": ("breakfast 50salads gtea", 0, "f1@10 f1@25 f1@50 edit acc"),
    "k-medoids": ("breakfast 50salads gtea", 0, "f1@10 f1@25 f1@50 acc"),
    "duration-prediction": ("breakfast", 1, "f1@10 f1@25 f1@50 edit acc"),
    "loss-terms": ("breakfast 50salads", 1, "f1@10 f1@25 f1@50 edit"),
    "encoders": ("breakfast 50salads gtea", 1, "edit"),
    "split-segment": ("breakfast 50salads gtea", 1, "edit"),
    "split-values": ("breakfast", 1, "edit"),
    "k-medoids-unconstrained": ("breakfast 50salads gtea", 0, "f1@10 f1@25 f1@50 edit acc"),
    "group-losses": ("50salads", 1, "edit"),
}

OWN_CLICKS = ("Li et al.",)
"""Systems that make pseudo-labels from clicks in a way of their own."""

MODEL_ROWS = [
    pytest.param(table, row, id=f"{table.name}/{row.name}")
    for table in tables().values()
    for row in table.runnable
    if row.kind == "model"
]


def paper_rows(name):
    return [line.strip() for line in PAPER[name].strip().splitlines()]


def row_of(table, name):
    (found,) = (one for one in find_table(table).rows if one.name == name)
    return found


@pytest.fixture
def config_of(tiny):
    """What the command trains for a row, with the decoding that it scores."""

    def config_of(table, row, preset="gtea"):
        row = row_of(table, row) if isinstance(row, str) else row
        cell = next(Reproduction(find_table(table), tiny, "paper", preset).cells_of(row))
        (decoding,) = cell.decodings.values()
        return cell.config.replaced(**{f"decode.{name}": one for name, one in decoding.items()})

    return config_of


@pytest.mark.parametrize("name", PAPER)
def test_every_row_of_the_paper_is_found_in_its_order(name):
    table = find_table(name)
    expected = paper_rows(name)
    assert [one.name for one in table.rows if one.in_paper] == [e.lstrip("*") for e in expected]
    for line in expected:
        row = row_of(name, line.lstrip("*"))
        assert (row.kind == "published") == line.startswith("*")
        assert row.published


def test_there_are_no_other_tables():
    assert list(tables()) == list(PAPER)


@pytest.mark.parametrize("name", SHAPES)
def test_tables_are_about_the_datasets_splits_and_scores_of_the_paper(name):
    table = find_table(name)
    datasets, split, columns = SHAPES[name]
    in_paper = [one for one in table.rows if one.in_paper]
    assert {dataset for row in in_paper for dataset in row.published} == set(datasets.split())
    assert (table.split or 0) == split
    assert table.columns == tuple(columns.split())
    assert ("(split 1)" if split else "(mean over all splits)") in table.source
    assert table.caption.endswith(".")
    assert {one.mark for one in in_paper} == {"published, I3D features"}


@pytest.mark.parametrize("name", PAPER)
def test_names_are_unique(name):
    rows = find_table(name).rows
    assert len({one.name for one in rows}) == len(rows)


@pytest.mark.parametrize(("table", "row"), MODEL_ROWS)
def test_every_model_row_is_a_config_that_builds(config_of, table, row):
    for preset in (None, "50salads"):
        config = config_of(table.name, row, preset)
        assert config.model.kind in BUILDERS
    assert row.pseudo_labels is None
    assert row.decode.keys() <= {field.name for field in fields(DecodeConfig)}
    assert not any(name.startswith("decode.") for name in row.settings)
    small = config.replaced(**{"model.width": 8, "model.decoder_feedforward": 8})
    build_model(small.model, n_features=4, n_classes=3)


@pytest.mark.parametrize(("table", "row"), MODEL_ROWS)
def test_every_decoding_fits_its_model(config_of, table, row):
    config = config_of(table.name, row, None)
    has_lengths = gives_fractions(described_model(config.model))
    if config.model.kind != "uvast":
        ways = decodings_of(
            config.model.kind,
            alignment=False,
            explicit=has_lengths,
            boundaries=gives_boundaries(described_model(config.model)),
        )
        assert row.decode in [DECODINGS[way] for way in ways]
    if config.decode.durations == "alignment" and config.decode.transcript == "decoder":
        assert config.train.alignment_epochs > 0
    if config.decode.durations == "explicit":
        assert has_lengths
    if config.decode.transcript == "decoder":
        assert config.loss.segment


@pytest.mark.parametrize(("table", "row"), MODEL_ROWS)
def test_supervision_is_that_of_the_table(config_of, table, row):
    supervision = config_of(table.name, row, None).supervision
    by_timestamps = table.name == "timestamps" or "Timestamp" in row.name
    assert supervision.kind == ("timestamps" if by_timestamps else "full")
    if by_timestamps and row.name.partition(" + ")[0] not in OWN_CLICKS:
        assert (supervision.method, supervision.prior, supervision.refresh_every) == (
            "k-medoids",
            0.0,
            0,
        )


@pytest.mark.parametrize(
    ("table", "model"),
    [
        *((table, "UVAST") for table in TABLES),
        *((table, one.name) for one in SYSTEMS for table in one.tables),
    ],
)
def test_every_model_comes_with_every_decoding_from_one_training(tiny, config_of, table, model):
    bare = "UVAST w/o duration" if model == "UVAST" else model
    names = [*(f"{model} + {way}" for way in ("Viterbi", "FIFA", "semi-Markov")), bare]
    task = Reproduction(find_table(table), tiny)
    cells = [next(task.cells_of(row_of(table, name))) for name in names]
    assert len({cell.key for cell in cells}) == 1
    assert len({name for cell in cells for name in cell.decodings}) == 4
    assert config_of(table, names[0]).decode.durations == "viterbi"
    assert config_of(table, names[1]).decode.durations == "fifa"


@pytest.mark.parametrize("preset", ["ms-tcn", "asformer"])
def test_rows_are_of_the_model_they_name_whatever_the_preset(config_of, preset):
    assert config_of("fully-supervised", "UVAST + Viterbi", preset).model.kind == "uvast"
    assert config_of("encoders", "UVAST with Simple Encoder", preset).model.kind == "uvast"
    assert config_of("fully-supervised", "MS-TCN++", preset).model.kind == "ms-tcn++"


def test_baselines_keep_their_published_settings_on_a_datasets_preset(config_of):
    config = config_of("fully-supervised", "ASFormer + FIFA")
    assert (config.model.kind, config.train.epochs, config.loss.smoothing) == (
        "asformer",
        120,
        0.15,
    )
    # GTEA's own: the rate of channel dropout, and FIFA's step.
    assert (config.model.channel_dropout, config.decode.fifa_step_size) == (0.5, 0.1)
    plain = config_of("timestamps", "MS-TCN")
    assert (plain.model.channel_dropout, plain.train.weight_decay) == (0.0, 0.0)


def test_the_loss_terms_are_those_of_the_names(config_of):
    for name in paper_rows("loss-terms"):
        loss = config_of("loss-terms", name).loss
        terms = name.split(" + ")
        assert loss.frame == ("frame" in terms)
        assert loss.segment == ("segment" in terms)
        assert (loss.group_frame != "off") == ("g-frame" in terms)
        assert (loss.group_segment != "off") == ("g-segment" in terms)
        assert loss.cross_attention == ("CA" in terms)
    full = config_of("loss-terms", paper_rows("loss-terms")[-1])
    assert full.loss == load_config(preset="gtea").loss


def test_the_steps_of_duration_prediction(config_of):
    steps = [config_of("duration-prediction", name) for name in paper_rows("duration-prediction")]
    assert [one.model.explicit_durations for one in steps] == [True, True, True, False, False]
    assert [one.loss.frame for one in steps] == [False, True, True, True, True]
    assert [one.loss.cross_attention for one in steps] == [False, False, True, False, True]
    assert [one.decode.durations for one in steps] == ["explicit"] * 3 + ["alignment"] * 2


def test_encoders_chunks_and_group_forms(config_of):
    encoders = [config_of("encoders", name).model.encoder for name in paper_rows("encoders")]
    assert encoders == ["plain", "asformer", "uvast", "asformer", "uvast"]
    for name in paper_rows("split-values"):
        assert config_of("split-values", name).train.chunk_fraction == float(name)
    cuts = [
        config_of("split-segment", name, "50salads").train.chunk_fraction
        for name in paper_rows("split-segment")
    ]
    assert cuts == [0.0, 0.15]
    for name in paper_rows("group-losses"):
        loss = config_of("group-losses", name).loss
        assert name == f"g-frame {loss.group_frame}, g-segment {loss.group_segment}"


def test_pseudo_label_rows_say_how_they_are_made():
    made = {
        row.name: (row.pseudo_labels.method, row.pseudo_labels.prior)
        for name in ("k-medoids", "k-medoids-unconstrained")
        for row in find_table(name).runnable
        if row.kind == "pseudo-labels"
    }
    assert made["Constrained k-medoids"] == ("k-medoids", 0.0)
    assert made["Unconstrained k-medoids"][0] == "unconstrained"
    assert made["Midpoint"][0] == "midpoint"
    assert made["Constrained k-medoids, midpoint prior 0.25"] == ("k-medoids", 0.25)


def test_rows_beyond_the_paper_follow_and_say_so():
    rows = find_table("fully-supervised").rows
    flags = [one.in_paper for one in rows]
    assert flags == sorted(flags, reverse=True)
    peer = row_of("fully-supervised", "MS-TCN")
    assert (peer.kind, peer.in_paper, peer.mark) == ("model", False, "published, I3D features")
    later = row_of("fully-supervised", "ActFusion")
    assert (later.kind, later.mark) == ("published", "published later, I3D features")
    assert peer.published["gtea"]["edit"] == 79.0
    assert not row_of("timestamps", "MS-TCN++ + FIFA").published


def test_a_row_without_numbers_of_a_paper_is_kept():
    table = make_table("split-segment", "A test.", [Row("Ours", settings={"train.epochs": 3})])
    assert [one.name for one in table.rows] == ["No Split-Segment", "With Split-Segment", "Ours"]
    assert [one.kind for one in table.rows] == ["published", "published", "model"]
    assert table.runnable[0].config(Config()).train.epochs == 3


def test_preset_settings_rebuild_the_preset():
    for preset in (*(one.preset for one in SYSTEMS), "gtea"):
        assert Config().replaced(**preset_settings(preset)) == load_config(preset=preset)


def test_a_baselines_settings_win_over_another_preset_also_where_they_are_the_defaults():
    small = load_config("small")
    for preset in (one.preset for one in SYSTEMS):
        assert small.replaced(**preset_settings(preset)) == load_config(("small", preset))


def test_unknown_names_are_refused():
    with pytest.raises(ConfigError, match="unknown table 'losses'; choose from fully-supervised"):
        find_table("losses")
