"""The shipped numbers: complete, marked, and those of the papers."""

from __future__ import annotations

import pytest

from uvast.benchmark.published import published_tables
from uvast.config import load_config

FIVE = ("f1@10", "f1@25", "f1@50", "edit", "acc")


def numbers(table, row, dataset):
    return tuple(published_tables()[table].rows[row][dataset].values())


# Typed by hand from the papers: one number list per table at least.
@pytest.mark.parametrize(
    ("table", "row", "dataset", "expected"),
    [
        ("fully-supervised", "TDRN", "gtea", (79.2, 74.4, 62.7, 74.1, 70.1)),
        ("fully-supervised", "ASFormer + FIFA", "breakfast", (76.8, 71.4, 58.9, 75.6, 73.7)),
        ("fully-supervised", "UVAST + Viterbi", "50salads", (89.1, 87.6, 81.7, 83.9, 87.4)),
        ("fully-supervised", "UVAST + FIFA", "gtea", (82.9, 79.4, 64.7, 90.5, 69.8)),
        ("fully-supervised", "UVAST w/o duration", "gtea", (92.1,)),
        ("timestamps", "Li et al.", "50salads", (73.9, 70.9, 60.1, 66.8, 75.6)),
        ("timestamps", "MS-TCN + Viterbi", "breakfast", (43.3, 37.2, 25.6, 43.5, 35.9)),
        ("timestamps", "UVAST + Viterbi", "gtea", (87.2, 83.7, 66.0, 89.3, 70.5)),
        ("k-medoids", "Constrained k-medoids", "50salads", (97.5, 90.4, 75.6, 81.3)),
        (
            "k-medoids-unconstrained",
            "Unconstrained k-medoids",
            "gtea",
            (71.0, 68.2, 52.9, 59.8, 69.6),
        ),
        (
            "duration-prediction",
            "+ Alignment Decoder: full loss + AD",
            "breakfast",
            (77.1, 72.0, 60.4, 78.2, 71.7),
        ),
        ("loss-terms", "frame + segment + CA", "50salads", (74.2, 71.0, 58.4, 65.5)),
        ("encoders", "UVAST Timestamp with Proposed Encoder", "50salads", (78.3,)),
        ("split-segment", "No Split-Segment", "gtea", (88.2,)),
        ("split-values", "0.3", "breakfast", (75.4,)),
        ("group-losses", "g-frame mean-logit, g-segment mean-logit", "50salads", (78.1,)),
        ("peers-fully-supervised", "MS-TCN", "50salads", (76.3, 74.0, 64.5, 67.9, 80.7)),
        ("later-fully-supervised", "ActFusion", "gtea", (94.1, 93.3, 86.9, 91.6, 81.9)),
        ("later-fully-supervised", "DiffAct + TST", "gtea", (94.2, 93.0, 87.1, 90.9, 81.4)),
        ("later-fully-supervised", "SEDT", "50salads", (89.9, 88.7, 81.1, 84.7, 86.5)),
        ("later-fully-supervised", "DPRN", "breakfast", (75.6, 70.5, 57.6, 75.1, 71.7)),
        ("later-fully-supervised", "HASR", "gtea", (90.9, 88.6, 76.4, 87.5, 78.7)),
        ("later-timestamps", "BVN", "breakfast", (77.3, 69.7, 51.2, 76.5, 68.3)),
        ("later-timestamps", "EM-TSS", "gtea", (82.7, 66.5, 82.3, 70.5)),
    ],
)
def test_numbers_are_those_of_the_papers(table, row, dataset, expected):
    assert numbers(table, row, dataset) == expected


def test_every_table_says_what_it_is():
    for name, table in published_tables().items():
        later = " later" * name.startswith("later-")
        assert table.mark == f"published{later}, I3D features"
        assert table.remarks.keys() <= table.rows.keys()
        assert "paper" in table.source
        assert table.source.endswith(("(split 1)", "(mean over all splits)", "(all splits)"))
        assert table.rows
        for datasets in table.rows.values():
            assert set(datasets) <= {"breakfast", "50salads", "gtea"}


def test_scores_are_percentages_and_f1_falls_with_the_threshold():
    for table in published_tables().values():
        if not set(table.columns) <= set(FIVE):
            continue
        for row in table.rows.values():
            for scores in row.values():
                assert all(0 < one <= 100 for one in scores.values())
                f1 = [scores[name] for name in FIVE[:3] if name in scores]
                assert f1 == sorted(f1, reverse=True)


def test_a_dash_is_left_out():
    rows = published_tables()["fully-supervised"].rows
    assert dict(rows["UVAST w/o duration"]["breakfast"]) == {"edit": 76.9}
    assert "breakfast" not in rows["TDRN"]


@pytest.mark.parametrize("dataset", ["gtea", "50salads", "breakfast"])
def test_presets_are_the_published_hyper_parameters(dataset):
    config = load_config(preset=dataset)
    published = published_tables()["hyper-parameters"].rows["UVAST"][dataset]
    ours = {
        "batch size": config.train.batch_size,
        "learning rate": config.train.learning_rate,
        "epochs": config.train.epochs,
        "width": config.model.width,
        "temperature": config.loss.temperature,
        "split segment": config.train.chunk_fraction,
        "encoder layers": config.model.n_encoder_layers,
        "decoder layers": config.model.n_decoder_layers,
        "decoder feedforward": config.model.decoder_feedforward,
        "alignment feedforward": config.model.alignment_feedforward,
        "FIFA steps": config.decode.fifa_steps,
        "FIFA sharpness": config.decode.fifa_sharpness,
        "FIFA step size": config.decode.fifa_step_size,
    }
    if config.model.attention_smoothing:
        ours["smoothing kernel"] = config.model.attention_smoothing
    beside = {
        "sampling rate",
        "stage 1 parameters, M",
        "alignment layers",
        "stage 2 parameters, M",
        "Viterbi frame sampling",
    }
    assert ours == {name: value for name, value in published.items() if name not in beside}


def test_rows_whose_epoch_was_chosen_on_the_test_side_say_so():
    tables = published_tables()
    chosen = {
        row
        for name in ("fully-supervised", "later-fully-supervised")
        for row, remark in tables[name].remarks.items()
        if "epoch chosen on the test side" in remark
    }
    assert chosen == {"BCN", "Singhania et al.", "DiffAct", "DiffAct + TST"}
    assert tables["fully-supervised"].remarks["SSTDA"] == "transductive"
