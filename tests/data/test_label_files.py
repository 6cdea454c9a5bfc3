from pathlib import Path

import pytest

from uvast.data.label_files import read_labels, read_mapping, write_labels, write_mapping
from uvast.errors import CorruptFileError, LabelError, MissingFileError


@pytest.mark.parametrize(
    "content",
    [b"a\nb\nb\n", b"a\nb\nb", b"a\r\nb\r\nb\r\n", b"a\r\nb\r\nb", b"\xef\xbb\xbfa\nb \nb\n\n"],
)
def test_line_ends_and_a_final_newline_do_not_matter(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "v.txt").write_bytes(content)
    assert read_labels(tmp_path / "v.txt") == ["a", "b", "b"]


def test_labels_and_mapping_round_trip(tmp_path: Path) -> None:
    names = ["pour milk", "stir", "a\ttab", "two  blanks"]
    write_labels(tmp_path / "v.txt", names)
    assert read_labels(tmp_path / "v.txt") == names
    write_mapping(tmp_path / "mapping.txt", names)
    assert read_mapping(tmp_path / "mapping.txt") == tuple(names)


@pytest.mark.parametrize("content", ["", "\n", " \r\n"])
def test_an_empty_label_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(content)
    with pytest.raises(LabelError) as caught:
        read_labels(path)
    assert str(caught.value) == f"{path}: is empty: it holds no labels; remove this video"


def test_a_line_without_a_label(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("a\n\na\n")
    with pytest.raises(LabelError) as caught:
        read_labels(path)
    assert str(caught.value) == f"{path}, line 2: has no label; write one label per line"


def test_a_missing_label_file(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    with pytest.raises(MissingFileError) as caught:
        read_labels(path)
    assert str(caught.value) == f"{path}: does not exist; label this video or remove it"


def test_labels_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(CorruptFileError) as caught:
        read_labels(path)
    assert str(caught.value) == (
        f"{path}: cannot be read as text "
        "('utf-8' codec can't decode byte 0xff in position 0: invalid start byte); "
        "save it as UTF-8 text"
    )


@pytest.mark.parametrize("content", ["1 b\n0 a\n", "0\ta\r\n1\tb", "0 a\n\n1  b\n"])
def test_mapping_is_in_the_order_of_ids(tmp_path: Path, content: str) -> None:
    (tmp_path / "mapping.txt").write_text(content)
    assert read_mapping(tmp_path / "mapping.txt") == ("a", "b")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("0 a\nb\n", ", line 2: 'b' is not 'id name'; write one class per line, as in '0 take'"),
        (
            "0 a\nx b\n",
            ", line 2: 'x b' is not 'id name'; write one class per line, as in '0 take'",
        ),
        ("0 a\n0 b\n", ": id 0 occurs more than once; give every class its own id"),
        ("0 a\n2 b\n", ": id 1 is missing; count ids from 0 without gaps"),
        ("0 a\n1 a\n", ": class a has more than one id; name every class once"),
        ("\n", ": has no classes; write lines 'id name'"),
    ],
)
def test_faulty_mappings(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "mapping.txt"
    path.write_text(content)
    with pytest.raises(CorruptFileError) as caught:
        read_mapping(path)
    assert str(caught.value) == f"{path}{sentence}"


def test_a_lenient_reader_keeps_the_classes_of_faulty_lines(tmp_path: Path) -> None:
    path = tmp_path / "mapping.txt"
    path.write_text("0 a\nb\nx c\n1 d\n")
    faults: list[Exception] = []
    assert read_mapping(path, faults.append) == ("a", "d", "b", "c")
    assert len(faults) == 2


def test_a_mapping_without_a_right_line_is_one_fault(tmp_path: Path) -> None:
    path = tmp_path / "mapping.txt"
    path.write_text("a 0\nb 1\n")
    faults: list[Exception] = []
    with pytest.raises(CorruptFileError) as caught:
        read_mapping(path, faults.append)
    assert str(caught.value) == (
        f"{path}, line 1: 'a 0' is not 'id name'; write one class per line, as in '0 take'"
    )
    assert faults == []


def test_a_mapping_with_an_id_of_forty_thousand_digits(tmp_path: Path) -> None:
    path = tmp_path / "mapping.txt"
    path.write_text(f"{'9' * 40_000} a\n")
    with pytest.raises(CorruptFileError) as caught:
        read_mapping(path)
    assert "is not 'id name'" in str(caught.value)
    assert len(str(caught.value)) < 500
