"""Every system that the paper's tables name is a preset here, or the reason why not is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from uvast.benchmark.paper_tables import find_table
from uvast.benchmark.published import published_tables
from uvast.benchmark.systems import ABSENT, ADDED, SYSTEMS, TABLES, method_name, system_of
from uvast.config import load_config
from uvast.inference.named_decodings import DECODINGS
from uvast.models.build import OWN_KINDS, described_model
from uvast.models.protocols import gives_boundaries

PAGE = Path(__file__).parents[2] / "docs" / "systems.md"
SUFFIXES = (" + Viterbi", " + FIFA")

NAMED = sorted(
    {
        name.removesuffix(SUFFIXES[0]).removesuffix(SUFFIXES[1])
        for table in TABLES
        for name in published_tables()[table].rows
        if not name.startswith("UVAST")
    }
)
PRESETS = {one.name: one for one in SYSTEMS}


@pytest.mark.parametrize("name", NAMED)
def test_every_system_of_the_papers_tables_is_here_or_has_a_reason(name: str) -> None:
    assert (name in PRESETS) != (name in ABSENT)
    if name in PRESETS:
        system = PRESETS[name]
        assert load_config(preset=system.preset).model.kind == system.kind
    else:
        assert ABSENT[name].strip()


def test_nothing_else_has_a_reason_to_be_absent() -> None:
    assert set(ABSENT) <= set(NAMED)


def test_every_kind_of_model_is_a_system() -> None:
    assert {one.kind for one in SYSTEMS} == OWN_KINDS - {"uvast"}
    assert len({one.name for one in SYSTEMS}) == len(SYSTEMS)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda one: one.preset)
def test_a_system_decodes_as_its_preset_does(system: object) -> None:
    config = load_config(preset=system.preset)
    own = DECODINGS[system.alone]
    assert (config.decode.transcript, config.decode.durations) == (
        own["transcript"],
        own["durations"],
    )
    assert gives_boundaries(described_model(config.model)) or "boundaries" not in system.decodings


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda one: one.preset)
def test_every_published_row_of_a_system_has_one_of_ours_beside_it(system: object) -> None:
    for table in system.tables:
        rows = {one.name: one for one in find_table(table).rows}
        for decoding in system.decodings:
            row = rows[method_name(system.kind, decoding)]
            assert (row.kind, dict(row.decode)) == ("model", dict(DECODINGS[decoding]))
    for table in TABLES:
        published = [one for one in find_table(table).rows if one.name == system.name]
        assert all(one.kind == "model" for one in published)


def test_names_of_methods() -> None:
    assert system_of("toy") is None
    assert method_name("toy", "frames + viterbi") == "toy + Viterbi"
    assert method_name("uvast", "frames + viterbi") == "UVAST, frame head + Viterbi"
    assert method_name("asformer", "frames") == "ASFormer"
    assert method_name("asrf", "boundaries") == "ASRF"
    assert method_name("asrf", "frames") == "ASRF, frame labels"
    assert ADDED.keys() == DECODINGS.keys()


def test_the_page_of_systems_has_a_row_for_each() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for system in SYSTEMS:
        (row,) = [line for line in rows if line.startswith(f"| {system.name} |")]
        assert f"`{system.preset}`" in row
    for name in ABSENT:
        assert any(line.startswith(f"| {name} |") for line in rows), name
