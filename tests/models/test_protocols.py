"""What a model says it can do decides how it is trained, decoded and saved, whatever its class."""

from __future__ import annotations

import ast
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch import nn

import uvast
from uvast.benchmark.cell import Cell
from uvast.benchmark.run_cell import run_cell
from uvast.config import ModelConfig, load_config
from uvast.errors import ConfigError
from uvast.inference import load
from uvast.inference.named_decodings import decodings_of, named_decodings
from uvast.inference.option_checks import check_options
from uvast.models import Uvast, UvastDimensions
from uvast.models.build import (
    BUILDERS,
    Builder,
    build_model,
    described_model,
    has_second_stage,
    kind_writes,
)
from uvast.models.ensemble import Ensemble, writers
from uvast.models.protocols import (
    as_aligner,
    as_writer,
    gives_fractions,
    has_alignment,
    has_written_terms,
    written_terms,
)
from uvast.runs import LOG_COLUMNS, RunFolder

OWN = {"uvast"}


class Scribe(nn.Module):
    """Writes transcripts and is no `Uvast`, and has no second stage."""

    writes_transcripts = True
    gives_fractions = True

    def __init__(self, dimensions: UvastDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.inner = Uvast(dimensions)

    def encode(self, features, mask):
        return self.inner.encode(features, mask)

    def decode(self, encoded, mask, tokens, need_weights=False):
        return self.inner.decode(encoded, mask, tokens, need_weights)

    def start(self, encoded, mask):
        return self.inner.start(encoded, mask)

    def written_terms(self, encoded, decoded, mask, targets):
        return {
            "durations": decoded.fractions.sum() * 0 + 7.0,
            "own": decoded.logits.sum() * 0 + 5.0,
        }


@pytest.fixture
def scribe(monkeypatch):
    """Settings of a kind of model that uvast does not know; it is trained for a moment."""

    def dimensions(config: ModelConfig, n_features: int, n_classes: int) -> UvastDimensions:
        found = UvastDimensions.from_config(config, n_features, n_classes)
        return replace(found, explicit_durations=True)

    monkeypatch.setitem(BUILDERS, "scribe", Builder(UvastDimensions, Scribe, dimensions))
    changes = {
        "model.kind": "scribe",
        "model.width": 8,
        "model.attention_width": 4,
        "model.n_encoder_layers": 2,
        "model.decoder_feedforward": 8,
        "train.epochs": 2,
        "train.alignment_epochs": 0,
        "decode.transcript": "decoder",
        "decode.durations": "explicit",
    }
    return load_config("small").replaced(**changes)


@pytest.mark.parametrize("kind", sorted(BUILDERS))
def test_what_our_own_models_say(kind):
    model = build_model(ModelConfig(kind=kind), n_features=3, n_classes=2)
    writes = as_writer(model) is not None
    assert kind_writes(kind) == writes == bool(writers(model))
    assert (kind in OWN) == has_second_stage(ModelConfig(kind=kind))
    assert not has_alignment(model)
    if writes:
        assert all(callable(getattr(model, name)) for name in ("encode", "decode", "start"))
    if (aligner := as_aligner(model)) is not None:
        assert aligner.add_alignment() is aligner.alignment
        assert has_alignment(model)


def test_uvast_gives_fractions_where_its_settings_say_so():
    for explicit in (True, False):
        config = ModelConfig(explicit_durations=explicit)
        assert gives_fractions(build_model(config, n_features=3, n_classes=2)) == explicit


def test_a_module_that_says_nothing_can_do_nothing():
    module = nn.Linear(1, 1)
    assert as_writer(module) is None
    assert as_aligner(module) is None
    assert not gives_fractions(module)
    assert not has_written_terms(module)
    zero = torch.zeros(1)
    assert written_terms(module, zero, zero, zero, zero) == {}
    assert not kind_writes("no such kind")


def test_a_writer_of_another_class_is_trained_decoded_and_scored(scribe, tiny_path, tmp_path):
    assert kind_writes("scribe")
    assert not has_second_stage(scribe.model)
    ways = named_decodings([*decodings_of("scribe", alignment=False), "explicit"])
    cell = Cell("scribe", str(tiny_path.resolve()), split=1, seed=0, config=scribe, decodings=ways)
    scores = run_cell(cell, tmp_path / "benchmark")
    assert {"transcript", "viterbi", "fifa", "semi-markov", "best", "explicit"} <= set(scores)
    assert "alignment" not in scores
    run = tmp_path / "benchmark" / cell.key
    assert isinstance(load(run).module, Scribe)
    last = RunFolder(run).read_log()[-1]
    assert last["durations"] == 7.0  # its own term took the common one's place
    named = sum(value for name, value in last.items() if name in LOG_COLUMNS[5:])
    assert last["loss"] == pytest.approx(named, abs=1e-3)
    assert last["other"] == 5.0  # one that has no column counts


def test_a_writer_without_a_second_stage_is_not_sent_to_train_it(scribe):
    model = build_model(scribe.model, n_features=3, n_classes=2)
    options = scribe.replaced(**{"decode.durations": "alignment"}).decode
    with pytest.raises(ConfigError) as error:
        check_options(model, options)
    assert "stage 2" not in str(error.value)
    check_options(model, scribe.decode)


def test_an_ensemble_asks_those_that_write(scribe):
    members = [
        build_model(scribe.model, n_features=3, n_classes=2),
        build_model(ModelConfig(kind="ms-tcn"), n_features=3, n_classes=2),
    ]
    assert writers(Ensemble(members, [False, False], [False, False])) == (members[0],)


SOURCES = Path(uvast.__file__).parent
MODULES = {type(described_model(ModelConfig(kind=kind))).__module__ for kind in BUILDERS}


def classes_of_models() -> dict[str, Path]:
    """Every class that the file of one model defines, and that file."""
    files = [Path(import_module(name).__file__) for name in MODULES]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    return {
        node.name: file
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def asked_for_by_isinstance(file: Path) -> set[str]:
    """The names in the second argument of every `isinstance` in a file."""
    calls = (
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
    )
    inner = (part for call in calls for part in ast.walk(call.args[1]))
    return {getattr(part, "id", getattr(part, "attr", "")) for part in inner}


def test_no_code_asks_which_model_it_has():
    classes = classes_of_models()
    assert {"Uvast", "Mucon", "Bcn"} <= classes.keys()
    for file in SOURCES.rglob("*.py"):
        asked = asked_for_by_isinstance(file) & classes.keys()
        assert all(classes[name] == file for name in asked), (file, asked)


def test_the_file_of_a_model_is_imported_by_models_alone():
    assert {"uvast.models.uvast", "uvast.models.mucon"} <= MODULES
    for file in SOURCES.rglob("*.py"):
        if file.parent.name != "models":
            text = file.read_text(encoding="utf-8")
            assert not [name for name in MODULES if f"from {name} import" in text], file
