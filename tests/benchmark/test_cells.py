"""A cell is trained once, scored in every way, and never mixed up with another."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from benchmark_types import MakeCell
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planted_ends import short_of_the_end, where_all_count

import uvast
from uvast.benchmark import decoded_scores
from uvast.benchmark import run_cell as running
from uvast.benchmark.cell import Cell, CellFold
from uvast.benchmark.cell_scores import earlier_scores, finished_scores, is_finished
from uvast.benchmark.decoded_scores import COLUMNS
from uvast.benchmark.earlier import with_earlier
from uvast.benchmark.engine import SerialEngine, run_cells
from uvast.benchmark.results import collect
from uvast.benchmark.run_cell import check_cell, run_cell
from uvast.config import DecodeConfig
from uvast.data import Dataset, Video, write_labelled
from uvast.errors import ConfigError, CorruptFileError, DataError, OutputError, UvastError
from uvast.files import checked
from uvast.inference.segmenter import EncodedVideos, Segmenter

SEMI_MARKOV = {"transcript": "semi-markov"}
VITERBI = {"frames + viterbi": {"transcript": "frames", "durations": "viterbi"}}


def times(folder: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file()}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_cell_survives_json(make_cell: MakeCell) -> None:
    one = make_cell(seed=3, train__epochs=4)
    assert checked(json.loads(json.dumps(asdict(one))), Cell) == one
    several = make_cell(decodings={"rates": {"rates": [0.8, 1.25]}})  # a list among the values
    assert checked(json.loads(json.dumps(asdict(several))), Cell) == several


def test_scores_are_those_of_the_ordinary_commands(
    make_cell: MakeCell, tiny: Dataset, tmp_path: Path
) -> None:
    one = make_cell(decodings={"frames": {}, **VITERBI})
    found = run_cell(one, tmp_path)
    assert set(found) == {"frames", "frames + viterbi"}
    assert all(tuple(scores) == COLUMNS for scores in found.values())
    model = uvast.load(tmp_path / one.key)
    predictions = uvast.segment(model, tiny.path, split=1, durations="viterbi")
    pairs = [(p.segmentation, tiny.source_segmentation(n)) for n, p in predictions.items()]
    expected = uvast.score(pairs, tiny.vocabulary)
    assert found["frames + viterbi"]["acc"] == pytest.approx(expected.acc)
    assert found["frames + viterbi"]["f1@25"] == pytest.approx(expected.f1[25])
    assert uvast.load(tmp_path / one.key).config.train.seed == one.seed


def test_only_labelled_frames_of_the_test_side_are_scored(
    make_cell: MakeCell, tiny_path: Path, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(tiny_path, tmp_path / "data"))
    partial, bare, *whole = Dataset.open(data).side(1, "test")
    write_labelled(data / "labelled.json", {partial: [(5, 20), (30, 45)], bare: []})
    bare_transcript = {"transcript": "decoder", "durations": "none"}
    decodings = {"frames": {"transcript": "frames"}, "transcript": bare_transcript}
    one = make_cell(dataset=data, decodings=decodings, model__kind="uvast")
    with pytest.raises(UvastError, match=f"no scores for transcript .video {partial} is labelled"):
        run_cell(one, tmp_path / "bench")
    found = finished_scores(one, tmp_path / "bench")["frames"]
    model = uvast.load(tmp_path / "bench" / one.key)
    predictions = uvast.segment(model, data, split=1, transcript="frames")
    truth = Dataset.open(tiny_path)
    pairs = [(predictions[n].segmentation, truth.source_segmentation(n)) for n in whole]
    predicted, true = predictions[partial].segmentation, truth.source_segmentation(partial)
    pairs += [(predicted.part(*span), true.part(*span)) for span in ((5, 20), (30, 45))]
    assert found == pytest.approx(uvast.score(pairs, truth.vocabulary).columns())


def test_a_bare_transcript_has_an_edit_score_only(make_cell: MakeCell, tmp_path: Path) -> None:
    way = {"transcript": {"transcript": "decoder", "durations": "none"}}
    found = run_cell(make_cell(decodings=way, model__kind="uvast"), tmp_path)
    assert set(found["transcript"]) == {"edit"}


def test_a_finished_cell_is_not_touched(make_cell: MakeCell, tmp_path: Path) -> None:
    first = run_cell(make_cell(), tmp_path)
    before = times(tmp_path)
    assert is_finished(make_cell(), tmp_path)
    assert run_cell(make_cell(), tmp_path) == first
    assert times(tmp_path) == before


def test_a_new_decoding_needs_no_training_and_keeps_the_old_scores(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    first = make_cell()
    run_cell(first, tmp_path)
    weights = (tmp_path / first.key / "best.safetensors").stat().st_mtime_ns
    second = make_cell(decodings=VITERBI)
    assert not is_finished(second, tmp_path)
    found = run_cell(second, tmp_path)
    assert set(found) == {"frames", "frames + viterbi"}
    assert (tmp_path / first.key / "best.safetensors").stat().st_mtime_ns == weights
    assert is_finished(first, tmp_path)
    assert is_finished(second, tmp_path)


def test_another_protocol_needs_no_training_and_has_a_file_of_its_own(
    make_cell: MakeCell, tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Dataset.open(where_all_count(tiny_path, tmp_path / "data"))
    out = tmp_path / "out"
    truths = {name: dataset.source_segmentation(name) for name in dataset.side(1, "test")}
    predicted = {name: short_of_the_end(one) for name, one in truths.items()}
    monkeypatch.setattr(decoded_scores, "_decoded", lambda *_: {"frames": predicted})
    standard = make_cell(dataset=dataset.path)
    legacy = replace(standard, protocol="legacy")
    first = run_cell(standard, out)
    before = contents(out)
    monkeypatch.setattr(running, "train", None)  # calling it would be an error
    assert not is_finished(legacy, out)
    assert finished_scores(legacy, out) == {}
    found = run_cell(legacy, out)
    after = contents(out)
    assert after.keys() - before.keys() == {str(out / legacy.key / "scores-legacy.json")}
    assert {name: after[name] for name in before} == before
    assert is_finished(legacy, out)
    assert finished_scores(standard, out) == first
    pairs = [(predicted[name], truths[name]) for name in truths]
    for scores, protocol in ((first, "standard"), (found, "legacy")):
        expected = uvast.score(pairs, dataset.vocabulary, protocol=protocol)
        assert scores["frames"] == pytest.approx(expected.columns())
    assert first["frames"]["f1@10"] > found["frames"]["f1@10"]
    assert [one.cell.protocol for one in earlier_scores(out)] == ["standard"]
    assert [one.cell.protocol for one in earlier_scores(out, "legacy")] == ["legacy"]


def test_scores_in_the_file_of_another_protocol_are_refused(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    standard = make_cell()
    run_cell(standard, tmp_path)
    (tmp_path / standard.key / "scores.json").rename(tmp_path / standard.key / "scores-legacy.json")
    legacy = replace(standard, protocol="legacy")
    sentence = "scores-legacy.json: has scores by the standard protocol, not by legacy; remove"
    with pytest.raises(CorruptFileError, match=sentence):
        is_finished(legacy, tmp_path)
    assert finished_scores(legacy, tmp_path) == {}
    assert earlier_scores(tmp_path, "legacy") == ()


def keep_only_scores(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != "scores.json":
            path.unlink() if path.is_file() else shutil.rmtree(path)


def test_scores_that_are_kept_without_weights_are_not_made_by_training_anew(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    standard = make_cell()
    first = run_cell(standard, tmp_path)
    keep_only_scores(tmp_path / standard.key)
    assert run_cell(standard, tmp_path) == first
    sentence = "has scores by the standard protocol and no weights to score by legacy; pass --pr"
    with pytest.raises(OutputError, match=sentence):
        list(run_cells([replace(standard, protocol="legacy")], tmp_path, SerialEngine()))
    assert [path.name for path in (tmp_path / standard.key).iterdir()] == ["scores.json"]


def test_kept_scores_count_only_for_their_settings_videos_and_labels(
    make_cell: MakeCell, tiny_path: Path, tmp_path: Path
) -> None:
    out, here, there = (tmp_path / name for name in ("out", "here/data", "there/data"))
    for place in (here, there):
        shutil.copytree(tiny_path, place)
    one, moved = make_cell(dataset=here), make_cell(dataset=there)
    first = run_cell(one, out)
    keep_only_scores(out / one.key)
    path = out / one.key / "scores.json"
    record = json.loads(path.read_text())
    del record["cell"]["config"]["train"]["time_warp"]  # as if an earlier version had no such thing
    path.write_text(json.dumps(record))
    assert run_cell(one, out) == run_cell(moved, out) == first

    changed = make_cell(dataset=here, train__time_warp=1.2)
    clicks = [replace(one, timestamps=f"/{place}/timestamps.csv") for place in "ab"]
    for other, difference in (
        (changed, "train.time_warp is 1.0 there, 1.2 here"),
        (clicks[0], "timestamps is None there, /a/timestamps.csv here"),
    ):
        with pytest.raises(OutputError, match=f"settings .{difference}.; choose another --out"):
            check_cell(other, out)
    record["cell"]["timestamps"] = clicks[0].timestamps
    path.write_text(json.dumps(record))
    check_cell(clicks[1], out)
    path.write_text(json.dumps({**record, "cell": asdict(one), "videos": []}))
    check_cell(one, out)
    with pytest.raises(OutputError, match=r"dataset is .*here/data there, .*there/data here"):
        check_cell(moved, out)
    path.write_text(json.dumps({**record, "cell": asdict(one)}))
    labels = there / "groundTruth" / f"{record['videos'][0]}.txt"
    labels.write_text("\n".join(sorted(labels.read_text().splitlines())) + "\n")
    check_cell(one, out)
    with pytest.raises(OutputError, match=r"other videos, labels .*; choose another --out, or"):
        check_cell(moved, out)


def test_recorded_scores_of_earlier_versions_are_standard() -> None:
    records = Path(__file__).parents[2] / "benchmarks" / "records" / "three"
    cells = [one.cell for one in earlier_scores(records)]
    assert len(cells) == len(list(records.glob("*/*/*/scores.json"))) > 0
    assert {one.protocol for one in cells} == {"standard"}
    texts = [(records / cell.key / "scores.json").read_text() for cell in cells]
    assert any("protocol" not in text for text in texts)  # earlier versions did not write it
    for cell in cells:
        assert finished_scores(cell, records)
        assert finished_scores(replace(cell, protocol="legacy"), records) == {}


def test_a_decoding_that_changed_its_meaning_is_scored_again(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    run_cell(make_cell(decodings={"way": {"transcript": "frames", "durations": "none"}}), tmp_path)
    changed = make_cell(decodings={"way": {"transcript": "semi-markov"}})
    assert not is_finished(changed, tmp_path)
    assert finished_scores(changed, tmp_path) == {}
    run_cell(changed, tmp_path)
    assert is_finished(changed, tmp_path)


def test_videos_are_encoded_once_for_all_decodings(
    make_cell: MakeCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, n_encoded = Segmenter.encode_batch, Counter()

    def counted(
        self: Segmenter, videos: Sequence[Video], options: DecodeConfig | None = None
    ) -> EncodedVideos:
        n_encoded.update(video.name for video in videos)
        return real(self, videos, options)

    monkeypatch.setattr(Segmenter, "encode_batch", counted)
    both = make_cell(decodings={"frames": {}, **VITERBI, "semi-markov": SEMI_MARKOV})
    assert set(run_cell(both, tmp_path)) == {"frames", "frames + viterbi", "semi-markov"}
    assert set(n_encoded.values()) == {1}


def test_scores_are_kept_as_soon_as_they_are_there(
    make_cell: MakeCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = running.score_decodings, []

    def breaks_after_the_first(model, dataset, names, decodings, **how):
        asked.append(set(decodings))
        yield next(real(model, dataset, names, decodings, **how))
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "score_decodings", breaks_after_the_first)
    both = make_cell(decodings={"frames": {}, **VITERBI})
    with pytest.raises(KeyboardInterrupt):
        run_cell(both, tmp_path)
    assert set(finished_scores(both, tmp_path)) == {"frames"}
    with pytest.raises(KeyboardInterrupt):
        run_cell(both, tmp_path)
    assert set(finished_scores(both, tmp_path)) == {"frames", "frames + viterbi"}
    assert asked == [{"frames", "frames + viterbi"}, {"frames + viterbi"}]


@pytest.mark.parametrize("finished", [True, False])
def test_other_settings_in_the_same_place_are_refused(
    make_cell: MakeCell, tmp_path: Path, finished: bool
) -> None:
    one = make_cell()
    run_cell(one, tmp_path)
    if not finished:
        (tmp_path / one.key / "scores.json").unlink()
    check_cell(one, tmp_path)
    for other in (
        make_cell(train__learning_rate=0.1),
        replace(one, timestamps="/elsewhere/timestamps.json"),
        replace(one, dataset=f"/elsewhere/{one.data}"),
    ):
        assert other.key == one.key
        with pytest.raises(
            OutputError, match=r"holds a run with other settings .*; choose another"
        ):
            run_cell(other, tmp_path)
    with pytest.raises(OutputError, match=r"\(train.learning_rate is 0.0005 there, 0.1 here\)"):
        check_cell(make_cell(train__learning_rate=0.1), tmp_path)


def test_runs_and_scores_of_other_videos_are_refused(
    make_cell: MakeCell, data: Path, tmp_path: Path
) -> None:
    one = make_cell(dataset=data)
    run_cell(one, tmp_path)
    train, test = (data / "splits" / f"{side}.split1.bundle" for side in ("train", "test"))
    (first, *trained), (tested, *_) = (path.read_text().splitlines() for path in (train, test))
    test.write_text(f"{tested}\n")
    with pytest.raises(OutputError, match=r"scores\.json: has scores of other videos"):
        check_cell(one, tmp_path)
    (tmp_path / one.key / "scores.json").unlink()
    run_cell(one, tmp_path)
    name = first.removesuffix(".txt")
    for changed, sentence in ((tested, "has scores of"), (first, "holds a run whose labels have")):
        labels = data / "groundTruth" / f"{changed.removesuffix('.txt')}.txt"
        before = labels.read_text()
        labels.write_text("\n".join(sorted(before.splitlines())) + "\n")
        with pytest.raises(OutputError, match=sentence):
            check_cell(one, tmp_path)
        labels.write_text(before)
    check_cell(one, tmp_path)
    train.write_text("\n".join(trained) + "\n")
    test.write_text(f"{tested}\n{first}\n")
    with pytest.raises(OutputError, match=f"it did learn from {name}, now it would not; choose"):
        run_cell(one, tmp_path)


def test_runs_and_scores_of_another_dataset_toml_are_refused(
    make_cell: MakeCell, data: Path, tmp_path: Path
) -> None:
    one = make_cell(dataset=data)
    run_cell(one, tmp_path)
    before = (data / "dataset.toml").read_text()
    name = Dataset.open(data).vocabulary.names[-1]
    for line, sentence in (
        (f'background = ["{name}"]', "has scores of other videos, labels or background classes"),
        ("sampling_rate = 2", "holds a run at a sampling rate of 1, and the dataset's is 2"),
    ):
        (data / "dataset.toml").write_text(f"{line}\n")
        with pytest.raises(OutputError, match=sentence):
            check_cell(one, tmp_path)
    (data / "dataset.toml").write_text(before)
    check_cell(one, tmp_path)


def test_a_fold_goes_on_where_a_video_has_no_clicks(
    make_cell: MakeCell, data: Path, tmp_path: Path
) -> None:
    *train, bare, held_out = Dataset.open(data).side(1, "train")
    clicks = json.loads((data / "timestamps.json").read_text())
    del clicks[bare]
    (data / "timestamps.json").write_text(json.dumps(clicks))
    fold = CellFold(1, 2, (*train, bare), (held_out,))
    one = replace(make_cell(dataset=data, supervision__kind="timestamps"), fold=fold)
    run_cell(one, tmp_path)
    check_cell(one, tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not valid JSON"),
        ("[]", "scores.json"),
        ('{"cell": {}}', "cell.model is missing"),
        ({"config": {"train": {"magic": 1}}}, "cell.config.train.magic is unknown"),
        ({"split": 10**30}, "cell.split"),
        ({"decodings": [3]}, "cell.decodings"),
        ({"frames": "abc"}, "scores.frames is 'abc'"),
        ({"frames": {"acc": "x"}}, "scores.frames.acc is 'x', not a number"),
        ({"frames": {"acc": 1e400}}, "scores.frames.acc"),
        ({"frames": {}}, "columns missing"),
        ({"frames": {"acc": 50.0}}, "columns acc"),
    ],
)
def test_a_broken_file_of_scores_is_named(
    make_cell: MakeCell, tmp_path: Path, content: str | dict[str, object], reason: str
) -> None:
    one = make_cell()
    path = tmp_path / one.key / "scores.json"
    path.parent.mkdir(parents=True)
    if isinstance(content, dict):
        cell = asdict(one) | {k: v for k, v in content.items() if k != "frames"}
        content = json.dumps({"cell": cell, "scores": content})
    path.write_text(content)
    with pytest.raises(CorruptFileError, match=r"scores\.json: ") as found:
        is_finished(one, tmp_path)
    assert reason in str(found.value)
    assert "remove this file: the run is scored again, without training" in str(found.value)
    assert earlier_scores(tmp_path) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def places(value: object) -> Iterator[tuple[dict[str, object], str]]:
    """Every value of nested objects, as the object and the key it stands under."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield value, key
            yield from places(inner)


