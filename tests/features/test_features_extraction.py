"""One video to features and their card: times, joins, resuming, refusing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from video_files import HEIGHT, WIDTH, grey, write_video

from uvast.data import Dataset
from uvast.errors import ConfigError, CorruptFileError, FeatureError, InputError, OutputError
from uvast.features import Order, Picture, View, extract, find_sources, read_card
from uvast.features import models as table
from uvast.features.card import write_card
from uvast.features.models import ModelName, parse_models

PIXELS = parse_models("pixels")


@dataclass(frozen=True)
class Grey:
    """The mean grey of each place of a stride, and nothing else."""

    name: str
    view: View
    stride: int = 1
    centre: float = 0.0
    version: str = "1"
    width: int = 1
    window: int = 24
    context: int = 0
    value: float = 1.0

    def __call__(self, frames):
        means = frames.mean((1, 2, 3))
        padded = np.append(means, np.full(-len(means) % self.stride, means[-1]))
        return self.value * padded.reshape(-1, self.stride).mean(1, keepdims=True, dtype=np.float32)


@pytest.fixture
def planted(monkeypatch):
    """A new extractor is a line in the table: `fast` at the features' rate, `slow` at 10 Hz."""

    class Module:
        @staticmethod
        def make(request):
            if request.argument == "slow":
                return Grey("slow", View(Picture(8, 8), 10.0), stride=2, centre=0.5)
            if request.argument == "broken":
                return Grey("broken", View(Picture(8, 8), None), value=float("nan"))
            return Grey("fast", View(Picture(8, 8), request.rate))

    monkeypatch.setitem(table.EXTRACTORS, "grey", "grey")
    monkeypatch.setattr(table, "import_module", lambda _: Module)
    return lambda *names: tuple(ModelName("grey", name) for name in names)


def brightening(number: int):
    return np.full((HEIGHT, WIDTH, 3), 20 + number, np.uint8)


def test_features_are_time_first_and_tied_to_times(tmp_path):
    path = write_video(tmp_path / "a.b.mp4", 45)
    outcome = extract(Order(path, tmp_path / "features", PIXELS))
    features = np.load(tmp_path / "features" / "a.b.npy")
    card = read_card(tmp_path / "features" / "a.b.json")
    assert (outcome.state, outcome.name, outcome.remark) == ("made", "a.b", None)
    assert (features.shape, features.dtype) == ((23, 288), np.float32)
    assert card.shape == features.shape == (outcome.n_frames, outcome.n_features)
    assert card.times == pytest.approx(np.arange(23) / 15, abs=1e-6)
    assert card.source_frames == tuple(range(0, 45, 2))
    assert features[:, 0] * 255 == pytest.approx([grey(i) for i in card.source_frames], abs=2)
    assert (card.model, card.widths, card.source) == ("pixels", (288,), str(path))
    assert (card.source_bytes, card.frames_per_second) == (path.stat().st_size, 15.0)
    assert sorted(file.name for file in (tmp_path / "features").iterdir()) == [
        "a.b.json",
        "a.b.npy",
    ]


def test_every_frame_of_the_source_has_its_own_time(tmp_path):
    times = [0.0, 0.1, 0.15, 0.5, 1.2]
    path = write_video(tmp_path / "variable.mkv", 5, times=times)
    extract(Order(path, tmp_path, PIXELS, rate=None))
    card = read_card(tmp_path / "variable.json")
    assert card.times == pytest.approx(times, abs=1e-3)
    assert (card.source_frames, card.frames_per_second) == (tuple(range(5)), None)


