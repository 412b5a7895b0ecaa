"""Delimited text is read back by the handler that wrote it: all that it shows, and rejects for what does not fit."""

from __future__ import annotations

import io
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dialects import Read, read, told
from hypothesis import given
from hypothesis import strategies as st
from runs import JSON_LINES, PIPES, content, operation, run_ggfmt, tables, write_lines
from scanners import without_kernels
from strategies import examples

from ggfmt.arrow.arrays import map_items
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.formats.api.format import Context, Projection, WriterSettings
from ggfmt.formats.goldengate.delimited import DelimitedTextOptions
from ggfmt.formats.goldengate.delimited.read import DelimitedTextReader
from ggfmt.model.table import Catalog, Column, TableDef

FIELDS = "op_type, table, op_ts, current_ts, pos, columns of the table"

TABLE = TableDef("GG.T", (Column("A"), Column("B")))


def found_in(data: bytes, *tables: TableDef, **options: str) -> Read:
    source = told("delimitedtext", Context(), **{"fieldDelimiter": "|", "encoding": "UTF-8", **options})
    return read("delimitedtext", data, source, trusted={table.full_name: table for table in tables})


def test_a_value_that_stands_for_null_and_missing_is_missing() -> None:
    assert found_in(b"I|GG.T|t|c|p||x\n", TABLE, nullValueRepresentation="").plain[0].after == {"B": "x"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            b"I|GG.T|t|c|p|1",
            "GG311 the line has 6 fields, but should have 7: op_type, table, op_ts, current_ts, pos, A, B",
        ),
        (
            b"I|GG.T|t|c|p|1|2|3",
            "GG311 the line has 8 fields, but should have 7: op_type, table, op_ts, current_ts, pos, A, B",
        ),
        (
            b"I|GG.T",
            f"GG311 the line has 2 fields, but should have at least 5: {FIELDS}",
        ),
        (
            b"",
            f"GG311 the line has 1 field, but should have at least 5: {FIELDS}",
        ),
        (b"X|GG.T|t|c|p|1|2", "GG304 the operation type cannot be `X`"),
        (b"I|GG.U|t|c|p|1|2", "GG205 the table `GG.U` has no definition"),
        (b"I|GG.T|t|c|p|\xe4|2", "GG303 the line is not UTF-8: byte 0xe4 at byte 13 of the line"),
    ],
)
def test_a_line_that_does_not_fit_is_a_reject_with_its_place(line: bytes, reason: str) -> None:
    good = b"I|GG.T|t|c|p|1|2"
    found = found_in(b"\n".join([good, line, good, b""]), TABLE)
    assert (len(found.plain), found.reasons) == (2, [reason])
    (reject,) = found.rejects
    assert (reject.record, reject.diagnostic.span.offset) == (line, len(good) + 1)


def test_a_definition_without_the_schema_is_named_in_the_help() -> None:
    found = found_in(b"I|GG.T|t|c|p|1|2\n", TableDef("t", TABLE.columns))
    assert found.reasons == ["GG205 the table `GG.T` has no definition"]
    help = "if this is the table `t` of `--definitions`, write its whole name there, in quotes if only the case differs"
    assert found.rejects[0].diagnostic.help == help


def test_lines_that_do_not_name_their_table_need_one_definition() -> None:
    one = found_in(b"I|t|c|p|1|2\n", TABLE, includeTableName="false")
    assert [table for table, _ in one.operations] == [TABLE]
    two = found_in(b"I|t|c|p|1|2\n", TABLE, TableDef("GG.U", TABLE.columns), includeTableName="false")
    assert two.reasons == ["GG205 lines do not name their table, and 2 tables are defined"]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("values", [b'"Chair| red"', b'"a""|b"', b'x|"', b'x|"y', b'"|x'])
def test_a_part_of_a_value_in_quotes_is_a_reject(values: bytes, native: bool) -> None:
    data = b"I|GG.T|t|c|p|" + values + b'\nI|GG.T|t|c|p|"1 "" 2"|x"y\nI|GG.T|t|c|p|N"|"M\n'
    states = {"nullValueRepresentation": 'N"', "missingValueRepresentation": '"M'}
    with nullcontext() if native else without_kernels():
        found = found_in(data, TABLE, wrapStringsInQuotes="true", **states)
    assert [operation.after for operation in found.plain] == [{"A": '1 " 2', "B": 'x"y'}, {"A": None}]
    reason = "GG311 a value begins or ends with a quote, but not both: it may contain the delimiter"
    assert found.reasons == [reason]
    assert len(found_in(data, TABLE, **states).plain) == 3


@pytest.mark.parametrize("native", [True, False])
def test_names_in_lines_are_those_of_the_definition(native: bool) -> None:
    options = {"includeColumnNames": "true", "includeMetaColumnNames": "true", "metaColumnsTemplate": "${optype[op]}"}
    data = b"op|I|A|1|b|2\nop|I|B|2|A|1\nx|I|A|1|B|2\nop|I|A|1|B|3\n"
    with nullcontext() if native else without_kernels():
        found = found_in(data, TABLE, **options)
    assert [operation.after for operation in found.plain] == [{"A": "1", "B": "2"}, {"A": "1", "B": "3"}]
    assert [reject.diagnostic.span.field for reject in found.rejects] == ["A", None]
    assert found.reasons == [
        "GG311 the line names another column here than the definition",
        "GG311 the metadata have other names",
    ]


