"""Files from strangers: bombs, outside paths, endless lines; one sentence each, and quickly."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.errors import CorruptFileError, UvastError
from uvast.exchange import (
    FORMATS,
    ConstantRate,
    Event,
    Source,
    Target,
    VideoAnnotations,
    read_annotations,
    recognised,
)
from uvast.exchange import source as source_module
from uvast.exchange.archive import MAX_MEMBERS
from uvast.exchange.formats import format_named, read, write
from uvast.exchange.source import MAX_LINE

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><ANNOTATION_DOCUMENT>&c;</ANNOTATION_DOCUMENT>'
)
OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY passwords SYSTEM "file:///etc/passwd">]>'
    "<ANNOTATION_DOCUMENT>&passwords;</ANNOTATION_DOCUMENT>"
)
DTD = '<?xml version="1.0"?><!DOCTYPE x SYSTEM "http://a/b.dtd"><ANNOTATION_DOCUMENT/>'


@pytest.mark.parametrize("name", ["elan", "cvat", "anvil"])
@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE, DTD], ids=["bomb", "entity", "dtd"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_that_declares_anything_is_refused(name, text, encoding):
    with pytest.raises(UvastError) as error:
        read(format_named(name), Source(text.encode(encoding), "x.eaf"))
    assert str(error.value) == (
        "x.eaf, line 1: declares a document type or entities, which can hide harmful content; "
        "remove the <!DOCTYPE …> part; annotation programs write none"
    )


def test_xml_nested_too_deeply():
    deep = "<ANNOTATION_DOCUMENT>" + "<a>" * 100_000
    with pytest.raises(UvastError, match=r"x.eaf, line 1: is nested more than 50 deep"):
        read(format_named("elan"), Source(deep.encode(), "x.eaf"))


@pytest.mark.parametrize("text", ["<ANNOTATION_DOCUMENT><a></b>", "", "<", "no xml"])
def test_broken_xml(text):
    with pytest.raises(CorruptFileError, match=r"x.eaf: is not valid XML \(line 1: "):
        read(format_named("elan"), Source(text.encode(), "x.eaf"))


def test_xml_of_an_encoding_that_nobody_knows():
    text = '<?xml version="1.0" encoding="klingon"?><ANNOTATION_DOCUMENT/>'
    with pytest.raises(CorruptFileError, match=r"x.eaf: is (XML in an unknown|not valid XML)"):
        read(format_named("elan"), Source(text.encode(), "x.eaf"))


def test_xml_in_an_old_encoding_is_read():
    text = '<?xml version="1.0" encoding="windows-1252"?><annotation><body><track name="t">' \
        '<el start="1" end="2"><attribute name="type">größer</attribute></el></track></body>' \
        "</annotation>"  # fmt: skip
    found = read(format_named("anvil"), Source(text.encode("cp1252"), "x.anvil"))
    assert found.videos[0].labels == ("größer",)


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return out.getvalue()


NEEDED = {"db": b"#4\n", "project": b""}


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        (NEEDED | {"bomb": b"0" * 40_000_000}, "bomb is compressed by a factor of "),
        (
            NEEDED | {"../../etc/passwd": b""},
            "holds a file whose path leads outside it: '../../etc/passwd'",
        ),
        (NEEDED | {"/etc/passwd": b""}, "holds a file whose path leads outside it"),
        (NEEDED | {"C:\\windows\\x": b""}, "holds a file whose path leads outside it"),
        (NEEDED | {str(n): b"" for n in range(MAX_MEMBERS)}, "holds 1002 files"),
    ],
    ids=["ratio", "above", "root", "drive", "members"],
)
@pytest.mark.parametrize("name", ["datavyu", "xlsx"])
def test_zip_files_that_no_program_makes(name, members, sentence):
    with pytest.raises(CorruptFileError, match=f"x.opf: {sentence}"):
        read(format_named(name), Source(archive(members), "x.opf"))


def test_a_zip_file_that_lies_about_its_size():
    content = bytearray(archive({"db": b"#4\n" * 200_000, "project": b""}))
    place = content.rfind(b"PK\x01\x02")  # of the last entry in the directory at the end
    first = content.find(b"PK\x01\x02")
    assert first < place
    content[first + 24 : first + 28] = (10).to_bytes(4, "little")
    with pytest.raises(CorruptFileError, match=r"x.opf: db cannot be unpacked"):
        read(format_named("datavyu"), Source(bytes(content), "x.opf"))


def test_too_much_in_all(monkeypatch):
    monkeypatch.setattr("uvast.exchange.archive.MAX_BYTES", 100_000)
    members = NEEDED | {"noise": bytes(range(256)) * 500}
    with pytest.raises(CorruptFileError, match=r"unpacks to more than"):
        read(format_named("datavyu"), Source(archive(members), "x.opf"))


def test_entities_inside_a_workbook_are_refused_before_any_library_sees_them():
    laughs = LAUGHS.encode()
    for content in (laughs, LAUGHS.encode("utf-16")):
        members = {"xl/workbook.xml": content, "[Content_Types].xml": b"<a/>"}
        with pytest.raises(CorruptFileError, match=r"xl/workbook.xml declares entities"):
            read(format_named("xlsx"), Source(archive(members), "x.xlsx"))


def test_members_without_a_name_do_no_harm():
    content = archive(NEEDED | {"./": b"", "Q": b""}).replace(b"Q", b"\0")  # which ends a name
    with zipfile.ZipFile(io.BytesIO(content)) as made:
        assert made.namelist() == ["db", "project", "./", ""]
    assert read(format_named("datavyu"), Source(content, "x.opf")).videos[0].events == ()
    with pytest.raises(UvastError, match=r"x.xlsx: cannot be read as a workbook"):
        read(format_named("xlsx"), Source(content, "x.xlsx"))


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"PK\x03\x04" + b"\0" * 100])
@pytest.mark.parametrize("name", ["datavyu", "xlsx"])
def test_broken_zip_files(name, content):
    with pytest.raises(CorruptFileError, match=r"x: cannot be read as a zip file"):
        read(format_named(name), Source(content, "x"))


def test_a_workbook_that_is_none():
    with pytest.raises(UvastError, match=r"x.xlsx: cannot be read as a workbook"):
        read(format_named("xlsx"), Source(archive({"xl/workbook.xml": b"<a/>"}), "x.xlsx"))


@pytest.mark.parametrize("declared", ["A1:B2", "A1:ZZZ9999999"])
@pytest.mark.parametrize("last", [6, 999_999_999])
def test_a_workbook_whose_rows_are_not_where_it_says(declared, last):
    events = tuple(Event("cut", float(second), second + 0.5) for second in range(4))
    kind = format_named("xlsx")
    content = write(kind, [VideoAnnotations("v", events)], Target("x.xlsx")).content
    with zipfile.ZipFile(io.BytesIO(content)) as made:
        members = {name: made.read(name) for name in made.namelist()}
    sheet = members["xl/worksheets/sheet1.xml"]
    start = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    assert start in sheet
    assert b"<dimension" not in sheet
    sheet = sheet.replace(start, start + f'<dimension ref="{declared}"/>'.encode())
    end = f'<row r="{last}"><c r="A{last}"/></row></sheetData>'.encode()
    members["xl/worksheets/sheet1.xml"] = sheet.replace(b"</sheetData>", end)
    assert read(kind, Source(archive(members), "x.xlsx")).videos[0].events == events


def test_a_file_beyond_all_reason(monkeypatch):
    monkeypatch.setattr(source_module, "MAX_BYTES", 1024**2)
    with pytest.raises(CorruptFileError) as error:
        Source(b"a" * (1024**2 + 1), "x.csv")
    assert str(error.value) == (
        "x.csv: is larger than 1 MB; check that it is an annotation file, or write one file per "
        "video"
    )


@pytest.mark.parametrize(
    "name", ["csv", "audacity", "srt", "vtt", "ms-tcn", "intervals", "bento", "deepethogram"]
)
def test_a_line_without_end(name):
    starts = {"deepethogram": b",background,a\n", "audacity": b"1\t2\ta\n", "intervals": b"1 2 a\n"}
    start = starts.get(name, b"video,start,label\n")
    source = Source(start + b"a" * (MAX_LINE + 1), "x.txt", times_of=lambda _: None)
    with pytest.raises(UvastError) as error:
        read(format_named(name), source)
    assert "line 2" in str(error.value)


@pytest.mark.parametrize("text", ['{"a":' * 100_000, "[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
@pytest.mark.parametrize("name", ["uvast", "boris", "via", "label-studio", "activitynet"])
def test_json_nested_too_deeply_or_with_endless_numbers(name, text):
    with pytest.raises(UvastError, match=r"x.json"):
        read(format_named(name), Source(text.encode(), "x.json"))


def test_a_key_twice_would_lose_one():
    with pytest.raises(CorruptFileError, match=r"x.json: key 'v' appears more than once"):
        read(format_named("activitynet"), Source(b'{"v": {}, "v": {}}', "x.json"))


@pytest.mark.parametrize("content", [b"\xff\xff\xff", b"\x80abc", b"a\0b\0\0"])
def test_what_is_no_text(content):
    with pytest.raises(CorruptFileError, match=r"x.txt: (cannot be read as text|is not text)"):
        recognised(Source(content, "x.txt"))


def sentence_of(kind, content: bytes, place: str, times=None) -> str:
    """What is said of a content; the file's name if it can be read."""
    try:
        read(kind, Source(content, place, times_of=lambda _: times))
    except UvastError as error:
        return str(error)
    return place


