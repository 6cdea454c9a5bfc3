"""The journal, saved documents and undo: what was acknowledged is there, whatever happens."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import numpy as np
import pydantic
import pytest
from web_project import opened, write_features

from uvast.data import Dataset
from uvast.data.spec import read_spec
from uvast.errors import CorruptFileError, OutputError, UvastError
from uvast.exchange import Event, VideoAnnotations
from uvast.exchange.records import merged
from uvast.projects import Project, imports
from uvast.projects.imports import Existing, import_labels
from uvast.projects.incoming import Incoming
from uvast.web.changes import Change
from uvast.web.classes import ClassChange
from uvast.web.documents import ConflictError, Document
from uvast.web.notes import Note
from uvast.web.scenes import Scene
from uvast.web.store import Store

CHANGES = pydantic.TypeAdapter(list[Change])


def change(store: Store, *changes: dict[str, object], author: str = "anna") -> Document:
    seen = store.document("cup").version
    return store.change(
        "cup", CHANGES.validate_python(changes), author, seen=seen, scene=Scene(seconds=6.0)
    ).document


def click(start: float, label: str = "reach") -> dict[str, object]:
    return {"do": "add", "kind": "click", "label": label, "start": start}


def state(store: Store) -> object:
    return [
        (
            *(name, one.version, one.n_ids, one.looked_at, one.reviewed),
            *(one.looked_changed, one.looked_by),
            *((item.id, item.event, item.changed, item.by) for item in one.ordered),
        )
        for name, one in sorted(store.documents.items())
    ], store.classes


def crashed(store: Store) -> None:
    """What a kill leaves: nothing is saved any more."""
    store._journal.close()


def test_a_killed_store_comes_back_as_it_was(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0), click(2.0, "pour"))
    store.save()
    change(store, {"do": "move", "id": "e1", "start": 1.5}, author="ben")
    change(store, {"do": "observed", "spans": [[0, 3]]}, {"do": "reviewed", "value": True})
    store.change_classes(ClassChange(do="rename", name="pour", to="drink"), "anna")
    store.undo("anna")
    store.redo("anna")
    before = state(store)
    crashed(store)
    again = Store(project)
    assert state(again) == before
    again.close()
    assert state(Store(project)) == before


def test_the_command_line_sees_what_was_saved(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0), {**click(3.0, "pour"), "kind": "segment", "end": 4.0})
    store.save()
    found = project.annotations("cup")
    assert found is not None
    assert [(e.label, e.start, e.end, e.annotator) for e in found.events] == [
        ("reach", 1.0, None, "anna"),
        ("pour", 3.0, 4.0, "anna"),
    ]
    assert found.observed == ((3.0, 4.0),)
    change(store, {"do": "clear"})
    store.save()
    assert project.annotations("cup") is None


def test_a_torn_line_was_never_acknowledged(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0))
    before = state(store)
    change(store, click(2.0))
    crashed(store)
    path = project.path / "app" / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    again = Store(project)
    assert state(again) == before
    change(again, click(3.0))
    assert [json.loads(line)["number"] for line in path.read_text().splitlines()] == [1, 2]


def test_a_broken_line_is_one_sentence(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0))
    crashed(store)
    path = project.path / "app" / "journal.jsonl"
    path.write_bytes(b'{"number": 0}\n' + path.read_bytes())
    with pytest.raises(CorruptFileError, match=r"journal\.jsonl, line 1.*move it away"):
        Store(project)


def test_a_full_disk_changes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(project)
    change(store, click(1.0))
    before, real, n_left = state(store), os.write, [40]

    def full(file: int, content: bytes) -> int:
        if not n_left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        n_left[0], written = 0, real(file, bytes(content)[: n_left[0]])
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OutputError, match="the disk is full"):
            change(store, click(2.0))
    assert state(store) == before
    change(store, click(3.0))
    after = state(store)
    crashed(store)
    assert state(Store(project)) == after


def test_half_a_line_that_cannot_be_cut_off_is_cut_off_before_the_next(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(project)
    change(store, click(1.0))
    real, left = os.write, [40]

    def breaks_off(file: int, content: memoryview) -> int:
        if not left:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(file, content[: left.pop()])

    def fails(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", breaks_off)
        patch.setattr(os, "ftruncate", fails)
        for _ in range(2):
            with pytest.raises(OutputError, match="cannot be written"):
                change(store, click(2.0))
    change(store, click(3.0))
    before = state(store)
    crashed(store)
    assert state(Store(project)) == before


def test_undo_for_each_author_apart(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0))
    change(store, click(2.0), author="ben")
    change(store, {"do": "relabel", "id": "e2", "label": "pour"})
    store.undo("anna")
    assert store.document("cup").items["e2"].event.label == "reach"
    store.undo("anna")
    assert list(store.document("cup").items) == ["e2"]
    with pytest.raises(ConflictError, match="nothing to undo"):
        store.undo("anna")
    store.redo("anna")
    assert set(store.document("cup").items) == {"e1", "e2"}
    change(store, click(4.0))
    with pytest.raises(ConflictError, match="nothing to redo"):
        store.redo("anna")


def test_undo_of_what_others_changed_is_a_conflict(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0))
    change(store, {"do": "move", "id": "e1", "start": 2.0}, author="ben")
    with pytest.raises(ConflictError, match="was changed by ben"):
        store.undo("anna")


def test_undo_never_brings_back_what_would_overlap(project: Project) -> None:
    store = Store(project)
    piece = {**click(1.0), "kind": "segment", "end": 3.0}
    change(store, piece)
    change(store, {"do": "delete", "id": "e1"})
    change(store, {**piece, "start": 2.0}, author="ben")
    with pytest.raises(ConflictError, match="would overlap in the meantime"):
        store.undo("anna")


def test_what_comes_again_is_done_once_also_after_a_restart(project: Project) -> None:
    store, scene = Store(project), Scene(seconds=6.0)
    first = CHANGES.validate_python([click(1.0), click(2.0, "pour")])
    ids = store.change("cup", first, "anna", seen=0, scene=scene, key="one").ids
    crashed(store)
    store = Store(project)
    again = store.change("cup", first, "anna", seen=0, scene=scene, key="one")
    assert (again.ids, len(again.document.items)) == (ids, 2) == (("e1", "e2"), 2)
    change(store, click(3.0))
    undone = store.undo("anna", key="two")
    crashed(store)
    store = Store(project)
    known = store.undo("anna", key="two")
    assert (known.number, known.kind) == (undone.number, "change")
    assert len(store.document("cup").items) == 2
    store.redo("anna", key="three")
    assert store.redo("anna", key="three").number == undone.number
    assert len(store.document("cup").items) == 3


def test_undo_survives_a_restart(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0))
    change(store, click(2.0))
    store.undo("anna")
    store.close()
    again = Store(project)
    again.redo("anna")
    again.undo("anna")
    again.undo("anna")
    assert not again.document("cup").items


def test_classes_are_renamed_everywhere_as_one_change(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0), click(2.0, "pour"))
    found = [VideoAnnotations("tea", (Event("pour", 1.0),))]
    store.take_in(found, "ben", lambda _before, new: new, seen=store.documents)
    store.change_classes(ClassChange(do="merge", name="pour", to="reach"), "anna")
    assert {e.label for one in store.documents.values() for e in one.annotations.events} == {
        "reach"
    }
    assert [one.name for one in store.classes] == ["reach"]
    store.undo("anna")
    assert [e.label for e in store.document("tea").annotations.events] == ["pour"]
    with pytest.raises(ConflictError, match="has events"):
        store.change_classes(ClassChange(do="delete", name="pour"), "anna")


def test_background_is_what_the_commands_read(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0), click(2.0, "idle"))
    store.save()
    assert not (project.path / "dataset.toml").exists()  # nobody said anything of it
    (project.path / "dataset.toml").write_text("# mine\nsampling_rate = 2\n")
    store.change_classes(ClassChange(do="background", name="idle", value=True), "anna")
    store.save()
    text = (project.path / "dataset.toml").read_text()
    assert text == 'background = ["idle"]\n# mine\nsampling_rate = 2\n'
    store.undo("anna")
    store.save()
    assert read_spec(project.path).background == ()
    store.close()
    (project.path / "dataset.toml").write_text('background = [\n  "pause",\n]\n')
    again = Store(project)
    assert [(one.name, one.background) for one in again.classes if one.background] == [
        ("pause", True)
    ]
    again.change_classes(ClassChange(do="background", name="reach", value=True), "anna")
    again.save()
    assert set(read_spec(project.path).background or ()) == {"pause", "reach"}
    again.close()
    (project.path / "dataset.toml").write_text("background = [")
    broken = Store(project)
    broken.change_classes(ClassChange(do="background", name="reach", value=False), "anna")
    broken.close()
    assert (project.path / "dataset.toml").read_text() == "background = ["


def test_training_and_export_use_the_background_of_the_app(project: Project, static: Path) -> None:
    write_features(project, "cup", np.zeros((60, 4)))
    with opened(project, static) as client:
        piece = {**click(1.0), "kind": "segment", "end": 2.0}
        client.change("cup", piece, {"do": "observed", "spans": None})
        client.post("/api/classes", {"do": "add", "name": "idle"})
        client.post("/api/classes", {"do": "background", "name": "idle", "value": True})
        client.post("/api/classes", {"do": "add", "name": "Rest"})
        client.post("/api/classes", {"do": "background", "name": "Rest", "value": True})
        client.app.store.save()
        made = client.post("/api/export", {"format": "ms-tcn"}).json()
        exported = client.get(made["address"]).text.split()
    project.materialise()
    labels = (project.path / "groundTruth" / "cup.txt").read_text().split()
    assert labels == ["idle"] * 10 + ["reach"] * 10 + ["idle"] * 40
    assert exported == labels
    assert set(Dataset.open(project.path).vocabulary.background) == {"idle", "Rest"}


def test_another_program_is_heard(project: Project) -> None:
    heard: list[Note] = []
    store = Store(project, heard.append)
    change(store, click(1.0), click(2.0))
    store.save()
    events = (Event("reach", 1.0, annotator="anna"), Event("drink", 3.0))
    project.write_annotations(VideoAnnotations("cup", events))
    document = store.document("cup")
    assert document.annotations.events == events
    assert "e1" in document.items
    assert heard[-1].sentence == "another program changed annotations/cup.json"
    store.close()
    assert project.annotations("cup") == VideoAnnotations("cup", events)


def test_a_file_that_was_removed_meanwhile_is_noticed(project: Project) -> None:
    store = Store(project)
    for start in (1.0, 2.0):
        change(store, click(start))
        store.save()
    store.close()
    (project.path / "annotations" / "cup.json").unlink()
    again = Store(project)
    assert not again.document("cup").items
    copies = sorted((project.path / "app" / "backups" / "cup").iterdir())
    assert copies[-1].read_text().count("reach") == 2


def test_what_was_not_saved_survives_another_program(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0))
    store.save()
    change(store, click(2.0, "pour"))
    theirs = (Event("reach", 1.0, annotator="anna"), Event("drink", 3.0))
    project.write_annotations(VideoAnnotations("cup", theirs))
    store.save()
    found = project.annotations("cup")
    assert found is not None
    assert [event.label for event in found.events] == ["reach", "pour", "drink"]


def segment(start: float, end: float, label: str = "reach") -> dict[str, object]:
    return {"do": "add", "kind": "segment", "label": label, "start": start, "end": end}


def import_cup(project: Project, existing: Existing) -> None:
    """What `uvast import` does with a file that says: cup, 3 to 4 s, drink."""
    found = (VideoAnnotations("cup", (Event("drink", 3.0, 4.0),)),)
    import_labels(project, Incoming(found, ()), existing=existing)


def labels_in(project: Project, name: str = "cup") -> list[str]:
    found = project.annotations(name)
    return [] if found is None else [event.label for event in found.events]


def test_what_people_label_while_a_command_imports_stays(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both stay: what is saved after the import has read the file, and the import."""
    store = Store(project)
    change(store, click(1.0))
    store.save()
    swap = imports.swap
    saving = threading.Thread(target=store.save)

    def late(new: Path, old: Path) -> None:
        change(store, click(2.0, "pour"))
        saving.start()
        saving.join(0.3)  # it waits for the import
        swap(new, old)

    monkeypatch.setattr(imports, "swap", late)
    import_cup(project, "add")
    saving.join()
    store.save()
    assert labels_in(project) == ["reach", "pour", "drink"]
    assert [one.event.label for one in store.document("cup").ordered] == labels_in(project)