def test_with_another_line_delimiter_a_file_is_no_header() -> None:
    data = b"op_type|table|op_ts|current_ts|pos|A|B\nI|GG.T|t|c|p|1|x\n"
    assert len(found_in(data, TABLE, enableFieldDescriptorHeaders="true").plain) == 1
    found = found_in(data, TABLE, enableFieldDescriptorHeaders="true", lineDelimiter="CDATA[\\r\\n]")
    assert found.reasons == ["GG205 the table `table` has no definition"]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16BE"])
@pytest.mark.parametrize("native", [True, False])
def test_a_header_with_the_columns_in_another_order_is_a_mistake(native: bool, encoding: str) -> None:
    options = {"enableFieldDescriptorHeaders": "true", "metaColumnsTemplate": "${optype[op]}", "encoding": encoding}
    reasons = []
    for header in ("op|A|B", "op|a|b", "op|b|A", "op|A|C", "I|3|4"):
        data = f"{header}\nI|1|2\n".encode(encoding)
        with nullcontext() if native else without_kernels():
            found = found_in(data, TABLE, **options)
        reasons.append((len(found.plain), found.reasons))
    wrong = "GG311 the header line has the columns in another order than the definition"
    assert reasons == [(1, []), (1, []), (0, [wrong]), (1, []), (2, [])]


def test_text_in_another_encoding_is_no_header() -> None:
    options = {"enableFieldDescriptorHeaders": "true", "metaColumnsTemplate": "${optype[op]}"}
    found = found_in("op|A|B\nI|1|2\n".encode("UTF-16LE"), TABLE, **options, encoding="UTF-16BE")
    assert (len(found.plain), len(found.reasons)) == (0, 1)


def test_files_with_other_headers_are_checked_one_by_one() -> None:
    """By one reader, whose kernel knows the table already."""
    options = {"enableFieldDescriptorHeaders": "true", "metaColumnsTemplate": "${optype[op]}"}
    made = told("delimitedtext", Context(), fieldDelimiter="|", encoding="UTF-8", **options)
    reader = DelimitedTextReader(Catalog({TABLE.full_name: TABLE}), Projection(), made)
    found: list[tuple[str, int]] = []
    for data in (b"op|A|B\nI|1|2\n", b"op|B|A\nI|1|2\n", b"op|A|B\nI|3|4\nI|5|6\n"):
        layout = reader.layout(data, True, made)
        for chunk in reader.chunks(io.BytesIO(data), "file", 0, None, layout):
            found += [(type(event).__name__, len(getattr(event, "op", "1"))) for event in reader.read(chunk)]
    found += [(type(event).__name__, len(getattr(event, "op", "1"))) for event in reader.flush()]
    assert found == [("Reject", 1), ("ChangeBatch", 3)]


@examples(100)
@given(st.binary(max_size=200), st.sampled_from(["UTF-8", "UTF-16", "ISO-8859-1"]))
def test_any_bytes_give_operations_or_rejects(data: bytes, encoding: str) -> None:
    found_in(data, TABLE, encoding=encoding)


def test_a_run_turns_delimited_text_into_json(tmp_path: Path) -> None:
    story = [operation(n, f"GG.T{n % 2}", "IUD"[n % 3]) for n in range(40)]
    source = write_lines(tmp_path / "in.json", story)
    run_ggfmt([source], tmp_path / "text", *PIPES)
    run_ggfmt([source], tmp_path / "json", *JSON_LINES)
    definitions = {
        name: TableDef(name, tuple(Column(c) for c in ("ID", "NAME", "AMOUNT"))) for name in ("GG.T0", "GG.T1")
    }
    written = WriterSettings(DelimitedTextOptions(field_delimiter="|", encoding="UTF-8"))
    for split_size in (None, 300):
        run_ggfmt(
            [tmp_path / "text" / "d"],
            tmp_path / f"again{split_size}",
            *PIPES,
            definitions=definitions,
            input_format="delimitedtext",
            source=written,
            split_size=split_size,
        )
        assert tables(tmp_path / f"again{split_size}", "d") == tables(tmp_path / "text", "d")
    with pytest.raises(Abend, match="GG205"):
        run_ggfmt([tmp_path / "text" / "d"], tmp_path / "none", *PIPES, input_format="delimitedtext", source=written)
    assert content(tmp_path / "text", "d").count(b"\n") == 40


def test_an_empty_batch_of_tokens_has_the_right_type() -> None:
    from ggfmt.formats.goldengate.delimited.read import parse_tokens

    assert map_items(parse_tokens(pa.array(["", ""]), ",", "=")) == [[], []]


def test_an_encoding_that_is_only_written_is_refused() -> None:
    source = WriterSettings(DelimitedTextOptions(encoding="GB18030"))
    with pytest.raises(UsageError, match="ggfmt writes the encoding `GB18030`, but does not read it"):
        DelimitedTextReader.layout(b"", True, source)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"line_delimiter": ""}, "lines have no end"),
        ({"line_delimiter": "é", "encoding": "US-ASCII"}, "has a character that `US-ASCII` does not support"),
    ],
)
def test_a_line_delimiter_that_cannot_be_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        DelimitedTextReader.layout(b"x", True, WriterSettings(DelimitedTextOptions(**options)))
    assert raised.value.diagnostics[0].code == "GG103"
    assert message in raised.value.diagnostics[0].message