LONG = "9" * 5000
ELAN_SLOT = (
    '<ANNOTATION_DOCUMENT><HEADER><MEDIA_DESCRIPTOR MEDIA_URL="a" TIME_ORIGIN="²"/></HEADER>'
    '<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="{}"/></TIME_ORDER></ANNOTATION_DOCUMENT>'
)
CVAT = (
    "<annotations><meta><task><size>{0}</size><start_frame>{0}</start_frame></task></meta>"
    '<track id="0" label="a"><box frame="{1}" outside="0"/></track></annotations>'
)
ANVIL = (
    '<annotation><body><track name="t"><el index="{0}" start="1" end="2"/></track>'
    '<track name="u" ref="t"><el ref="{0}"/></track></body></annotation>'
)
VIA = "# CSV_HEADER = metadata_id,{}\n"
FPS = '{{"data": {{"video": "v", "fps": {}}}, "annotations": [{{"result": [{{"type": ' \
    '"timelinelabels", "value": {{"ranges": [{{"start": 1, "end": 9}}], "timelinelabels": ["a"]}}' \
    "}}]}}]}}"  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("elan", ELAN_SLOT.format("²"), "x, line 1: TIME_VALUE '²' is not a number; correct it"),
        ("elan", ELAN_SLOT.format(LONG), "x, line 1: TIME_VALUE '9999"),
        ("cvat", CVAT.format("²", "²"), "x, line 1: '²' is not a frame number; correct it"),
        ("cvat", CVAT.format(LONG, LONG), "x, line 1: '9999"),
        ("csv", f"label,frame\na,{'9' * 400}\n", "x, line 2: '9999"),
        ("csv", "label,frame,fps\na,1,0\n", "x: says that x has 0 frames per second; correct it"),
        ("label-studio", FPS.format("1e999"), "x: says that v has inf frames per second; correct"),
        ("label-studio", FPS.format("1e-300"), "x: says that v has 1e-300 frames per second"),
        ("bento", "Annotation start frame: 1e999\n", "x: annotation start frame '1e999' is not a"),
        ("via-csv", VIA.format("flags") + "1,2\n", "x, line 2: the header has no column file_list"),
        ("via-csv", "# ATTRIBUTE = []\n", "x, attribute: input should be a valid dictionary; save"),
        ("via-csv", "# ATTRIBUTE = 3\n", "x, attribute: input should be a valid dictionary; save"),
    ],
)  # fmt: skip
def test_values_that_no_program_writes(name, text, sentence):
    times = ConstantRate(Fraction(25)) if name == "cvat" else None
    assert sentence_of(format_named(name), text.encode(), "x", times).startswith(sentence)