def test_a_dataset_reads_the_features(tmp_path):
    for name, n_frames in (("a", 40), ("b", 61)):
        path = write_video(tmp_path / f"{name}.mp4", n_frames)
        extract(Order(path, tmp_path / "features", PIXELS))
        n_labels = -(-n_frames // 2)
        (tmp_path / "groundTruth").mkdir(exist_ok=True)
        (tmp_path / "groundTruth" / f"{name}.txt").write_text("rest\n" * n_labels)
    dataset = Dataset.open(tmp_path)
    assert {name: dataset.video(name).features.shape for name in dataset.names} == {
        "a": (20, 288),
        "b": (31, 288),
    }


def test_a_step_in_the_video_stays_where_it_is(tmp_path, planted):
    """At every rate, and for rows that come every second tenth of a second."""

    def step(number: int):
        return np.full((HEIGHT, WIDTH, 3), 40 if number < 60 else 200, np.uint8)

    path = write_video(tmp_path / "step.mp4", 120, draw=step)
    extract(Order(path, tmp_path, planted("", "slow")))
    features, card = np.load(tmp_path / "step.npy"), read_card(tmp_path / "step.json")
    times = np.array(card.times)
    fast, slow = (features[:, column] > 120 for column in (0, 1))
    assert times[fast][0] == pytest.approx(2.0, abs=1e-6)
    assert times[slow][0] == pytest.approx(2.0, abs=0.1)


def test_extractors_are_joined_at_one_rate(tmp_path, planted):
    path = write_video(tmp_path / "bright.mp4", 90, draw=brightening)
    extract(Order(path, tmp_path / "both", planted("", "slow")))
    extract(Order(path, tmp_path / "fast", planted("")))
    extract(Order(path, tmp_path / "slow", planted("slow")))
    both, fast, slow = (np.load(tmp_path / one / "bright.npy") for one in ("both", "fast", "slow"))
    assert np.array_equal(both, np.concatenate((fast, slow), 1))
    # the picture gets brighter evenly: rows at other times have to agree after interpolation
    inner = slice(3, -6)
    assert both[inner, 1] == pytest.approx(both[inner, 0], abs=1.2)
    assert read_card(tmp_path / "both" / "bright.json").model == "fast,slow"


def test_what_is_there_is_kept(tmp_path):
    path = write_video(tmp_path / "a.mp4", 10)
    order = Order(path, tmp_path, PIXELS)
    extract(order)
    before = (tmp_path / "a.npy").stat().st_mtime_ns
    assert extract(order).state == "kept"
    moved = path.rename(tmp_path / "elsewhere.mp4").rename(path)
    assert extract(replace(order, source=moved)).state == "kept"
    assert (tmp_path / "a.npy").stat().st_mtime_ns == before
    assert extract(replace(order, overwrite=True)).state == "made"
    assert (tmp_path / "a.npy").stat().st_mtime_ns > before


def test_a_kill_while_overwriting_never_leaves_old_features_with_a_new_card(tmp_path, monkeypatch):
    path = write_video(tmp_path / "a.mp4", 10)
    order = Order(path, tmp_path, PIXELS)
    extract(order)

    def killed(path, card):
        write_card(path, card)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("uvast.features.extraction.write_card", killed)
        with pytest.raises(KeyboardInterrupt):
            extract(replace(order, rate=10.0, overwrite=True))
    assert not (tmp_path / "a.npy").exists()
    assert extract(replace(order, rate=10.0)).state == "made"
    assert len(np.load(tmp_path / "a.npy")) == 4


@pytest.mark.parametrize("gone", ["a.npy", "both"])
def test_unfinished_features_are_made_again(tmp_path, gone):
    path = write_video(tmp_path / "a.mp4", 10)
    extract(Order(path, tmp_path, PIXELS))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").unlink()
    if gone == "both":
        (tmp_path / "a.json").unlink()
    assert extract(Order(path, tmp_path, PIXELS)).state == "made"
    assert (tmp_path / "a.npy").read_bytes() == whole


def test_other_features_are_never_replaced_unasked(tmp_path):
    path = write_video(tmp_path / "a.mp4", 10)
    order = Order(path, tmp_path, PIXELS)
    extract(order)
    content = (tmp_path / "a.npy").read_bytes()
    other = (
        write_video(tmp_path / "b.mp4", 12).rename(tmp_path / "in" / "a.mp4")
        if ((tmp_path / "in").mkdir() is None)
        else path
    )
    cases = {
        "15 frames per second of features": replace(order, rate=10.0),
        f"another video's ({path}) features": replace(order, source=other),
    }
    for words, changed in cases.items():
        with pytest.raises(OutputError) as error:
            extract(changed)
        assert str(error.value) == (
            f"{tmp_path / 'a.npy'}: exists already and holds {words}; "
            "pass --overwrite to replace it, or choose another --out"
        )
    (tmp_path / "a.json").unlink()
    with pytest.raises(OutputError, match="exists already and holds other features"):
        extract(order)
    assert (tmp_path / "a.npy").read_bytes() == content


def test_a_model_that_gives_no_numbers_is_one_sentence(tmp_path, planted):
    path = write_video(tmp_path / "a.mp4", 10)
    with pytest.raises(FeatureError, match="a model gives NaN or infinite values after frame 0"):
        extract(Order(path, tmp_path / "out", planted("broken")))
    assert list((tmp_path / "out").iterdir()) == []


def test_a_failed_video_leaves_nothing_behind(tmp_path):
    (tmp_path / "a.mp4").write_text("no video")
    with pytest.raises(CorruptFileError):
        extract(Order(tmp_path / "a.mp4", tmp_path / "out", PIXELS))
    assert not (tmp_path / "out").exists()


KILLED = """
import os, signal, sys
from contextlib import ExitStack
from pathlib import Path
from uvast.features.extraction import open_spools
with ExitStack() as stack:
    open_spools(Path(sys.argv[1]), [3], stack)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_with_the_next_video(tmp_path):
    out = tmp_path / "out"
    subprocess.run([sys.executable, "-c", KILLED, str(out)], check=False)
    (left,) = out.iterdir()
    os.utime(left, (0, 0))
    extract(Order(write_video(tmp_path / "a.mp4", 10), out, PIXELS))
    assert sorted(path.name for path in out.iterdir()) == ["a.json", "a.npy"]


def test_cards_of_long_videos_are_read_and_never_written_too_large(tmp_path, monkeypatch):
    order = Order(write_video(tmp_path / "a.mp4", 100), tmp_path / "out", PIXELS)
    monkeypatch.setattr("uvast.files.records.LARGEST_JSON", 1000)
    extract(order)
    assert (tmp_path / "out" / "a.json").stat().st_size > 1000
    card = read_card(tmp_path / "out" / "a.json")
    assert card.n_frames == len(np.load(order.features))
    monkeypatch.setattr("uvast.features.card.LARGEST_CARD", 1000)
    with pytest.raises(CorruptFileError, match=r"a\.json: is larger than"):
        read_card(tmp_path / "out" / "a.json")
    other = replace(order, out=tmp_path / "other")
    with pytest.raises(OutputError, match=rf"a\.json: would be larger than .* \({card.n_frames} "):
        extract(other)
    assert list((tmp_path / "other").iterdir()) == []


def test_progress_is_told_and_grows(tmp_path, planted):
    path = write_video(tmp_path / "a.mp4", 120)
    shares: list[float] = []
    extract(Order(path, tmp_path, planted("")), shares.append)
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_frames": 4}, "not every one of the 4 frames has a time"),
        ({"widths": [3]}, "the models have 3 features, not 288"),
        ({"model": 3}, "model is 3, not text"),
        ({"colour": "red"}, "colour is unknown"),
    ],
)
def test_a_damaged_card_is_one_sentence(change, sentence, tmp_path):
    extract(Order(write_video(tmp_path / "a.mp4", 10), tmp_path, PIXELS))
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CorruptFileError) as error:
        read_card(path)
    assert sentence in str(error.value)
    assert "extract the features of this video again with --overwrite" in str(error.value)
    path.write_text("[1]")
    with pytest.raises(CorruptFileError, match="its content is \\[1\\], not a table of values"):
        read_card(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "--model: no model is named; choose from pixels, appearance, i3d, onnx, poses, table"),
        ("clip", "--model: no model 'clip'; choose from"),
        ("onnx", "--model: 'onnx'; write onnx:FILE.onnx"),
        ("pixels:a", "--model: 'pixels:a'; write onnx:FILE.onnx, and other models by their name"),
        ("pixels,pixels", "--model: 'pixels,pixels' names a model twice"),
        ("poses,pixels", "--model: 'poses,pixels' combines a table with other models"),
    ],
)
def test_wrong_models_are_one_sentence(text, sentence):
    with pytest.raises(ConfigError) as error:
        parse_models(text)
    assert str(error.value).startswith(sentence)


def test_models_by_name():
    assert [str(model) for model in parse_models("appearance, i3d,onnx:a:b.onnx")] == [
        "appearance",
        "i3d",
        "onnx:a:b.onnx",
    ]


def test_folders_stand_for_the_videos_in_them(tmp_path):
    for name in ("b.MP4", "a.avi", ".hidden.mp4", "notes.txt", "poses.csv"):
        (tmp_path / name).touch()
    (tmp_path / "inner.mp4").mkdir()
    names = [path.name for path in find_sources([tmp_path, tmp_path / "notes.txt"], PIXELS)]
    assert names == ["a.avi", "b.MP4", "notes.txt"]
    assert find_sources([tmp_path], parse_models("poses")) == (tmp_path / "poses.csv",)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no file to extract from; name the files"):
        find_sources([tmp_path / "empty"], PIXELS)
    with pytest.raises(
        InputError, match=r"two inputs are named a: .*a.* and .*a.*; extract them into different"
    ):
        find_sources([tmp_path, Path(tmp_path / "a.avi")], PIXELS)
    (tmp_path / "empty" / "A.mp4").touch()
    with pytest.raises(InputError) as caught:
        find_sources([tmp_path, tmp_path / "empty"], PIXELS)
    assert str(caught.value) == (
        f"two inputs have names that differ only in case, a and A: {tmp_path / 'a.avi'} and "
        f"{tmp_path / 'empty' / 'A.mp4'}; extract them into different folders"
    )
