"""`ggfmt schema`: what it prints and writes, what `--check` reports, and that Hive reads by the tables it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hive_reader import Hive
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from runs import operation, run_ggfmt, write_lines

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.avro.schemas import can_read, describe_change
from ggfmt.formats.goldengate.delimited import DelimitedTextOptions
from ggfmt.formats.goldengate.delimited.write import hive_table
from ggfmt.formats.goldengate.schemas import hive_table_name, unique_names
from ggfmt.model.sql import HIVE
from ggfmt.model.table import Column, Kind, SqlType, TableDef

DEFINITIONS = ROOT / "samples" / "TCUSTORD.def"
ANEW = "drop table if exists gg_tcustord"


def ggfmt(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ggfmt", "schema", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_check_is_silent_while_nothing_changed_and_tells_the_difference_by_lines(tmp_path: Path) -> None:
    arguments = ("--definitions", str(DEFINITIONS), "--kind", "json", "-o", "schemas")
    assert ggfmt(tmp_path, *arguments).returncode == 0
    same = ggfmt(tmp_path, *arguments, "--check")
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "")
    changed = tmp_path / "schemas" / "GG.TCUSTORD.schema.json"
    changed.write_text(changed.read_text().replace('"PRODUCT_PRICE"', '"PRICE"'))
    (tmp_path / "schemas" / "GG.ARTIKEL.schema.json").unlink()
    before = changed.read_bytes()
    found = ggfmt(tmp_path, *arguments, "--check")
    assert found.returncode == 1
    assert '-                "PRICE":{\n+                "PRODUCT_PRICE":{' in found.stdout
    assert found.stderr.splitlines() == [
        "schemas/GG.TCUSTORD.schema.json: error[GG209] the schema differs from the schema that ggfmt would write",
        "  help: write the schema again with `ggfmt schema -o`",
        "schemas/GG.ARTIKEL.schema.json: error[GG209] the schema cannot be read: No such file or directory",
        "  help: write the schema again with `ggfmt schema -o`",
        "page: ggfmt docs make-schemas",
    ]
    assert changed.read_bytes() == before


def test_tables_are_found_in_the_data(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.json", [operation(1), operation(2, "GG.B")])
    done = ggfmt(tmp_path, "in.json", "--kind", "json", "-o", "schemas")
    assert done.stdout.split() == ["schemas/GG.TCUSTORD.schema.json", "schemas/GG.B.schema.json"]
    row = json.loads((tmp_path / "schemas" / "GG.B.schema.json").read_text())["definitions"]["row"]
    assert {name: kind["type"][0] for name, kind in row["properties"].items()} == {
        "ID": "string",
        "NAME": "string",
        "AMOUNT": "number",
    }


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--kind", "json"), 2, "schemas need an input or definitions"),
        (("--definitions", str(DEFINITIONS), "--kind", "ddl"), 2, "a Hive table needs a handler"),
        (("--definitions", str(DEFINITIONS), "--check"), 2, "give the directory to compare with"),
        (
            ("--definitions", str(DEFINITIONS), "--set", "gg.handler.d.format=delimitedtext"),
            2,
            "no format of the handlers has such schemas",
        ),
        (
            (
                "--definitions",
                "nowhere.def",
            ),
            2,
            "the definitions cannot be read",
        ),
    ],
)
def test_what_makes_no_sense_is_told(tmp_path: Path, arguments: tuple[str, ...], status: int, message: str) -> None:
    done = ggfmt(tmp_path, *arguments)
    assert done.returncode == status
    assert message in done.stderr


# Hive


@pytest.fixture(scope="module")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hive]:
    with Hive(tmp_path_factory.mktemp("hive")) as running:
        yield running


@pytest.mark.long
@pytest.mark.spark
def test_hive_reads_delimited_text_through_the_printed_table(hive: Hive, tmp_path: Path) -> None:
    """With the default delimiter U+0001; NULL is NULL, a missing column empty text, numbers keep their digits."""
    story = [
        operation(1, NAME="Ä表😀", AMOUNT=17520.25),
        operation(2, NAME=None),
        {**operation(3, kind="D"), "before": {"ID": "3"}},
    ]
    source = write_lines(tmp_path / "in.json", story)
    columns = (Column("ID"), Column("NAME"), Column("AMOUNT", SqlType(Kind.DECIMAL, scale=2)))
    definitions = {"GG.TCUSTORD": TableDef("GG.TCUSTORD", columns)}
    out = tmp_path / "out"
    run_ggfmt([source], out, "gg.handler.d.format=delimitedtext", definitions=definitions)
    options = DelimitedTextOptions(encoding="UTF-8")
    statement = hive_table(definitions["GG.TCUSTORD"], options, Context(), str(out / "d" / "GG.TCUSTORD"))
    assert isinstance(statement, str)
    query = "select op_type, `table`, pos, id, name, amount from gg_tcustord order by pos"
    assert hive.rows([ANEW, statement], query) == [
        ["I", "GG.TCUSTORD", f"{1:020d}", "1", "Ä表😀", "17520.25"],
        ["I", "GG.TCUSTORD", f"{2:020d}", "2", None, "2.00"],
        ["D", "GG.TCUSTORD", f"{3:020d}", "3", "", None],
    ]


def test_metadata_gives_way_to_columns_of_the_same_name() -> None:
    table = TableDef("GG.T", (Column("POS"), Column("pos_"), Column("TABLE")))
    statement = hive_table(table, DelimitedTextOptions(field_delimiter="|", line_delimiter="\n"), Context(), "/x")
    assert isinstance(statement, str)
    names = [line.split("`")[1] for line in statement.splitlines() if line.startswith("  `")]
    assert names == ["op_type", "table_", "op_ts", "current_ts", "pos__", "POS", "pos_", "TABLE"]
    assert len({name.lower() for name in names}) == len(names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"field_delimiter": "||"}, "ggfmt cannot define a Hive table: Hive separates fields with one ASCII character"),
        ({"field_delimiter": "é"}, "ggfmt cannot define a Hive table: Hive separates fields with one ASCII character"),
        ({"line_delimiter": "\r\n"}, "ggfmt cannot define a Hive table: Hive ends lines with a line feed"),
    ],
)
def test_what_hive_cannot_read_has_no_table(options: dict[str, Any], message: str) -> None:
    found = hive_table(TableDef("GG.T", (Column("A"),)), DelimitedTextOptions(**options), Context(), "/x")
    assert isinstance(found, Diagnostic)
    assert (found.code, found.message) == ("GG208", message)


def test_names_and_literals_of_hive() -> None:
    assert hive_table_name(TableDef("Cat.GG.T-Ü")) == "cat_gg_t__"
    assert HIVE.literal("a'b\\\n\x01") == r"'a\'b\\\n\001'"
    assert unique_names(["a", "A", "b"], ["B"]) == ["a", "A_", "b_"]


# Compatibility of Avro schemas


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "T", "fields": list(fields)}


OPTIONAL = {"name": "a", "type": ["null", "string"], "default": None}
OTHER = {"name": "b", "type": ["null", "double"], "default": None}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (record(OPTIONAL), record(OPTIONAL, OTHER), "fully compatible"),
        (record(OPTIONAL, OTHER), record(OPTIONAL), "fully compatible"),
        (record({"name": "a", "type": "int"}), record({"name": "a", "type": "long"}), "backward compatible"),
        (record({"name": "a", "type": "double"}), record({"name": "a", "type": "long"}), "forward compatible"),
        (record({"name": "a", "type": "string"}), record({"name": "a", "type": "double"}), "not compatible"),
        (record(), record({"name": "a", "type": "string"}), "forward compatible"),
        (record({"name": "a", "type": "string"}), record(OPTIONAL), "backward compatible"),
    ],
)
def test_a_change_of_schema_is_told_in_the_words_of_registries(old: Any, new: Any, words: str) -> None:
    assert describe_change(old, new).startswith(words)


types = st.recursive(
    st.sampled_from(["null", "boolean", "int", "long", "float", "double", "string"]),
    lambda inner: st.one_of(
        st.lists(inner.filter(lambda t: not isinstance(t, list)), min_size=1, max_size=2, unique_by=str),
        inner.map(lambda t: {"type": "array", "items": t}),
        inner.map(lambda t: {"type": "map", "values": t}),
    ),
    max_leaves=4,
)


@given(types)
def test_every_schema_reads_what_it_wrote_itself(schema: Any) -> None:
    assert can_read(schema, schema)
    assert can_read(["null", schema] if not isinstance(schema, list) else schema, schema)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("name", ["avro_row_ocf", "avro_op_ocf"])
def test_hive_reads_container_files_through_the_printed_table(name: str, hive: Hive, tmp_path: Path) -> None:
    story = [operation(1, NAME="Ä表😀'\"", AMOUNT=17520.25), operation(2, kind="U", NAME=None), operation(3, kind="D")]
    source = write_lines(tmp_path / "in.json", story)
    columns = (Column("ID"), Column("NAME"), Column("AMOUNT", SqlType(Kind.DECIMAL, scale=2)))
    definitions = {"GG.TCUSTORD": TableDef("GG.TCUSTORD", columns)}
    out = tmp_path / "out"
    settings = (f"gg.handler.a.format={name}", f"gg.handler.a.format.schemaDirectory={tmp_path / 'dirdef'}")
    run_ggfmt([source], out, *settings, "gg.handler.a.compressionCodec=deflate", definitions=definitions)
    format = FORMATS[name]
    assert format.write_support.ddl is not None
    statement = format.write_support.ddl(
        definitions["GG.TCUSTORD"], format.options(), Context(), str(out / "a" / "GG.TCUSTORD")
    )
    assert isinstance(statement, str)
    if name == "avro_row_ocf":
        query = "select op_type, pos, id, name, amount from gg_tcustord order by pos"
    else:
        query = "select op_type, pos, after.id, after.name, after.amount from gg_tcustord order by pos"
    third = ["3", "name 3", "3.0"] if name == "avro_row_ocf" else [None, None, None]
    assert hive.rows([ANEW, statement], query) == [
        ["I", f"{1:020d}", "1", "Ä表😀'\"", "17520.25"],
        ["U", f"{2:020d}", "2", None, "2.0"],
        ["D", f"{3:020d}", *third],
    ]


def test_a_table_that_avro_cannot_name_is_told(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.json", [operation(1, **{"A-B": "x"})])
    done = ggfmt(tmp_path, "in.json", "--kind", "avro")
    assert done.returncode == 1
    assert "error[GG206]" in done.stderr
    assert "gg.schemareplaceregex" in done.stderr


def test_check_says_what_a_change_of_an_avro_schema_means(tmp_path: Path) -> None:
    arguments = ("--definitions", str(DEFINITIONS), "--kind", "avro", "-o", "schemas")
    assert ggfmt(tmp_path, *arguments).returncode == 0
    path = tmp_path / "schemas" / "GG.TCUSTORD.avsc"
    schema = json.loads(path.read_text())
    (price,) = [field for field in schema["fields"] if field["name"] == "PRODUCT_PRICE"]
    for kind, meaning in (
        (["null", "double"], "fully compatible"),
        (["null", "long"], "backward compatible: the new schema reads old data, the old one does not read new data"),
        (["null", "string"], "not compatible: neither schema reads data of the other schema"),
    ):
        price["type"] = kind
        path.write_text(json.dumps(schema))
        found = ggfmt(tmp_path, *arguments, "--check")
        assert found.returncode == 1
        assert f"the schema that ggfmt would write; the change is {meaning}\n" in found.stderr