def test_an_import_waits_for_the_app_to_save(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(project)
    change(store, click(1.0))
    write = store._shelf.save
    importing = threading.Thread(target=import_cup, args=(project, "add"))

    def late(*what: object) -> None:
        importing.start()
        importing.join(0.3)
        write(*what)  # type: ignore[arg-type]

    monkeypatch.setattr(store._shelf, "save", late)
    store.save()
    importing.join()
    assert labels_in(project) == ["reach", "drink"]
    assert [one.event.label for one in store.document("cup").ordered] == ["reach", "drink"]


@pytest.mark.parametrize("existing", ["add", "replace"])
def test_what_does_not_fit_beside_an_import_is_kept_and_told(
    existing: Existing, project: Project
) -> None:
    heard: list[Note] = []
    store = Store(project, heard.append)
    change(store, segment(0.0, 1.0))
    store.save()
    mine = segment(3.5, 4.5, "pour") if existing == "add" else {"do": "relabel", "label": "pour"}
    change(store, mine | ({"id": "e1"} if existing == "replace" else {}))
    import_cup(project, existing)
    store.save()
    assert labels_in(project) == (["reach", "drink"] if existing == "add" else ["drink"])
    assert heard[-1].sentence == (
        "another program changed annotations/cup.json; "
        "what you had labelled there is in app/backups/cup"
    )
    (copy,) = (project.path / "app" / "backups" / "cup").iterdir()
    assert "pour" in copy.read_text()


def test_one_import_after_the_other_replaces_nobodys_work(project: Project) -> None:
    """Although the first is not saved with ids when the second comes."""
    heard: list[Note] = []
    store = Store(project, heard.append)
    for label in ("drink", "rest"):
        found = (VideoAnnotations("cup", (Event(label, float(len(label)), 6.0),)),)
        import_labels(project, Incoming(found, ()), existing="replace")
        store.refresh()
    assert [one.event.label for one in store.document("cup").ordered] == ["rest"]
    assert {one.sentence for one in heard} == {"another program changed annotations/cup.json"}


def test_an_import_in_the_app_replaces_only_what_its_author_saw(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0))
    seen = store.documents
    change(store, click(2.0, "pour"), author="ben")
    found = [VideoAnnotations("cup", (Event("drink", 3.0),))]
    before = state(store)
    sentence = "cup: 'pour' at 2.00 s was changed by ben in the meantime; look at it, then try ag"
    with pytest.raises(ConflictError, match=sentence):
        store.take_in(found, "anna", lambda _before, new: new, seen=seen)
    assert state(store) == before
    assert store.take_in(found, "anna", lambda *both: merged(both)[0], seen=seen) == 1
    assert store.take_in(found, "anna", lambda _before, new: new, seen=store.documents) == 1
    assert [one.event.label for one in store.document("cup").ordered] == ["drink"]


