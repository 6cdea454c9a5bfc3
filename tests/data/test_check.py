"""`check_dataset` has to list every fault of a dataset, whatever else is wrong with it."""

import json
import os
import shutil
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy_format

from uvast.data import Dataset, Split, check_dataset, feature_files, write_splits
from uvast.data.faults import FaultList
from uvast.data.statistics import SplitSize, TimestampCount
from uvast.errors import DataError, TimestampError


def test_a_right_dataset_has_no_problems(generated: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = check_dataset(generated, advance=lambda done, total: seen.append((done, total)))
    assert report.ok
    assert report.notes == ()
    assert seen == [(done, 12) for done in range(1, 13)]


def test_features_alone_are_right(make_dataset) -> None:
    path = make_dataset({"v1": "aab", "v2": "abba"})
    shutil.rmtree(path / "groundTruth")
    (path / "mapping.txt").unlink(missing_ok=True)
    report = check_dataset(path)
    assert report.ok
    assert "no labels: videos can be segmented, but not scored" in report.notes


def test_names_that_differ_only_in_case_are_noted(make_dataset) -> None:
    path = make_dataset({"clip": "aabB", "Clip": "abba", "other": "Ccba"}, n_features=3)
    if len(list((path / "features").iterdir())) < 3:
        pytest.skip("this file system takes such names for one")
    report = check_dataset(path)
    assert report.ok
    assert [note for note in report.notes if "case" in note] == [
        "videos whose names differ only in case; macOS and Windows cannot keep both: Clip and clip",
        "classes that differ only in case, perhaps typing errors: B and b, C and c",
    ]


def test_statistics(make_dataset) -> None:
    path = make_dataset({"v1": "aabbbacc", "v2": "a", "v3": "bbc"}, mapping="0 c\n1 b\n2 a\n3 d\n")
    report = check_dataset(path)

    def counts(frames: int, segments: int) -> dict[str, object]:
        mean = frames / segments if segments else None
        return {
            "n_segments": segments,
            "n_frames": frames,
            "share": frames / 12,
            "mean_frames": mean,
        }

    # every channel rises by 4 a frame
    same = pytest.approx(4 * np.std([*range(8), 0, *range(3)]))
    assert report.as_dict() == {
        "dataset": str(path),
        "statistics": {
            "n_classes": 4,
            "n_videos": 3,
            "n_partial": 0,
            "n_unlabelled": 0,
            "min_frames": 1,
            "max_frames": 8,
            "mean_frames": 4.0,
            "min_segments": 1,
            "max_segments": 4,
            "n_features": 4,
            "feature_axis": "features-first",
            "channels": {"n_constant": 0, "min_deviation": same, "max_deviation": same},
            "frames_per_second": None,
            "sampling_rate": 1,
            "background": (),
            "splits": {},
            "timestamps": None,
            "classes": (
                {"name": "c", **counts(3, 2)},
                {"name": "b", **counts(5, 2)},
                {"name": "a", **counts(4, 3)},
                {"name": "d", **counts(0, 0)},
            ),
        },
        "problems": [],
        "notes": [
            "features are features-first (detected)",
            "no splits: make them with 'uvast data split'",
            "classes that no video shows: d",
        ],
    }


def test_statistics_of_what_training_needs(generated: Path) -> None:
    numbers = check_dataset(generated).statistics
    assert numbers is not None
    dataset = Dataset.open(generated)
    assert numbers.splits == {
        number: SplitSize(len(split.train), len(split.test))
        for number, split in dataset.splits.items()
    }
    n_timestamps = sum(map(len, dataset.timestamps().values()))
    assert numbers.timestamps == TimestampCount("timestamps.json", 12, n_timestamps)
    assert numbers.background == ("background",)
    assert (numbers.frames_per_second, numbers.sampling_rate) == (15, 1)
    assert sum(one.n_frames for one in numbers.classes) == 12 * numbers.mean_frames
    assert sum(one.n_segments for one in numbers.classes) == n_timestamps


def test_many_faults_of_one_cause_are_one_sentence(make_dataset) -> None:
    names = [f"s{index}" for index in range(6)]
    path = make_dataset({name: "aab" * (index + 1) for index, name in enumerate(names)})
    rows = "".join(f"{name},0.1,a\n" for name in names)
    (path / "timestamps.csv").write_text(f"video,time,label\n{rows}")
    (path / "splits").mkdir()
    for side in ("train", "test"):
        (path / "splits" / f"{side}.split1.bundle").write_text(f"no{side}1\nno{side}2\n")
    for name in names[:3]:
        (path / "groundTruth" / f"{name}.txt").write_text("")
    for name in names[4:]:
        (path / "groundTruth" / f"{name}.txt").write_text("a\n'x/y'\n'1/2'\n" * 30)
    report = check_dataset(path)
    assert len(report.problems) == 6 + 4 + 3 + 2
    assert len(report.causes) == 1 + 1 + 3 + 2
    unknown_rate = "gives a time in seconds, but the frame rate is unknown"
    (sentence,) = [one for one in report.causes if unknown_rate in one]
    assert sentence == (
        f"{path / 'timestamps.csv'}, video s0: {unknown_rate}; "
        "set frames_per_second in dataset.toml (and 5 more like it)"
    )
    (sentence,) = [one for one in report.causes if "which does not exist" in one]
    assert sentence.endswith("remove it from the split (and 3 more like it)")


@pytest.mark.parametrize(
    ("whats", "n_causes"),
    [
        (["holds features of shape (3, 4, {})", "{} labels for the 7 frames of /a/b{}.npy"], 2),
        (["unknown label 'a{}'"], 5),
        (["unknown label 'a/b{}'"], 5),
        (["names video v{} 2 times", "1 NaN or infinite values, first in frame {}"], 2),
    ],
)
def test_faults_that_are_alike(whats: list[str], n_causes: int) -> None:
    faults = FaultList()
    for what in whats:
        for number in range(5):
            faults(DataError(what.format(number, number), where=f"/a/v{number}", remedy="mend"))
    assert len(faults.sentences) == 5 * len(whats)
    assert len(faults.causes()) == n_causes


def test_ten_faults_are_ten_problems(generated_copy: Path) -> None:
    path = generated_copy
    names = Dataset.open(path).names
    features = [path / "features" / f"{name}.npy" for name in names]
    labels = [path / "groundTruth" / f"{name}.txt" for name in names]
    arrays = [np.load(file) for file in features]
    lines = [file.read_text().splitlines() for file in labels]

    arrays[0][2, 5] = np.inf
    np.save(features[0], arrays[0])
    np.save(features[1], arrays[1][None])
    features[2].write_bytes(features[2].read_bytes()[:-4])
    features[3].unlink()
    np.save(features[4], arrays[4][:-1])
    labels[5].write_text("\n".join(["walk", *lines[5][1:-1], "run"]))
    labels[6].write_text("\n".join(lines[6] * 2))
    labels[7].write_text("")
    labels[8].unlink()
    (path / "timestamps.json").write_text(
        f'{{"{names[9]}": [{{"frame": 9, "label": "take"}}, {{"frame": 3, "label": "hop"}}],'
        f' "{names[10]}": [{{"frame": 9999, "label": "take"}}], "{names[11]}": [{{}}], "x": 3}}'
    )
    bundle = path / "splits" / "train.split1.bundle"
    bundle.write_text(bundle.read_text() + "nobody.txt\n")
    both = Dataset.open(path).splits[2].test[0]
    second = path / "splits" / "train.split2.bundle"
    second.write_text(second.read_text() + both)
    (path / "splits" / "test.split3.bundle").write_bytes(b"\xff")
    (path / "splits" / "test.split4.bundle").unlink()
    (path / "mapping.txt").write_text((path / "mapping.txt").read_text() + "sing\n")
    toml = (path / "dataset.toml").read_text().replace('"background"', '"pause"')
    (path / "dataset.toml").write_text(toml + "fps = 3\ntolerance = 3\n")

    report = check_dataset(path)
    again = "extract the features of this video again"
    known = "correct it or add it to a mapping.txt of all classes (known: background, take, open, "
    known += "pour, stir, cut"
    n_frames = arrays[10].shape[1]
    stamps = path / "timestamps.json"
    shape = 'write timestamps as in {"video": [{"frame": 12, "label": "a"}]}'
    expected = [
        f"{path / 'dataset.toml'}: unknown setting 'fps'; choose from frames_per_second, "
        "sampling_rate, background, feature_axis, timestamps_rate, tolerance, group_by, "
        "symmetry",
        f"{path / 'dataset.toml'}: tolerance is 3, above 0.1; correct tolerance",
        f"{path / 'dataset.toml'}: background names classes that do not exist: pause; "
        "choose from background, take, open, pour, stir, cut, sing",
        f"{path / 'mapping.txt'}, line 7: 'sing' is not 'id name'; "
        "write one class per line, as in '0 take'",
        f"{features[0]}: holds 1 NaN or infinite values, first in frame 5; {again}",
        f"{features[1]}: holds features of shape {arrays[1][None].shape}; "
        "save them as [T x F] or [F x T]",
        f"{features[2]}: cannot be read as a NumPy array ({arrays[2].nbytes - 4} of "
        f"{arrays[2].nbytes} bytes are there); write it again with numpy.save",
        f"{features[3]}: does not exist; extract the features of this video",
        f"{features[4]}: has features of width 7, but other videos have 8; {again}",
        f"{labels[5]}, line 1: unknown label 'walk'; {known}, sing)",
        f"{labels[5]}, line {len(lines[5])}: unknown label 'run'; {known}, sing)",
        f"{labels[6]}: holds {2 * len(lines[6])} labels for the {len(lines[6])} frames of "
        f"{features[6]}; check that both are of this video, and at the same frame rate",
        f"{labels[7]}: is empty: it holds no labels; remove this video",
        f"{stamps}, video {names[9]}: unknown label 'hop'; {known}, sing)",
        f"{stamps}, video {names[9]}: timestamp 3 comes after 9; "
        "order the timestamps, one frame each",
        f"{stamps}, video {names[10]}: timestamp 9999 is outside of the video's {n_frames} frames; "
        "timestamps count frames from 0",
        f"{stamps}, video {names[11]}: {{}} needs either a frame or a time; {shape}",
        f"{stamps}, video x: has no list of timestamps; {shape}",
        f"{bundle}: names video nobody, which does not exist; "
        "add its files or remove it from the split",
        f"{path / 'splits'}: video {both} is on both sides of split 2; name it once",
        f"{path / 'splits' / 'test.split3.bundle'}: cannot be read as text "
        "('utf-8' codec can't decode byte 0xff in position 0: invalid start byte); "
        "save it as UTF-8 text",
        f"{path / 'splits' / 'test.split4.bundle'}: does not exist; list one video per line",
    ]
    assert sorted(report.problems) == sorted(expected)
    assert sorted(report.causes) == sorted(expected)
    assert report.statistics is not None
    assert (report.statistics.n_videos, report.statistics.n_unlabelled) == (12, 1)
    assert f"1 video has no labels or timestamps and stays out: {names[8]}" in report.notes


def test_labels_alone_are_no_fault(generated_copy: Path) -> None:
    shutil.rmtree(generated_copy / "features")
    report = check_dataset(generated_copy)
    assert report.ok
    assert report.notes == ("no features: labels only",)
    assert report.statistics is not None
    assert report.statistics.n_features is None


def test_features_and_timestamps_alone_are_no_fault(generated_copy: Path) -> None:
    expected = check_dataset(generated_copy).statistics
    shutil.rmtree(generated_copy / "groundTruth")
    report = check_dataset(generated_copy)
    assert report.ok
    assert report.notes == ("no labels: videos can be trained on with timestamps, but not scored",)
    assert report.statistics is not None
    assert report.statistics.mean_frames == expected.mean_frames
    assert report.statistics.max_segments is None


def test_no_mapping_is_no_fault(generated_copy: Path) -> None:
    (generated_copy / "mapping.txt").unlink()
    report = check_dataset(generated_copy)
    assert report.ok
    assert report.notes == ("no mapping.txt: the classes are those of the labels",)


def test_a_typing_error_is_noted_where_no_mapping_tells(generated_copy: Path) -> None:
    (generated_copy / "mapping.txt").unlink()
    name = Dataset.open(generated_copy).names[0]
    path = generated_copy / "groundTruth" / f"{name}.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(["typo", *lines[1:]]) + "\n")
    note = check_dataset(generated_copy).notes[-1]
    assert note == f"classes with a single segment, perhaps typing errors: typo ({name})"


def test_videos_without_timestamps_are_noted_and_an_empty_file_is_a_fault(
    generated_copy: Path,
) -> None:
    names = Dataset.open(generated_copy).names
    (generated_copy / "timestamps.json").unlink()
    rows = "".join(f"{name},0,background\n" for name in names[1:])
    (generated_copy / "timestamps.csv").write_text(f"video,frame,label\n{rows}")
    assert f"timestamps.csv has no timestamps for {names[0]}" in check_dataset(generated_copy).notes
    (generated_copy / "timestamps.csv").write_text("video,frame,label\n")
    (problem,) = check_dataset(generated_copy).problems
    assert problem.endswith("timestamps.csv: holds no timestamps; annotate at least one frame")
    with pytest.raises(TimestampError, match="holds no timestamps"):
        Dataset.open(generated_copy).timestamps()


def test_trimmed_videos_are_a_note(generated_copy: Path) -> None:
    name = Dataset.open(generated_copy).names[3]
    path = generated_copy / "groundTruth" / f"{name}.txt"
    path.write_text(path.read_text().rstrip("\n").rpartition("\n")[2] + "\n" + path.read_text())
    report = check_dataset(generated_copy)
    assert report.ok
    assert report.notes[-1] == (
        f"1 video trimmed: labels and features differ by up to 1 frame (first: {name})"
    )


def test_timestamps_at_another_rate_are_noted(make_dataset) -> None:
    path = make_dataset({"v": "aaaabbbb"})
    np.save(path / "x_annotation_all.npy", {"v.txt": [1, 3]}, allow_pickle=True)
    report = check_dataset(path)
    assert report.notes[-1] == (
        "0 of 2 segments hold exactly one timestamp (if timestamps count sub-sampled frames, set "
        "sampling_rate and timestamps_rate in dataset.toml)"
    )
    (path / "dataset.toml").write_text('sampling_rate = 2\ntimestamps_rate = "sampled"\n')
    assert not any("timestamp" in note for note in check_dataset(path).notes)


def test_clicks_are_held_by_the_segments_that_were_clicked_whatever_the_model_sees(
    make_dataset,
) -> None:
    path = make_dataset({"v": "a" * 8 + "b" * 12 + "c" + "a" * 10})
    (path / "dataset.toml").write_text("sampling_rate = 8\n")
    clicks = [{"frame": 6, "label": "a"}, {"frame": 15, "label": "b"}, {"frame": 30, "label": "a"}]
    (path / "timestamps.json").write_text(json.dumps({"v": clicks}))
    assert not any("timestamp" in note for note in check_dataset(path).notes)


@pytest.mark.parametrize("content", [b"", b"junk"])
def test_every_unreadable_file_is_listed_if_no_file_is_readable(
    make_dataset, content: bytes
) -> None:
    path = make_dataset({"v1": "aab", "v2": "ab"})
    for name in ("v1", "v2"):
        (path / "features" / f"{name}.npy").write_bytes(content)
    problems = check_dataset(path).problems
    assert [problem.split(": ")[0] for problem in problems] == [
        str(path / "features" / f"{name}.npy") for name in ("v1", "v2")
    ]


def test_no_dataset_at_all(tmp_path: Path) -> None:
    report = check_dataset(tmp_path)
    assert report.statistics is None
    assert report.problems == (
        f"{tmp_path}: has no videos, neither features/*.npy nor groundTruth/*.txt; "
        "give the folder of a dataset",
    )
    assert check_dataset(tmp_path / "none").problems == (
        f"{tmp_path / 'none'}: does not exist; give the folder of a dataset",
    )


def test_an_empty_list_of_timestamps_is_none_at_all(make_dataset) -> None:
    path = make_dataset({"v": "aab", "w": "bba"})
    (path / "timestamps.json").write_text('{"v": [{"frame": 0, "label": "a"}], "w": []}')
    report = check_dataset(path)
    assert report.ok
    assert "timestamps.json has no timestamps for w" in report.notes
    assert list(Dataset.open(path).timestamps()) == ["v"]


def test_timestamps_files_that_do_not_count_are_noted(make_dataset) -> None:
    path = make_dataset({"v": "aab"})
    (path / "timestamps.json").write_text('{"v": [{"frame": 0, "label": "a"}]}')
    assert not any("ignored" in note for note in check_dataset(path).notes)
    (path / "timestamps.csv").write_text("junk")
    assert "timestamps.csv is ignored, timestamps.json comes first" in check_dataset(path).notes
    (path / "x_annotation_all.npy").touch()
    assert (
        "timestamps.csv, x_annotation_all.npy are ignored, timestamps.json comes first"
        in check_dataset(path).notes
    )


@pytest.mark.parametrize(
    ("rate", "clicks", "note"),
    [
        # frame 3 is b, and at rate 2 it falls on frame 2, an a: the source frame counts
        (1, "0,a 3,b", None),
        (2, "0,a 3,b", None),
        (
            2,
            "1,a 3,a 5,c",
            "1 of 3 timestamps disagree with groundTruth (first: v, source frame 3 is b, not a)",
        ),
    ],
)
def test_timestamps_that_contradict_the_ground_truth_are_noted(
    make_dataset, rate: int, clicks: str, note: str | None
) -> None:
    path = make_dataset({"v": "aaabbccc"}, spec=f"sampling_rate = {rate}")
    rows = "".join(f"v,{click}\n" for click in clicks.split())
    (path / "timestamps.csv").write_text(f"video,frame,label\n{rows}")
    report = check_dataset(path)
    assert report.ok
    assert [one for one in report.notes if "disagree" in one] == ([] if note is None else [note])


def test_a_file_name_that_is_no_text_is_a_fault(make_dataset) -> None:
    path = make_dataset({"v": "aab"})
    for folder, suffix in (("features", ".npy"), ("groundTruth", ".txt")):
        source = path / folder / f"v{suffix}"
        try:
            shutil.copy(source, os.fsencode(source.parent) + b"/\xff" + suffix.encode())
        except OSError:
            pytest.skip("this file system has no such names")
    odd = "left out: its name is not UTF-8 text; rename the file"
    assert check_dataset(path).problems == (
        rf"{path / 'features'}/\xff.npy: {odd}",
        rf"{path / 'groundTruth'}/\xff.txt: {odd}",
    )
    dataset = Dataset.open(path)
    assert dataset.names == ("v",)
    assert [str(fault) for fault in dataset.skipped] == list(check_dataset(path).problems)


def test_names_in_two_unicode_forms_are_the_same(make_dataset) -> None:
    composed, decomposed = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    path = make_dataset({decomposed: "aab"})
    (path / "timestamps.csv").write_text(f"video,frame,label\n{composed},0,a\n")
    write_splits(path / "splits", {1: Split((composed,), (composed,))})
    dataset = Dataset.open(path)
    assert list(dataset.timestamps()) == [decomposed]
    assert dataset.splits == {1: Split((decomposed,), (decomposed,))}


def test_an_empty_timestamps_file_is_a_fault_whatever_else_is_wrong(make_dataset) -> None:
    path = make_dataset({"v": "aab"}, spec="fps = 3")
    (path / "timestamps.json").write_text("{}")
    found = [problem.partition(": ")[2] for problem in check_dataset(path).problems]
    assert "holds no timestamps; annotate at least one frame" in found
    assert len(found) == 2


def test_many_unknown_labels_take_no_more_time_than_their_number(make_dataset) -> None:
    path = make_dataset({"v": "aab"}, mapping="0 a\n")
    (path / "groundTruth" / "v.txt").write_text("".join(f"x{n}\n" for n in range(20_000)))
    start = time.perf_counter()
    report = check_dataset(path)
    assert time.perf_counter() - start < 10
    assert len(report.problems) == 20_001


def test_each_feature_file_is_opened_and_looked_at_once(generated: Path, monkeypatch) -> None:
    headers, values = [], []
    read_magic = npy_format.read_magic
    monkeypatch.setattr(npy_format, "read_magic", lambda f: headers.append(f) or read_magic(f))
    monkeypatch.setattr(feature_files, "check_finite", lambda features, path: values.append(path))
    assert check_dataset(generated).ok
    assert len(headers) == len(values) == 12
    dataset = Dataset.open(generated)
    headers.clear()
    for _ in range(3):
        for name in dataset.names:
            dataset.video(name)
            dataset.source_frames(name)
    assert len(headers) == 12
