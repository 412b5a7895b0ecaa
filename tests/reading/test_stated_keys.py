"""A key is stated, there is none, or a definition does not say: then the key of the records counts."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from runs import JSON_LINES, operation, output_files, run_ggfmt, write_lines
from scanners import without_kernels

from ggfmt.definitions import load_definitions
from ggfmt.formats import FORMATS
from ggfmt.model.table import Catalog, Column, TableDef

TABLE = TableDef("GG.A", (Column("ID"), Column("V")))
SOURCES = {
    "a.avsc": '{"type": "record", "namespace": "GG", "name": "A", "fields": [{"name": "ID", "type": ["null", "string"]}'
    ', {"name": "V", "type": ["null", "string"]}]}',
    "a.schema.json": '{"$schema": "x", "title": "GG.A", "type": "object", "definitions": {"row": {"type": "object",'
    ' "properties": {"ID": {"type": ["string", "null"]}, "V": {"type": ["string", "null"]}}}}, "properties": {}}',
    "a.sql": 'CREATE TABLE "GG"."A" ("ID" varchar(9), "V" varchar(9));',
    "GG.A.csv": "ID,V\n",
}
OTHER = 'CREATE TABLE "GG"."OTHER" ("ID" varchar(9) primary key);'


def records(*kinds: str, key: tuple[str, ...] | None = ("ID",), member: str = "primary_keys") -> list[dict[str, Any]]:
    made = []
    for number, kind in enumerate(kinds):
        record = operation(number, "GG.A", kind)
        record["before"] = {"ID": "1"} if kind == "D" else None
        record["after"] = {"ID": "1", "V": "x"} if kind == "I" else None
        record = {name: value for name, value in record.items() if value is not None and name != member}
        made.append(record if key is None else {**record, member: list(key)})
    return made


def keys_of(source: Path, out: Path, *definitions: Path, **others: Any) -> set[tuple[str, ...]]:
    settings = ("gg.handlerlist=j", *JSON_LINES, "gg.handler.j.format.includePrimaryKeys=true")
    given = load_definitions(map(str, definitions))
    run_ggfmt([source], out, *settings, definitions=given, **others)
    lines = (line for file in output_files(out, "j") for line in file.read_text().splitlines())
    return {tuple(json.loads(line)["primary_keys"]) for line in lines}


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("kinds", ["T", "TT", "TI", "D", "DT"])
def test_a_key_is_kept_though_no_column_is_known(kinds: str, kernels: bool, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", records(*kinds))
    other = tmp_path / "other.sql"
    other.write_text(OTHER)
    with nullcontext() if kernels else without_kernels():
        assert keys_of(source, tmp_path / "out") == {("ID",)}
        assert keys_of(source, tmp_path / "other", other) == {("ID",)}


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", SOURCES)
def test_definitions_that_state_no_key_leave_it_to_the_records(name: str, kernels: bool, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [*records("I", "D", key=None), *records("I", "T")])
    given = tmp_path / name
    given.write_text(SOURCES[name])
    assert load_definitions([str(given)])["GG.A"].stated_key is None
    with nullcontext() if kernels else without_kernels():
        assert keys_of(source, tmp_path / "out", given) == {("ID",)}


def test_a_definition_with_a_key_wins(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", records("I", "T"))
    given = tmp_path / "a.sql"
    given.write_text('CREATE TABLE "GG"."A" ("ID" varchar(9), "V" varchar(9) PRIMARY KEY);')
    assert keys_of(source, tmp_path / "out", given) == {("V",)}
    settings = ("gg.handlerlist=j", *JSON_LINES, "gg.handler.j.format.includePrimaryKeys=true")
    run_ggfmt([source], tmp_path / "none", *settings, definitions={"GG.A": TABLE.with_keys(())})
    assert '"primary_keys":[]' in output_files(tmp_path / "none", "j")[0].read_text()


@pytest.mark.parametrize("name", ["json_row", "goldengate_streams_json", "kafkaconnect_json", "canal_json", "dts_avro"])
@pytest.mark.parametrize("kinds", ["TT", "TI"])
def test_each_format_that_writes_keys_has_those_of_truncates(name: str, kinds: str, tmp_path: Path) -> None:
    """What is written in a format and read again has the key that the first records had."""
    source = write_lines(tmp_path / "in.json", records(*kinds))
    settings = ["gg.handlerlist=j", f"gg.handler.j.format={name}"]
    if any("includePrimaryKeys" in spec.name for spec in FORMATS[name].options.specs()):
        settings.append("gg.handler.j.format.includePrimaryKeys=true")
    run_ggfmt([source], tmp_path / "other", *settings)
    files = output_files(tmp_path / "other", "j")
    assert b"ID" in files[0].read_bytes()
    if name != "dts_avro" or "I" in kinds:  # which tags no truncate
        run_ggfmt(files, tmp_path / "back", *settings[:1], "gg.handler.j.format=canal_json", input_format=name)
        text = output_files(tmp_path / "back", "j")[0].read_text()
        assert {tuple(json.loads(line)["pkNames"] or ()) for line in text.splitlines()} == {("ID",)}


def test_the_three_states_of_a_key() -> None:
    assert TABLE.stated_key is None and TABLE.with_keys(()).stated_key == ()
    assert TABLE.with_keys(["id"]).stated_key == ("ID",) == TABLE.with_keys(["ID"]).key_names
    empty = TableDef("GG.A").with_keys(["ID"])
    assert (empty.primary_keys, empty.key_names) == ((), ("ID",))
    assert empty != TableDef("GG.A") == TableDef("GG.A").with_keys(())
    assert empty.with_columns(TABLE.columns).primary_keys == ("ID",)
    stream = TABLE.with_keys(["V"])
    for trusted, expected in ((TABLE, ("V",)), (TABLE.with_keys(()), ()), (TABLE.with_keys(["ID"]), ("ID",))):
        assert Catalog({"GG.A": trusted}).settle(stream).key_names == expected
