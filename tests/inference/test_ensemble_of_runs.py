"""Runs to one run folder that is a model like any other."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import CheckpointError, ConfigError, OutputError, UvastError
from uvast.features.record import ExtractorRecord
from uvast.inference.doubts import Doubts, member_divergences
from uvast.inference.ensemble import make_ensemble
from uvast.inference.member_priors import mean_priors
from uvast.inference.named_decodings import DECODINGS
from uvast.inference.prediction_folder import make_manifest
from uvast.inference.search import (
    Transcript,
    greedy_transcripts,
    transcript_log_probabilities,
)
from uvast.inference.temperature import Temperature, tempered
from uvast.inference.weights import DecodingWeights
from uvast.models.checkpoint import ModelCard, read_checkpoint, write_checkpoint
from uvast.models.ensemble import writers_of
from uvast.models.uvast import Encoded
from uvast.projects.numbered_runs import newest_run
from uvast.runs import RunFolder, checkpoint_hash
from uvast.segments import Segmentation
from uvast.training import train
from uvast.web.job_views import run_views

FRAME_WISE = {
    "model.kind": "ms-tcn",
    "train.alignment_epochs": 0,
    "train.scaling": False,
    "decode.transcript": "frames",
    "decode.durations": "none",
}


@pytest.fixture(scope="module")
def runs(
    run: Path, tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A trained one; another seed, without chunks and its second stage; a frame-wise one."""
    folder = tmp_path_factory.mktemp("members")
    kinds = {
        "other": {"train.seed": 1, "train.chunk_fraction": 0.0, "train.alignment_epochs": 0},
        "ms-tcn": FRAME_WISE,
    }
    return {"run": run} | {
        name: train(tiny_path, folder / name, config=small_config.replaced(**kind), split=1).path
        for name, kind in kinds.items()
    }


OTHER = ("explicit", "boundaries")
"""Decodings of models that these runs do not have."""


