"""docs/adding-a-model.md, followed to the letter."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import sys
from pathlib import Path

import pytest
import torch

from uvast.benchmark.cell import Cell
from uvast.benchmark.matrix import Matrix
from uvast.benchmark.run_cell import run_cell
from uvast.config import ModelConfig, load_config
from uvast.errors import CheckpointError, ConfigError
from uvast.inference import load
from uvast.inference.named_decodings import decodings_of, named_decodings
from uvast.models.build import BUILDERS, Builder, build_model
from uvast.models.checkpoint import ModelCard, load_model, model_tensors, write_checkpoint
from uvast.models.protocols import as_frame_model, gives_boundaries
from uvast.vocabulary import Vocabulary

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-model.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Writes the page's file and makes the page's entry; returns the page's preset."""
    file, line, _ = blocks("python")
    path = tmp_path / "toy.py"
    path.write_text(file, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("toy_of_the_page", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    names = {**vars(module), "Builder": Builder}
    assert line.strip().startswith('"toy": Builder(')
    for kind, builder in eval(f"{{{line}}}", names).items():
        monkeypatch.setitem(BUILDERS, kind, builder)
    preset, _ = blocks("toml")
    (tmp_path / "toy.toml").write_text(preset, encoding="utf-8")
    return load_config(file=tmp_path / "toy.toml")


def test_the_new_model_is_built_from_its_preset(toy):
    module = build_model(toy.model, n_features=6, n_classes=3)
    assert not gives_boundaries(module)
    model = as_frame_model(module)
    features = torch.randn(2, 10, 6)
    mask = torch.arange(10) < torch.tensor([[10], [4]])
    encoded = model.encode(features, mask)
    assert encoded.features.shape == (2, 10, 32)
    assert encoded.logits.shape == (2, 10, 3)
    alone = model.encode(features[1:, :4], None)
    torch.testing.assert_close(encoded.logits[1, :4], alone.logits[0])
    assert model.encode(features[:, :1], None).logits.shape == (2, 1, 3)


def test_its_checkpoint_comes_back(toy, tmp_path):
    model = build_model(toy.model, n_features=6, n_classes=3).eval()
    card = ModelCard(
        kind="toy",
        dimensions=dataclasses.asdict(model.dimensions),
        vocabulary=Vocabulary(("cut", "peel", "eat")),
        config=toy.as_dict(),
    )
    write_checkpoint(tmp_path / "toy.safetensors", model_tensors(model), card)
    loaded, read = load_model(tmp_path / "toy.safetensors")
    features = torch.randn(1, 8, 6)
    assert read == card
    assert loaded.dimensions == model.dimensions
    assert torch.equal(loaded.encode(features, None).logits, model.encode(features, None).logits)


@pytest.mark.parametrize("supervision", ["full", "timestamps"])
def test_it_is_trained_decoded_and_scored_as_every_model(toy, tiny_path, tmp_path, supervision):
    config = toy.replaced(**{"train.epochs": 1, "supervision.kind": supervision})
    ways = named_decodings(decodings_of("toy", alignment=False))
    cell = Cell("toy", str(tiny_path.resolve()), split=1, seed=0, config=config, decodings=ways)
    scores = run_cell(cell, tmp_path / "benchmark")
    assert set(scores) == {"frames", "frames + viterbi", "frames + fifa", "semi-markov"}


def test_without_its_entry_it_is_refused(toy, tmp_path, monkeypatch):
    model = build_model(toy.model, n_features=6, n_classes=3)
    card = ModelCard("toy", dataclasses.asdict(model.dimensions), Vocabulary(("a", "b", "c")))
    write_checkpoint(tmp_path / "toy.safetensors", model_tensors(model), card)
    monkeypatch.delitem(BUILDERS, "toy")
    with pytest.raises(ConfigError, match=re.escape(f"choose from {', '.join(BUILDERS)}")):
        build_model(toy.model, n_features=6, n_classes=3)
    with pytest.raises(CheckpointError, match="unknown kind 'toy'"):
        load_model(tmp_path / "toy.safetensors")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The page's package, as if it were installed; returns the preset's path."""
    file, _, builder = blocks("python")
    preset, project = blocks("toml")
    folder = tmp_path / "site" / "my_models"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "toy.py").write_text(f"{file}\n\n{builder}", encoding="utf-8")
    (group, entries), *_ = re.findall(r'entry-points\."(.*?)"\]\n(.*)', project, re.DOTALL)
    information = tmp_path / "site" / "my_models-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: my-models\nVersion: 1.0\n")
    entry = entries.replace('"', "")
    (information / "entry_points.txt").write_text(f"[{group}]\n{entry}")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "my_models.toy", raising=False)
    (tmp_path / "toy.toml").write_text(preset, encoding="utf-8")
    return tmp_path / "toy.toml"


def test_a_model_of_an_installed_package_takes_part(package, tiny_path, tmp_path):
    matrix = Matrix(
        [tiny_path],
        ["ms-tcn", str(package)],
        splits=[1],
        settings=["toy:train.epochs=1"],
        decodings=["none"],
    )
    toy = matrix.cells()[1]
    assert (toy.model, toy.config.model.kind, toy.config.train.epochs) == ("toy", "toy", 1)
    assert matrix.cells()[0].config.train.epochs == 50
    assert set(run_cell(toy, tmp_path / "benchmark")) == {"frames"}
    assert load(tmp_path / "benchmark" / toy.key).config.model.kind == "toy"
    with pytest.raises(ConfigError, match=re.escape(f"choose from {', '.join(BUILDERS)}, toy")):
        build_model(ModelConfig(kind="other"), n_features=6, n_classes=3)