def test_a_broken_file_of_another_program_is_left_alone(project: Project) -> None:
    path = project.path / "annotations" / "cup.json"
    path.write_text("{")
    store = Store(project)
    with pytest.raises(UvastError, match=r"cup\.json"):
        change(store, click(1.0))
    assert store.fault("cup") is not None
    store.close()
    assert path.read_text() == "{"
    path.unlink()
    again = Store(project)
    assert change(again, click(1.0)).items


def test_a_save_that_was_cut_short_is_not_another_program(project: Project) -> None:
    store = Store(project)
    change(store, click(1.0))
    store.save()
    path = project.path / "annotations" / "cup.json"
    old = path.read_bytes()
    change(store, click(2.0))
    store.save()
    before = state(store)
    crashed(store)
    path.write_bytes(old)  # the kill came before the second file
    heard: list[Note] = []
    again = Store(project, heard.append)
    assert state(again) == before
    assert not heard
    assert len(project.annotations("cup").events) == 2  # type: ignore[union-attr]


def test_a_large_journal_is_shortened_and_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvast.web.store.LARGE_JOURNAL", 100)
    monkeypatch.setattr("uvast.web.store.DEEPEST", 2)
    store = Store(project)
    for number in range(5):
        change(store, click(1.0 + number))
    before = state(store)
    store.close()
    again = Store(project)
    assert len((project.path / "app" / "journal.jsonl").read_bytes().splitlines()) == 2
    assert state(again) == before
    change(again, click(0.5))
    assert again.number == 6
    after = state(again)
    crashed(again)
    assert state(Store(project)) == after