@pytest.fixture(scope="module")
def mixed(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ensembles") / "mixed"
    return make_ensemble([runs["ms-tcn"], runs["run"], runs["other"]], out).path


def with_card(run: Path, copy: Path, **changes: object) -> Path:
    """A copy of a run whose model card is another one."""
    shutil.copytree(run, copy)
    for name in ("best", "last"):
        path = copy / f"{name}.safetensors"
        found = read_checkpoint(path)
        extra = {key: text for key, text in found.metadata.items() if key == "progress"}
        write_checkpoint(path, found.tensors, replace(found.card, **changes), extra)
    return copy


def test_the_same_run_twice_is_the_run_to_the_digit(
    run: Path, tiny: Dataset, tmp_path: Path
) -> None:
    alone, twice = uvast.load(run), uvast.load(make_ensemble([run, run], tmp_path / "twice").path)
    videos = [tiny.video(name) for name in tiny.side(1, "test")[:2]]
    names = [name for name in DECODINGS if name not in OTHER]
    decodings = {name: alone.options(**DECODINGS[name]) for name in names}
    expected, found = (one.segment_by(videos, decodings) for one in (alone, twice))
    for name in names:
        for left, right in zip(expected[name], found[name], strict=True):
            own = right.as_dict()
            for segment in own["segments"]:
                assert segment.pop("divergence") == 0
            assert own == left.as_dict(), name
    frames = [one.encode_batch(videos).frames for one in (alone, twice)]
    for left, right in zip(*frames, strict=True):
        np.testing.assert_array_equal(left.log_probabilities, right.log_probabilities)


def test_models_of_different_kinds_work_together(mixed: Path, tiny: Dataset) -> None:
    model = uvast.load(mixed)
    assert model.config.decode.transcript != "frames"  # the decoding of a member that writes
    assert model.origin == "ensemble of 3 (ms-tcn, uvast, uvast)"
    videos = [tiny.video(name) for name in tiny.side(1, "test")]
    names = [name for name in DECODINGS if name not in OTHER and "fifa" not in name]
    found = model.segment_by(videos, {name: model.options(**DECODINGS[name]) for name in names})
    for name, predictions in found.items():
        for video, prediction in zip(videos, predictions, strict=True):
            if name != "transcript":
                assert prediction.segmentation.n_frames == video.source_frames
    with pytest.raises(ConfigError, match="durations 'explicit' need a model that was trained"):
        model.segment(videos[0].features, transcript="decoder", durations="explicit")


@pytest.mark.parametrize(
    ("changes", "transcript"),
    [
        ({"decode.transcript": "boundaries", "decode.durations": "none"}, "frames"),
        ({"decode.transcript": "semi-markov", "decode.boundary_weight": 0.5}, "semi-markov"),
    ],
)
def test_boundaries_that_not_all_members_have_are_left_out(
    runs: dict[str, Path],
    tiny: Dataset,
    small_config: Config,
    tmp_path: Path,
    changes: dict[str, object],
    transcript: str,
) -> None:
    own = {**FRAME_WISE, **changes, "model.kind": "asrf", "train.epochs": 1}
    asrf = train(tiny, tmp_path / "asrf", config=small_config.replaced(**own), split=1).path
    features = tiny.video(tiny.names[0]).features
    mixed = uvast.load(make_ensemble([asrf, runs["ms-tcn"]], tmp_path / "mixed").path)
    assert mixed.config.decode.transcript == transcript
    assert mixed.config.decode.boundary_weight == 0
    assert mixed.segment(features).segments
    twice = uvast.load(make_ensemble([asrf, asrf], tmp_path / "twice").path)
    assert twice.config.decode == uvast.load(asrf).config.decode


def test_the_decoders_score_is_the_mean_over_those_that_write(
    mixed: Path, runs: dict[str, Path], tiny: Dataset
) -> None:
    model, video = uvast.load(mixed), tiny.video(tiny.side(1, "test")[0])
    batch = model.encode_batch([video])
    (found,) = model.candidates(batch, model.options(transcript="best"))
    parts = writers_of(model.module, batch.encoded)
    chunks = [uvast.load(runs[name]).priors.chunk_fraction for name in ("run", "other")]
    assert chunks[0] > 0 == chunks[1]
    differences = []
    for segmentation, score in zip(found.segmentations, found.parts[:, 3], strict=True):
        scores = []
        for part, chunk in zip(parts, chunks, strict=True):
            tokens = segmentation.chunked(chunk) if chunk else segmentation
            scores += transcript_log_probabilities(
                *part, batch.mask, model.vocabulary, [tokens.transcript]
            )
        differences.append(score - np.mean(scores))
    assert min(differences) == pytest.approx(0, abs=1e-4)
    assert np.isclose(differences, 0, atol=1e-4).sum() > 1  # others score more in other chunks
    written = [
        one.candidates(one.encode_batch([video]), one.options(transcript="best"))[0]
        for one in map(uvast.load, (runs["run"], runs["other"]))
    ]
    assert len(found.segmentations) > max(len(one.segmentations) for one in written) - 3


def test_a_member_that_comes_to_no_end_is_not_heard(
    mixed: Path, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_asked = 0

    def first_one_loops(*given: object, **options: object) -> tuple[Transcript, ...]:
        nonlocal n_asked
        n_asked += 1
        found = greedy_transcripts(*given, **options)
        return tuple(replace(one, ended=n_asked > 1) for one in found)

    monkeypatch.setattr("uvast.inference.writing.greedy_transcripts", first_one_loops)
    features = tiny.video(tiny.names[0], labels=False).features
    found = uvast.load(mixed).segment(features, transcript="decoder", durations="none")
    assert n_asked == 2
    assert found.complete


def test_an_ensemble_needs_none_of_the_runs_it_was_made_of(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    copies = [shutil.copytree(runs[name], tmp_path / name) for name in ("run", "ms-tcn")]
    out = make_ensemble(copies, tmp_path / "here").path
    features = tiny.video(tiny.names[0]).features
    before = uvast.load(out).segment(features)
    for copy in copies:
        shutil.rmtree(copy)
    moved = out.rename(tmp_path / "there")
    assert uvast.load(moved).segment(features).as_dict() == before.as_dict()
    assert uvast.load(moved / "best.safetensors").segment(features).as_dict() == before.as_dict()
    folder, config, info = RunFolder.open(moved)
    assert folder.is_finished()
    assert config == uvast.load(moved).config
    assert [one.source for one in info.members] == [str(copy.resolve()) for copy in copies]
    hashes = [checkpoint_hash(runs[name] / "best.safetensors") for name in ("run", "ms-tcn")]
    assert [one.sha256 for one in info.members] == hashes


def test_what_any_member_has_learned_from_is_no_test_video(
    runs: dict[str, Path], tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    quick = small_config.replaced(**FRAME_WISE, **{"train.epochs": 1})
    second = train(tiny_path, tmp_path / "second", config=quick, split=2).path
    held = quick.replaced(**{"train.validation": 0.5})
    third = train(tiny_path, tmp_path / "third", config=held, split=1).path
    infos = [RunFolder.open(one).info for one in (runs["ms-tcn"], second, third)]
    assert infos[2].validation
    info = RunFolder.open(make_ensemble([runs["ms-tcn"], second], tmp_path / "a").path).info
    assert info.split is None
    assert set(info.train) == {*infos[0].train, *infos[1].train}
    info = RunFolder.open(make_ensemble([runs["ms-tcn"], third], tmp_path / "b").path).info
    assert (info.split, info.validation) == (1, ())  # the other one has learned from those
    manifest = make_manifest(tmp_path / "a", [], uvast.load(tmp_path / "a").options(), ("txt",))
    assert set(manifest.train) == {*infos[0].train, *infos[1].train}


def test_an_ensemble_among_the_runs_brings_its_members(
    mixed: Path, runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    order = [runs[name] for name in ("ms-tcn", "run", "other", "run")]
    flat = make_ensemble(order, tmp_path / "flat").path
    nested = make_ensemble([mixed, runs["run"]], tmp_path / "nested").path
    features = tiny.video(tiny.names[0]).features
    one, other = uvast.load(flat), uvast.load(nested)
    assert one.segment(features).as_dict() == other.segment(features).as_dict()
    assert RunFolder.open(flat).info.members == RunFolder.open(nested).info.members


def test_weights_are_the_members_median_and_equal_priors_stay(run: Path, mixed: Path) -> None:
    own, ensemble = uvast.load(run).priors, uvast.load(mixed).module
    priors = [
        # the first is of a model without a transcript decoder
        replace(own, weights=DecodingWeights.of_power(0.1, decoder=9.0)),
        replace(own, weights=DecodingWeights.of_power(0.3, decoder=1.0)),
        replace(own, weights=DecodingWeights.of_power(0.2, decoder=2.0), chunk_fraction=0.0),
    ]
    found = mean_priors(priors, ensemble)
    assert found.weights == DecodingWeights(0.2, 0.2, 0.2, 1.0), "the lower of two"
    assert found.writer_chunks == (own.chunk_fraction, 0.0)
    assert (found.poisson, found.gamma) == (own.poisson, own.gamma)
    np.testing.assert_array_equal(found.transitions.initial, own.transitions.initial)
    np.testing.assert_array_equal(found.transitions.bigram, own.transitions.bigram)


def test_each_member_shows_its_confidences_at_its_own_temperature(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    paths = []
    for name, temperature in (
        ("run", Temperature(3.0)),
        ("other", Temperature(1.5, 0.4, 0.6, 0.1)),
    ):
        priors = replace(uvast.load(runs[name]).priors, temperature=temperature)
        paths.append(with_card(runs[name], tmp_path / name, decoding=priors.as_dict()))
    alone = [uvast.load(path) for path in paths]
    both = uvast.load(make_ensemble(paths, tmp_path / "both").path)
    video = tiny.video(tiny.names[0])
    own = [np.exp(one.tempered(one.encode_batch([video]).frames[0])) for one in alone]
    encoded = both.encode_batch([video])
    shown = np.exp(both.tempered(encoded.frames[0]))
    np.testing.assert_allclose(shown, np.mean(own, axis=0), rtol=1e-5)
    (found,) = both.decode_batch(encoded, both.options(transcript="semi-markov"))
    labels = found.segmentation.labels[:: both.sampling_rate]
    assert found.confidence == pytest.approx(shown[np.arange(len(shown)), labels].mean())
    # several looks at a video leave one mean, which has the usual temperature
    options = both.options(rates=(0.5, 1.0))
    (again,) = both.encode_batch([video], options).frames
    logs = again.log_probabilities
    expected = tempered(logs, both.priors.temperature.of(logs))
    np.testing.assert_array_equal(both.tempered(again), expected)


def _extractor(rate: float) -> ExtractorRecord:
    return ExtractorRecord("pixels", ("1",), (6,), rate)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sampling_rate": 2}, "their sampling rates are 1 and 2"),
        (
            {"extractor": _extractor(15.0)},
            "their features were made by an unknown extractor and by pixels (version 1, 15 frames "
            "per second)",
        ),
    ],
    ids=["rate", "extractor"],
)
def test_runs_that_do_not_fit_are_both_named(
    runs: dict[str, Path], tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    other = with_card(runs["ms-tcn"], tmp_path / "other", **changes)
    with pytest.raises(ConfigError) as caught:
        make_ensemble([runs["run"], other], tmp_path / "out")
    assert str(caught.value).startswith(
        f"{other}: cannot be in one ensemble with {runs['run']}: {reason}; "
    )
    assert not (tmp_path / "out").exists()


def test_other_classes_and_widths_do_not_fit(
    runs: dict[str, Path], small_config: Config, tmp_path: Path
) -> None:
    quick = small_config.replaced(**FRAME_WISE, **{"train.epochs": 1})
    for name, n_classes, n_features in (("classes", 4, 6), ("widths", 5, 3)):
        data, sizes = tmp_path / f"{name}-data", {"n_videos": 3, "n_frames": 50}
        uvast.generate_dataset(data, n_classes=n_classes, n_features=n_features, **sizes)
        train(data, tmp_path / name, config=quick)
    with pytest.raises(ConfigError, match="their classes differ"):
        make_ensemble([runs["run"], tmp_path / "classes"], tmp_path / "out")
    with pytest.raises(ConfigError, match="their features are 6 and 3 wide"):
        make_ensemble([runs["run"], tmp_path / "widths"], tmp_path / "out")


def test_the_ensemble_knows_what_made_the_features(runs: dict[str, Path], tmp_path: Path) -> None:
    known = _extractor(15.0)
    elsewhere = replace(known, files=("/other/place",))
    pair = [
        with_card(runs["ms-tcn"], tmp_path / name, extractor=one)
        for name, one in (("a", known), ("b", elsewhere))
    ]
    assert uvast.load(make_ensemble(pair, tmp_path / "out").path).extractor == known


def test_places_and_runs_that_cannot_be_used(
    runs: dict[str, Path], mixed: Path, tiny_path: Path, tmp_path: Path
) -> None:
    pair = [runs["run"], runs["other"]]
    with pytest.raises(ConfigError, match="an ensemble needs at least two runs; name more of them"):
        make_ensemble(pair[:1], tmp_path / "out")
    with pytest.raises(OutputError, match="already holds a run"):
        make_ensemble(pair, mixed)
    with pytest.raises(OutputError, match="already exists; choose a new or empty folder"):
        make_ensemble(pair, tiny_path)
    begun = shutil.copytree(runs["other"], tmp_path / "begun")
    (begun / "last.safetensors").unlink()
    with pytest.raises(CheckpointError, match="is not finished; go on with uvast train --resume"):
        make_ensemble([runs["run"], begun], tmp_path / "out")
    (begun / "best.safetensors").write_bytes(b"nothing")
    with pytest.raises(UvastError, match="begun"):
        make_ensemble([runs["run"], begun], tmp_path / "out")
    (tmp_path / "empty").mkdir()
    make_ensemble(pair, tmp_path / "empty")
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_a_project_and_its_app_take_an_ensemble_for_a_run(
    mixed: Path, runs: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(runs["run"], tmp_path / "runs" / "1")
    shutil.copytree(mixed, tmp_path / "runs" / "2")
    begun = shutil.copytree(mixed, tmp_path / "runs" / "3")
    (begun / "best.safetensors").unlink()  # its members are not trained yet
    assert newest_run(tmp_path) == tmp_path / "runs" / "2"
    third, second, _ = run_views(tmp_path)
    assert third == {"name": "runs/3", "finished": False, "scores": None}
    assert second == {"name": "runs/2", "finished": True, "scores": None}


def _members(card: ModelCard, **changes: object) -> ModelCard:
    return replace(card, members=(*card.members[:-1], replace(card.members[-1], **changes)))


def test_a_checkpoint_whose_members_do_not_fit_is_one_sentence(mixed: Path, tmp_path: Path) -> None:
    found, broken = read_checkpoint(mixed / "best.safetensors"), tmp_path / "broken.safetensors"
    cases = [
        (_members(found.card, sampling_rate=3), "members that do not fit together"),
        (_members(found.card, members=found.card.members), "one is an ensemble itself"),
        (_members(found.card, kind="ms-tcn"), "unknown dimensions"),
        (replace(found.card, members=found.card.members[:2]), "does not fit its own model card"),
        (_members(found.card, decoding={}), "poisson"),
    ]
    for card, reason in cases:
        write_checkpoint(broken, found.tensors, card)
        with pytest.raises(CheckpointError, match=reason):
            uvast.load(broken)
    name = "model.scalers.1.deviation"
    tensors = {**found.tensors, name: -found.tensors[name]}
    write_checkpoint(broken, tensors, found.card)
    with pytest.raises(CheckpointError, match="has a scaling that cannot be used"):
        uvast.load(broken)


def test_unfamiliar_features_are_told_by_the_members_that_scale(mixed: Path, tiny: Dataset) -> None:
    model, video = uvast.load(mixed), tiny.video(tiny.names[0])
    assert model.scaling is None
    assert model.is_familiar(video)
    assert not model.is_familiar(replace(video, features=video.features * 1000))


def test_members_disagree_where_they_say_different_things() -> None:
    def encoded(probabilities: list[list[float]]) -> Encoded:
        logs = torch.tensor([probabilities]).log()
        return Encoded(torch.zeros(1, len(probabilities), 1), logs)

    sure, even = [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]
    parts = (encoded([sure, sure, even]), encoded([sure, [0.0, 0.0, 1.0], even]))
    mean = torch.tensor([[sure, [0.5, 0.0, 0.5], even]]).log()
    both = Encoded(torch.zeros(1, 3, 2), mean, members=parts)
    divergences = member_divergences(both).numpy()
    assert divergences == pytest.approx(np.array([[0.0, 1.0, 0.0]]), abs=1e-6)
    assert member_divergences(parts[0]) is None
    segments = Segmentation(np.array([0, 1]), np.array([1, 2]))
    doubts = Doubts.of(mean[0].numpy(), segments, divergences[0])
    assert doubts.by_segment()["divergence"] == pytest.approx([0.0, 0.5])


def test_the_record_says_what_is_inside(mixed: Path) -> None:
    weights = load_file(mixed / "best.safetensors")
    assert {name.split(".")[2] for name in weights if name.startswith("model.members")} == set(
        "012"
    )
    assert "model.scalers.1.mean" in weights
    assert "model.scalers.0.mean" not in weights  # it takes features as they are
    text = json.loads((mixed / "run.json").read_text())
    assert [sorted(one) for one in text["members"]] == [["seed", "sha256", "source"]] * 3