@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[*HealthCheck])
def test_whatever_a_file_of_scores_holds_is_scores_or_one_sentence(
    make_cell: MakeCell, tmp_path: Path, data: st.DataObject
) -> None:
    one = make_cell()
    scores = {"frames": dict.fromkeys(COLUMNS, 50.0)}
    content = json.loads(json.dumps({"cell": asdict(one), "scores": scores}))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(list(places(content))))
        new = data.draw(st.sampled_from([key, "more", "decodings"]))
        holder[new] = data.draw(JSON)
    path = tmp_path / one.key / "scores.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    with suppress(DataError):
        is_finished(one, tmp_path)
    found = finished_scores(one, tmp_path)
    assert all(tuple(scores) in (COLUMNS, ("edit",)) for scores in found.values())
    collect(with_earlier([one], tmp_path)[0], tmp_path)


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_no_file_of_scores_never_stops_a_benchmark(
    make_cell: MakeCell, tmp_path: Path, kind: str
) -> None:
    one = make_cell()
    path = tmp_path / one.key / "scores.json"
    path.parent.mkdir(parents=True)
    {
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "device": lambda: path.symlink_to("/dev/zero"),
    }[kind]()
    with pytest.raises(DataError, match=r"scores\.json"):
        is_finished(one, tmp_path)
    assert earlier_scores(tmp_path) == ()
    (outcome,) = run_cells([one], tmp_path, SerialEngine())
    assert "scores.json" in outcome.error


def test_a_decoding_that_fails_keeps_no_other_from_its_scores(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    ways = {"alignment": {"transcript": "frames", "durations": "alignment"}, **VITERBI}
    both = make_cell(decodings={**ways, "best": {"transcript": "best"}})
    sentence = r"no scores for alignment, best \(durations 'alignment' need .*\); pass --durations"
    with pytest.raises(ConfigError, match=sentence):
        run_cell(both, tmp_path)
    assert set(finished_scores(both, tmp_path)) == set(VITERBI)
    assert not is_finished(both, tmp_path)


def test_features_longer_than_labels_are_scored_on_the_common_frames(
    make_cell: MakeCell, tiny: Dataset, tmp_path: Path
) -> None:
    shutil.copytree(tiny.path, tmp_path / "longer")
    with (tmp_path / "longer" / "dataset.toml").open("a") as file:
        file.write("tolerance = 0.1\n")
    for path in (tmp_path / "longer" / "features").glob("*.npy"):
        features = np.load(path)  # [F x T]
        np.save(path, np.concatenate([features, features[:, -1:]], axis=1))
    found = run_cell(make_cell(dataset=tmp_path / "longer"), tmp_path / "out")
    assert 0 <= found["frames"]["acc"] <= 100