def test_a_journal_is_not_shortened_while_a_file_cannot_be_written(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvast.web.store.LARGE_JOURNAL", 100)
    monkeypatch.setattr("uvast.web.store.DEEPEST", 2)
    store = Store(project)
    for number in range(5):
        change(store, click(1.0 + number))
    crashed(store)
    (project.path / "annotations" / "cup.json").write_text("{")
    Store(project)
    assert len((project.path / "app" / "journal.jsonl").read_bytes().splitlines()) == 5


def test_backups_rotate(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvast.web.saved.SECONDS_BETWEEN_BACKUPS", -1.0)
    monkeypatch.setattr("uvast.web.saved.N_BACKUPS", 2)
    stamps = iter(f"{number:03d}" for number in range(100))
    monkeypatch.setattr("uvast.web.saved.time.strftime", lambda _: next(stamps))
    store = Store(project)
    for number in range(5):
        change(store, click(1.0 + number))
        store.save()
    copies = sorted((project.path / "app" / "backups" / "cup").glob("*.json"))
    assert [len(json.loads(one.read_text())["videos"][0]["events"]) for one in copies] == [3, 4]


def test_a_clock_that_was_fast_does_not_put_backups_off(project: Project) -> None:
    store = Store(project)
    for number in range(3):
        change(store, click(1.0 + number))
        store.save()
    folder = project.path / "app" / "backups" / "cup"
    (copy,) = folder.iterdir()
    copy = copy.rename(folder / "2199-01-01 00.00.00.json")
    os.utime(copy, (7.2e9, 7.2e9))
    for number in range(2):
        change(store, click(4.0 + number))
        store.save()
    assert len(list(folder.iterdir())) == 2  # the second one is less than ten minutes later


def test_one_entry_for_all_videos_that_another_program_wrote(project: Project) -> None:
    for name in project.names:
        project.write_annotations(VideoAnnotations(name, (Event("reach", 1.0),)))
    store = Store(project)
    assert store.number == 1
    assert {name: one.version for name, one in store.documents.items()} == {"cup": 1, "tea": 1}


def test_paths_of_documents_stay_in_the_project(project: Project) -> None:
    store = Store(project)
    for name in ("../cup", "/etc/passwd", "..\\cup", "cup/../tea", ""):
        with pytest.raises(UvastError, match="has no video"):
            store.document(name)
    assert not Path("/etc/passwd.json").exists()