@pytest.mark.parametrize("text", [ANVIL.format("²"), ANVIL.format(LONG)])
def test_elements_of_anvil_that_cannot_be_counted_are_left_out(text):
    found = read(format_named("anvil"), Source(text.encode(), "x.anvil"))
    assert found.warnings[-1] == "track u: elements without times are left out"


@pytest.mark.parametrize(
    "error", [ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError]
)
def test_damage_that_no_reader_expects_is_a_sentence(error):
    def fail(_source):
        raise error("oh")

    with pytest.raises(CorruptFileError) as caught:
        read(replace(format_named("elan"), read=fail), Source(b"<a/>", "x.eaf"))
    assert str(caught.value) == (
        f"x.eaf: cannot be read as ELAN ({error.__name__}); save it again with the "
        "program that made it"
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.integers(-5, 5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["video", "events", "observations", "behaviors_conf", "file", "view", "metadata", "z",
             "attribute", "av", "vid", "data", "annotations", "result", "value", "database", "1",
             "segment", "label", "type", "ranges", "start", "end", "format", "videos", "version"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize(
    "kind", [one for one in FORMATS if one.suffixes[0] in (".json", ".boris")], ids=lambda k: k.name
)
@settings(max_examples=60, deadline=None)
@given(value=VALUES)
def test_any_json_is_read_or_refused_in_a_sentence(kind, value):
    assert sentence_of(kind, json.dumps(value).encode(), "x.json").startswith("x.json")


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
@settings(max_examples=60, deadline=None)
@given(
    content=st.binary(max_size=60)
    | st.text('0123456789.,:;\t\n -><ab"#{}[]', max_size=60).map(str.encode)
)
def test_any_bytes_are_read_or_refused_in_a_sentence(kind, content):
    assert sentence_of(kind, content, "x.y").startswith("x.y")


def test_damage_anywhere_in_a_zip_file_is_a_sentence():
    whole = archive({"db": b"#4\nlook (MATRIX,true,)-c|NOMINAL\n" * 20, "project": b"a: b\n"})
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        said = sentence_of(format_named("datavyu"), bytes(damaged), "x.opf")
        assert said.startswith("x.opf")


def test_a_line_of_a_gigabyte_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "labels.txt"
    with path.open("wb") as file:
        file.truncate(1024**3)  # takes no space on disk
    with pytest.raises(CorruptFileError, match=r"labels.txt: is larger than 256 MB; check that"):
        read_annotations(path)
