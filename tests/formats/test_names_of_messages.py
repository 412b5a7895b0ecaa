"""The names in messages: no message that can be written has a name twice in one object or record, in any format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from dialects import written
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from runs import operation, run_ggfmt, write_lines
from strategies import Changes

from ggfmt.config.lint.reading import lint
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.avro.schemas import without_logical_types
from ggfmt.model.table import Column, TableDef

CASES = Path(__file__).parents[2].parent / "shared" / "data" / "cases" / "handlers"
WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None]

# Names that messages have by default, and names that become equal to others.
_NAMES = st.sampled_from(
    [
        "ID",
        "NAME",
        "ID_isMissing",
        "before",
        "after",
        "x",
        "before.ID",
        "xID",
        "table",
        "op_type",
        "pos",
        "tokens",
        "data",
        "source",
        "op",
        "key",
        "type",
        "columns",
        "string",
        "op-type",
    ]
)
_WORDS = st.sampled_from(["optype", "position", "objectname", "timestamp"])
_TEMPLATES = st.dictionaries(_NAMES, _WORDS, min_size=1, max_size=3).map(
    lambda items: ",".join(f"${{{word}[{name}]}}" for name, word in items.items())
)
_FLAGS = st.sampled_from(["false", "true"])
_OPTIONS: dict[str, st.SearchStrategy[str]] = {
    "metaColumnsTemplate": _TEMPLATES,
    "beforeObjectName": _NAMES,
    "afterObjectName": _NAMES,
    "beforeImageName": st.sampled_from(["x", "y"]),
    "afterImageName": st.sampled_from(["x", "y"]),
    "flatten": _FLAGS,
    "flattenDelimiter": st.sampled_from([".", "CDATA[]"]),
    "includeIsMissingFields": _FLAGS,
    "messageFormatting": st.sampled_from(["row", "op"]),
}


class NameTwice(Exception):
    """A JSON object has a member twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NameTwice
    return found


def _read_names(name: str, data: bytes) -> None:
    """Decode all JSON texts. Raises: NameTwice."""
    decode, text, place = json.JSONDecoder(object_pairs_hook=_once).raw_decode, data.decode(), 0
    while place < len(text):
        place = decode(text, place)[1]
        place += len(text[place:]) - len(text[place:].lstrip())


@pytest.mark.parametrize("name", WRITTEN)
def test_no_message_has_a_name_twice(name: str) -> None:
    format = FORMATS[name]
    specs = {spec.name for spec in format.options.specs()}
    options = st.fixed_dictionaries({}, optional={key: _OPTIONS[key] for key in _OPTIONS.keys() & specs})
    is_json = "json" in name

    @settings(max_examples=60 if specs & _OPTIONS.keys() else 15, deadline=None)
    @given(options, st.lists(_NAMES, min_size=1, max_size=4, unique=True))
    def names_are_once(texts: dict[str, str], columns: list[str]) -> None:
        chosen = format.options.parse(texts)
        table = TableDef("S.T", tuple(map(Column, columns)))
        context = Context(include_tokens=True)
        problem = format.name_problem(chosen, context, table)
        if format.legal_name is not None:
            support = format.write_support
            if problem is None and support.schema is not None:
                for file in support.schema(table, chosen, context):
                    fastavro.parse_schema(without_logical_types(json.loads(file.content)))
            return
        if not is_json:
            return
        row = dict.fromkeys(columns, "1")
        plain = PlainTable("S.T", tuple(PlainColumn(column, "string") for column in columns))
        changes = Changes(plain, [PlainOperation("U", None, None, dict(row), row, {"t": "1"})], False)
        if problem is None:
            _read_names(name, written(name, changes, table, context, **texts))
        elif name in ("json", "json_row"):  # the others refuse, or have dictionaries
            with pytest.raises(NameTwice):
                _read_names(name, written(name, changes, table, context, **texts))

    names_are_once()


