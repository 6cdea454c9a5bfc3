"""Videos that are labelled in part: which frames count, and what is wrong with `labelled.json`."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uvast.data import Annotation, Dataset, check_dataset, write_labelled, write_timestamps
from uvast.errors import LabelError, MissingFileError, UvastError
from uvast.segments import UNLABELLED, Segmentation

LABELS = "aaabbbbbccc?aabb"  # 16 frames; nobody looked at frame 11


def _dataset(path: Path, labelled: object = None, *, rate: int = 1, **labels: str) -> Path:
    """Features `[frame, 0]` of each video, labels one letter a line; `-` for no label file."""
    (path / "features").mkdir(parents=True)
    (path / "groundTruth").mkdir()
    for name, letters in (labels or {"v": LABELS}).items():
        frames = np.arange(len(letters), dtype=np.float32)
        np.save(path / "features" / f"{name}.npy", np.stack((frames, 0 * frames), 1))
        if "-" not in letters:
            (path / "groundTruth" / f"{name}.txt").write_text("\n".join(letters) + "\n")
    (path / "dataset.toml").write_text(f'sampling_rate = {rate}\nfeature_axis = "time-first"\n')
    if labelled is not None:
        (path / "labelled.json").write_text(json.dumps(labelled))
    return path


def test_a_stretch_is_a_video_of_its_own(tmp_path: Path) -> None:
    dataset = Dataset.open(_dataset(tmp_path / "d", {"v": [[1, 6], [12, 16]]}, rate=2))
    assert dataset.samples("v") == ("v/1:6", "v/12:16")
    first = dataset.video("v/1:6")
    assert first.features[:, 0].tolist() == [1, 3, 5]
    assert first.labels is not None
    assert dataset.vocabulary.decode(first.labels) == ("a", "b", "b")
    assert (first.name, first.source_frames) == ("v/1:6", 5)
    assert dataset.video("v/12:16", labels=False).features[:, 0].tolist() == [12, 14]
    assert dataset.source_frames("v/12:16") == 4
    assert dataset.video_of("v/1:6") == dataset.video_of("v") == "v"
    with pytest.raises(MissingFileError, match="has no video v/1:7"):
        dataset.video("v/1:7")


def test_the_rest_of_a_video_has_no_class(tmp_path: Path) -> None:
    dataset = Dataset.open(_dataset(tmp_path / "d", {"v": [[1, 6], [12, 16]]}))
    assert dataset.vocabulary.names == ("a", "b")  # c and ? are outside
    truth = dataset.source_segmentation("v")
    assert truth == Segmentation([UNLABELLED, 0, 1, UNLABELLED, 0, 1], [1, 2, 3, 6, 2, 2])
    assert truth.labelled_parts() == ((1, 6), (12, 16))
    assert dataset.partial_summary(dataset.names) == (
        "1 video is labelled in part, the rest stays out: v (9 of 16 frames)"
    )


def test_an_unknown_label_inside_is_named_by_its_line(tmp_path: Path) -> None:
    path = _dataset(tmp_path / "d", {"v": [[1, 6], [10, 16]]})
    (path / "mapping.txt").write_text("0 a\n1 b\n2 c\n")
    with pytest.raises(LabelError, match=r"v\.txt, line 12: unknown label '\?'"):
        Dataset.open(path).source_labels("v")


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.sets(st.integers(1, 15)), overhang=st.integers(0, 1))
def test_labelling_everything_is_no_file(
    tmp_path_factory: pytest.TempPathFactory, cuts: set[int], overhang: int
) -> None:
    letters = LABELS.replace("?", "c") * 10  # one frame more is within the tolerance
    ends = [*sorted(cuts), len(letters) + overhang]
    spans = [list(span) for span in zip([0, *ends[:-1]], ends, strict=True)]
    path = _dataset(tmp_path_factory.mktemp("all") / "d", {"v.mp4": spans}, v=letters)
    dataset = Dataset.open(path)
    found, labels = dataset.samples("v"), dataset.source_labels("v")
    (path / "labelled.json").unlink()
    plain = Dataset.open(path)
    assert found == plain.samples("v") == ("v",)
    assert labels.tolist() == plain.source_labels("v").tolist()
    assert dataset.partial_summary(["v"]) is None


def test_an_empty_list_is_a_video_without_labels(tmp_path: Path) -> None:
    dataset = Dataset.open(_dataset(tmp_path / "d", {"v": []}, v="??", w="ab", x="--"))
    assert dataset.samples("v") == ()
    assert [dataset.has_labels(name) for name in dataset.names] == [False, True, False]
    assert dataset.vocabulary.names == ("a", "b")


def test_only_clicks_inside_of_stretches_count(tmp_path: Path) -> None:
    path = _dataset(tmp_path / "d", {"v": [[1, 6], [7, 9], [12, 16]]}, rate=2)
    clicks = [(0, "a"), (2, "a"), (5, "b"), (11, "never heard of"), (13, None), (15, None)]
    write_timestamps(path / "timestamps.json", {"v": [Annotation(f, None, x) for f, x in clicks]})
    dataset = Dataset.open(path)
    found = dataset.timestamps()
    assert {name: one.frames.tolist() for name, one in found.items()} == {
        "v/1:6": [0, 2],
        "v/12:16": [0, 1],
    }
    assert [one.transcript.tolist() for one in found.values()] == [[0, 1], [0, 1]]
    # back to the video: the first source frame of each frame of the model
    assert dataset.source_timestamps(found)["v"].frames.tolist() == [1, 5, 12, 14]


FORM = 'write stretches in order, as in {"video": [[0, 900], [1200, 1500]]}'


@pytest.mark.parametrize(
    ("labelled", "fault"),
    [
        ([], "labelled.json: its content is [], not a table of values; " + FORM),
        ({"v": [[0, 2.5]]}, "labelled.json: v.0.1 is 2.5, not a whole number; " + FORM),
        ({"v": [[-1, 2]]}, "labelled.json: v.0.0 is -1, below 0; " + FORM),
        ({"v": [[3, 3]]}, "labelled.json, video v: stretch [3, 3] has no frames; " + FORM),
        (
            {"v": [[0, 5], [4, 8]]},
            "labelled.json, video v: stretch [4, 8] comes after [0, 5], which ends later; " + FORM,
        ),
        (
            {"v": [[0, 99]]},
            "labelled.json, video v: stretch [0, 99] is outside of the video's 16 frames; "
            "give source frames, counted from 0",
        ),
        (
            {"v": [[0, 3], [16, 17]]},
            "labelled.json, video v: stretch [16, 17] is outside of the video's 16 frames; "
            "give source frames, counted from 0",
        ),
        (
            {"vv": [[0, 5]]},
            "labelled.json: names video vv, which does not exist; did you mean v? If not, add its "
            "files or remove it here",
        ),
        (
            {"v": [], "v.mp4": []},
            "labelled.json: names video v twice, once as v.mp4; write its stretches in one list",
        ),
    ],
    ids=["list", "half", "negative", "empty", "overlap", "late", "past", "unknown", "twice"],
)
def test_what_is_wrong_is_told_with_file_and_video(
    tmp_path: Path, labelled: object, fault: str
) -> None:
    path = _dataset(tmp_path / "d", labelled, v="a" * 16)
    with pytest.raises(LabelError) as caught:
        Dataset.open(path).samples("v")
    assert str(caught.value) == f"{path}/{fault}"
    assert f"{path}/{fault}" in check_dataset(path).problems


def test_what_is_no_json_is_told(tmp_path: Path) -> None:
    path = _dataset(tmp_path / "d")
    (path / "labelled.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(UvastError, match=r"labelled\.json"):
        Dataset.open(path).has_labels("v")
    assert len(check_dataset(path).problems) == 1


def test_the_check_counts_and_lists(tmp_path: Path) -> None:
    path = _dataset(tmp_path / "d", {"v": [[1, 6]], "w": []}, v=LABELS, w="??", x="--", y="abab")
    write_timestamps(
        path / "timestamps.json", {"v": [Annotation(0, None, "c"), Annotation(2, None, "b")]}
    )
    (path / "mapping.txt").write_text("0 a\n1 b\n2 c\n")
    report = check_dataset(path)
    assert report.ok
    assert report.statistics is not None
    assert (report.statistics.n_partial, report.statistics.n_unlabelled) == (1, 2)
    assert [one.n_frames for one in report.statistics.classes] == [4, 5, 0]
    assert [one.share for one in report.statistics.classes] == [4 / 9, 5 / 9, 0]
    assert (report.statistics.min_segments, report.statistics.max_segments) == (2, 4)
    assert "2 videos have no labels or timestamps and stay out: w, x" in report.notes
    partial = "1 video is labelled in part, the rest stays out: v (5 of 16 frames)"
    assert partial in report.notes
    # the click at frame 0 is outside of the stretch, that at frame 2 disagrees
    wrong = "1 of 1 timestamps disagree with groundTruth (first: v, source frame 2 is a, not b)"
    assert wrong in report.notes


spans = st.lists(st.integers(0, 10**6), unique=True).map(
    lambda ends: list(zip(sorted(ends)[::2], sorted(ends)[1::2], strict=False))
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(table=st.dictionaries(st.text(), spans))
def test_written_stretches_are_read_again(
    tmp_path: Path, table: dict[str, list[tuple[int, int]]]
) -> None:
    write_labelled(tmp_path / "labelled.json", table)
    read = json.loads((tmp_path / "labelled.json").read_text("utf-8"))
    assert read == {name: [list(span) for span in its] for name, its in table.items()}