JSON = ["gg.handlerlist=h", "gg.handler.h.type=kafka", "gg.handler.h.mode=op", "gg.handler.h.format=json"]
AVRO = [*JSON[:3], "gg.handler.h.format=avro_row"]
AVRO_OP = [*JSON[:3], "gg.handler.h.format=avro_op"]
ROW = [*JSON[:3], "gg.handler.h.format=json_row"]


def lines(start: list[str], *more: str) -> list[str]:
    return [*start, *(f"gg.handler.h.format.{line}" for line in more)]


def errors(text: str) -> list[tuple[str, int | None]]:
    found = lint(text.encode(), "f")
    return [(finding.code, finding.span.line) for finding in found if finding.severity is Severity.ERROR]


# What a file alone says to be wrong.
ALWAYS = {
    "template": (lines(JSON, "metaColumnsTemplate=${optype[before]},${position[after]}"), "GG410", 5),
    "image": (lines(JSON, "beforeObjectName=x", "metaColumnsTemplate=${optype[x]}"), "GG410", 6),
    "fixed": (lines([*JSON, "ggfmt.compatibility=12.2"], "afterObjectName=op_type"), "GG410", 6),
    "flat": (lines(JSON, "flatten=true", "afterObjectName=before"), "GG410", 6),
    "avro": (lines(AVRO, "metaColumnsTemplate=${objectname[table]},${optype[op-type]}"), "GG206", 5),
    "image in Avro": (lines(AVRO_OP, "metaColumnsTemplate=${optype[after]}"), "GG206", 5),
    "kafkaconnect": (["gg.handlerlist=h", "gg.handler.h.type=kafkaconnect", "gg.handler.h.messageFormatting=op",
                      "gg.handler.h.metaColumnsTemplate=${optype[after]}"], "GG410", 4),
}  # fmt: skip
# What the columns of a table show.
BY_TABLE = {
    "row": (lines(ROW, "metaColumnsTemplate=${optype[NAME]},${position[ID]}"), "GG410"),
    "flat": (lines(JSON, "flatten=true", "metaColumnsTemplate=${optype[after.ID]}"), "GG410"),
    "avro": (lines(AVRO, "metaColumnsTemplate=${optype[NAME]}"), "GG206"),
}


@pytest.mark.parametrize("case", ALWAYS)
def test_a_check_and_a_run_refuse_what_no_table_can_have(case: str, tmp_path: Path) -> None:
    text, code, line = ALWAYS[case]
    assert errors("\n".join(text)) == [(code, line)]
    with pytest.raises((Abend, ConfigurationError), match=code):
        run_ggfmt([write_lines(tmp_path / "in.json", [operation(1)])], tmp_path / "out", *text[1:])


@pytest.mark.parametrize("case", BY_TABLE)
def test_a_run_refuses_names_of_columns(case: str, tmp_path: Path) -> None:
    text, code = BY_TABLE[case]
    source = write_lines(tmp_path / "in.json", [operation(1), operation(2)])
    with pytest.raises(Abend, match=code):
        run_ggfmt([source], tmp_path / "out", *text[1:])
    result = run_ggfmt([source], tmp_path / "set aside", *text[1:], quarantine=True)
    assert result.totals.handlers["h"].rejected == {code: 2}


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not there")
@pytest.mark.parametrize("case", ["json_before_after_meta", "json_row_column_meta", "meta_name_bad_avro"])
def test_reported_handler_files_are_refused(case: str, tmp_path: Path) -> None:
    path = CASES / f"{case}.properties"
    assert bool(errors(path.read_text())) is (case != "json_row_column_meta")
    source = write_lines(tmp_path / "in.json", [operation(1)])
    lines = [line for line in path.read_text().splitlines() if not line.startswith("gg.handlerlist")]
    with pytest.raises(Abend, match=r"GG410|GG206"):
        run_ggfmt([source], tmp_path / "out", *lines)
