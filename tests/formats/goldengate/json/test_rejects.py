"""Records that are no operations: each is set aside with its bytes, its place and the reason, and harms no other."""

from __future__ import annotations

import codecs
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import EVERYTHING, FILE, chunk_size, chunks_of, layout_of, read
from strategies import examples

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.reading import UnknownTable
from ggfmt.formats.json.files import record_spans
from ggfmt.model.table import MAX_NAME_BYTES, Column, Kind, SqlType, TableDef

T = TableDef("S.T", (Column("ID", SqlType(Kind.DECIMAL), key=1), Column("NAME")))
KNOWN = {"S.T": T, "S.U": TableDef("S.U", (Column("A"),))}

GOOD = '{"table":"S.T","op_type":"I","op_ts":"t","pos":"7","after":{"ID":1,"NAME":"é"}}'.encode()
HEAD = '{"table":"S.T","op_type":"I","pos":"8"'
TYPES = "legal values are `I`, `U`, `D`, `T`, `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`"
HERE = Span(table="S.T", position="8")


def no_json(reason: str, offset: int) -> Diagnostic:
    return Diagnostic("GG301", f"the record is not JSON: {reason} at byte {offset} of the record")


def no_name(name: str, reason: str) -> Diagnostic:
    return Diagnostic("GG306", f"the table name `{name}` {reason}", help="a table name is `[catalog.][schema.]table`")


def wrong_type(what: str, span: Span = HERE) -> Diagnostic:
    return Diagnostic("GG308", what, span)


def lacks(column: str) -> Diagnostic:
    return Diagnostic(
        "GG204",
        "an image has a column that the definition of the table lacks",
        Span(table="S.T", field=column, position="8"),
        "correct the definition, or leave it out of `--definitions` so that ggfmt infers it; for a metadata column, "
        "pass the writer's handler file with `--input-config`",
    )


def contradicts(reason: str) -> Diagnostic:
    return Diagnostic("GG307", reason, HERE)


HALF = Diagnostic("GG301", "the record is not JSON: an escape is one half of a surrogate pair")
DEEP = Diagnostic("GG301", "the record is nested too deeply")
DEEPER = 1_000_000  # levels; newer Pythons follow as many as their stack allows
LATER = sys.version_info >= (3, 13)  # which has a message of its own for a comma too many
NO_NAME = "illegal trailing comma before end of object"
NO_NAME = NO_NAME if LATER else "expecting property name enclosed in double quotes"
NOT_UTF_8 = "convert the file to UTF-8"

BAD: dict[str, tuple[str | bytes, Diagnostic]] = {
    # Not JSON, or not an object
    "words": ("no json", no_json("expecting value", 0)),
    "a comma too many": (HEAD + ",}", no_json(NO_NAME, len(HEAD) + (not LATER))),
    "a truncated line": (HEAD, no_json("expecting ',' delimiter", len(HEAD))),
    "a truncated text": (HEAD[:-1], no_json("unterminated string starting", len(HEAD) - 3)),
    "a control character": (HEAD + ',"op_ts":"\x01"}', no_json("invalid control character", len(HEAD) + 10)),
    "places count bytes": ('{"é":x', no_json("expecting value", 6)),
    "an escape that is none": (HEAD + ',"op_ts":"\\x"}', no_json("invalid \\escape", len(HEAD) + 10)),
    "bytes like those of UTF-16": (b'{\0"\0', no_json("expecting property name enclosed in double quotes", 1)),
    "a number": ("17", Diagnostic("GG301", "the record is a number and not a JSON object")),
    "a text": ('"x"', Diagnostic("GG301", "the record is a string and not a JSON object")),
    "an array": ('[{"table":"S.T"}]', Diagnostic("GG301", "the record is an array and not a JSON object")),
    "not a number": (
        HEAD + ',"after":{"ID":NaN}}',
        Diagnostic("GG301", f"the record is not JSON: invalid character (byte {len(HEAD) + 15})"),
    ),
    # Characters
    "invalid UTF-8": (
        HEAD.encode() + b',"after":{"NAME":"a\xffb"}}',
        Diagnostic(
            "GG303", f"the record is not UTF-8: byte 0xff at byte {len(HEAD) + 19} of the record", help=NOT_UTF_8
        ),
    ),
    "invalid UTF-8 where nobody looks": (
        HEAD.encode() + b',"current_ts":"\xc3","after":{"ID":1}}',
        Diagnostic(
            "GG303", f"the record is not UTF-8: byte 0xc3 at byte {len(HEAD) + 15} of the record", help=NOT_UTF_8
        ),
    ),
    "invalid UTF-8 in a number column": (
        HEAD.encode() + b',"after":{"ID":"\xed\xa0\x80"}}',
        Diagnostic(
            "GG303", f"the record is not UTF-8: byte 0xed at byte {len(HEAD) + 16} of the record", help=NOT_UTF_8
        ),
    ),
    "half of a surrogate pair": (HEAD + ',"after":{"NAME":"\\ud83d"}}', HALF),
    "the other half": (HEAD + ',"after":{"NAME":"x\\ude00"}}', HALF),
    "half a pair in a number column": (HEAD + ',"after":{"ID":"\\ud83dx"}}', HALF),
    "half a pair where nobody looks": (HEAD + ',"current_ts":"\\ud83d\\u0041","after":{"ID":1}}', HALF),
    "half a pair in a token": (HEAD + ',"tokens":{"a":"\\ud83d"},"after":{"ID":1}}', HALF),
    "half a pair in a name": (HEAD + ',"\\ud83d":1,"after":{"ID":1}}', HALF),
    "deep nesting": (HEAD + ',"after":{"NAME":' + "[" * DEEPER + "]" * DEEPER + "}}", DEEP),
    "deep nesting in a number column": (HEAD + ',"after":{"ID":' + '{"a":' * DEEPER + "1" + "}" * DEEPER + "}}", DEEP),
    "deep nesting without an end": (HEAD + ',"after":' + "[" * 100_000, DEEP),
    # Operation types
    "no op_type": (
        '{"table":"S.T","pos":"8","after":{"ID":1}}',
        Diagnostic("GG305", "the record has no `op_type`", HERE, TYPES),
    ),
    "an unknown op_type": (
        '{"table":"S.T","op_type":"UPSERT","pos":"8","after":{"ID":1}}',
        Diagnostic("GG304", "`op_type` cannot be `UPSERT`", HERE, TYPES),
    ),
    "an op_type of another case": (
        '{"table":"S.T","op_type":"i","pos":"8","after":{"ID":1}}',
        Diagnostic("GG304", "`op_type` cannot be `i`", HERE, TYPES),
    ),
    "an op_type that is a number": (
        '{"table":"S.T","op_type":1,"pos":"8","after":{"ID":1}}',
        Diagnostic("GG304", "`op_type` cannot be `a number`", HERE, TYPES),
    ),
    # Tables
    "no table": (
        '{"op_type":"I","after":{"ID":1}}',
        Diagnostic("GG305", "the record has no `table`", help="every operation must name its table"),
    ),
    "a table that is null": (
        '{"table":null,"op_type":"I","after":{"ID":1}}',
        Diagnostic("GG305", "the record has no `table`", help="every operation must name its table"),
    ),
    "a table that is a number": (
        '{"table":1,"op_type":"I","after":{"ID":1}}',
        wrong_type("`table` is a number and not a string", Span()),
    ),
    "a table that nobody defines": (
        '{"table":"S.X","op_type":"I","pos":"8","after":{"ID":1}}',
        UnknownTable(
            "GG205",
            "the table `S.X` has no definition",
            Span(table="S.X", position="8"),
            "add its definition to `--definitions`, under its full name; a dump of MySQL may need `USE S;` before it",
        ),
    ),
    "an empty table name": ('{"table":"","op_type":"I"}', no_name("", "has an empty part")),
    "a path as a table name": ('{"table":"../../x","op_type":"I"}', no_name("../../x", "has an empty part")),
    "a table name with an empty part": ('{"table":"A..B","op_type":"I"}', no_name("A..B", "has an empty part")),
    "a table name with a blank part": ('{"table":"A. ","op_type":"I"}', no_name("A. ", "has an empty part")),
    "a table name of four parts": (
        '{"table":"A.B.C.D","op_type":"I"}',
        no_name("A.B.C.D", "has more than three parts"),
    ),
    "a control character in a table name": (
        '{"table":"A\\u0000B","op_type":"I"}',
        no_name("A\0B", "holds a control character"),
    ),
    "a long table name": (
        '{"table":"' + "N" * (MAX_NAME_BYTES + 1) + '","op_type":"I"}',
        no_name("N" * 77 + "...", f"is longer than {MAX_NAME_BYTES} bytes"),
    ),
    # Members
    "op_ts of a wrong type": (
        HEAD + ',"op_ts":17,"after":{"ID":1}}',
        wrong_type("`op_ts` is a number and not a string"),
    ),
    "pos of a wrong type": (
        '{"table":"S.T","op_type":"I","pos":1.5,"after":{"ID":1}}',
        wrong_type("`pos` is a number and not a string", Span(table="S.T", position="1.5")),
    ),
    "an image that is a text": (HEAD + ',"after":"ID"}', wrong_type("`after` is a string and not an object")),
    "an image that is an array": (
        HEAD + ',"before":[],"after":{}}',
        wrong_type("`before` is an array and not an object"),
    ),
    "a column without a definition": (HEAD + ',"after":{"ID":1,"AGE":2}}', lacks("AGE")),
    "a column of another case": (
        '{"table":"S.T","op_type":"D","pos":"8","before":{"id":1}}',
        lacks("id"),
    ),
    "a column with an odd name": (HEAD + ',"after":{"a\\"b":1}}', lacks('a"b')),
    "metadata without columns": (
        '{"qual_table":"S.T","op_type":"OBJECT_METADATA","pos":"8"}',
        wrong_type("`columns` is null and not an object"),
    ),
    "metadata of an unknown type": (
        '{"qual_table":"S.T","op_type":"OBJECT_METADATA","pos":"8","columns":{"ID":{"type":"blob"}}}',
        Diagnostic(
            "GG308",
            "the metadata of a column has no known `type`",
            Span(table="S.T", field="ID", position="8"),
            "known types are `string`, `number`, `integer`, `boolean`",
        ),
    ),
    # Images that contradict the type
    "an insert with a before image": (
        HEAD + ',"before":{"ID":1},"after":{"ID":1}}',
        contradicts("an insert has a before image"),
    ),
    "an insert without an after image": (HEAD + "}", contradicts("an insert has no after image")),
    "an insert with the wrong image": (
        HEAD + ',"before":{"ID":1}}',
        contradicts("an insert has a before image and has no after image"),
    ),
    "an update without an after image": (
        '{"table":"S.T","op_type":"U","pos":"8","before":{"ID":1}}',
        contradicts("an update has no after image"),
    ),
    "a delete with an after image": (
        '{"table":"S.T","op_type":"D","pos":"8","before":{"ID":1},"after":{"ID":null}}',
        contradicts("a delete has an after image"),
    ),
    "a delete without a before image": (
        '{"table":"S.T","op_type":"DELETE","pos":8}',
        contradicts("a delete has no before image"),
    ),
    "a truncate with images": (
        '{"table":"S.T","op_type":"T","pos":"8","before":{"ID":1},"after":{"ID":1}}',
        contradicts("a truncate has a before image and has an after image"),
    ),
}


@pytest.mark.parametrize("projection", [EVERYTHING, Projection(row_only=True, key_updates=True)], ids=["all", "row"])
@pytest.mark.parametrize("case", BAD)
def test_a_bad_record_is_rejected_with_its_place_and_reason_and_harms_no_other(
    case: str, projection: Projection
) -> None:
    record, diagnostic = BAD[case]
    record = record if isinstance(record, bytes) else record.encode()
    result = read(b"\n".join([GOOD, record, GOOD, record, GOOD]), KNOWN, projection)
    offsets = [len(GOOD) + 1, 2 * len(GOOD) + len(record) + 3]
    assert [result.rejects[ordinal].record for ordinal in (1, 3)] == [record] * 2
    assert [result.rejects[ordinal].diagnostic for ordinal in (1, 3)] == [
        diagnostic.at(file=FILE, offset=offset) for offset in offsets
    ]
    assert [op.after for op in result.plain] == [{"ID": "1", "NAME": "é"}] * 3
    assert sorted(result.operations) == [0, 2, 4]


def test_tokens_of_a_wrong_type_are_rejected_where_somebody_asks_for_tokens() -> None:
    record = (HEAD + ',"tokens":true,"after":{"ID":1}}').encode()
    result = read(record, KNOWN)
    assert result.rejects[0].diagnostic == wrong_type("`tokens` is a boolean and not an object").at(file=FILE, offset=0)
    assert [op.after for op in read(record, KNOWN, Projection()).plain] == [{"ID": "1"}]


def test_a_file_that_ends_in_the_middle_of_a_record_is_told_so() -> None:
    for cut in range(1, len(GOOD)):
        if cut - 1 == GOOD.index(b"\xc3"):
            continue  # a character is cut: not UTF-8
        result = read(GOOD + b"\n" + GOOD[:cut], KNOWN)
        assert result.rejects[1].diagnostic == Diagnostic(
            "GG302",
            "the file ends in the middle of a record",
            Span(FILE, offset=len(GOOD) + 1),
            "read the file again when it is complete",
        )
        assert len(result.plain) == 1


@pytest.mark.parametrize("known", [{}, KNOWN], ids=["no table", "tables"])
def test_without_a_table_every_record_is_still_accounted_for(known: dict[str, TableDef]) -> None:
    records = [b'{"op_type":"I"}', b"{}", b"null", b'{"table":"S.X","op_type":"I","after":{}}']
    result = read(b"\n".join(records), known)
    assert {ordinal: reject.diagnostic.code for ordinal, reject in result.rejects.items()} == {
        0: "GG305",
        1: "GG305",
        3: "GG205",
    }
    assert result.others == {"tombstone": 1}


@pytest.mark.parametrize("layout", ["concatenated", "array", "delimited", "pretty"])
def test_a_damaged_record_between_others_is_rejected_in_layouts_without_lines(layout: str) -> None:
    indented = GOOD.replace(b"{", b"{\n    ").replace(b",", b",\n    ")
    record, joint, ends = {
        "concatenated": (GOOD, b"\n", (b"", b"")),
        "array": (GOOD, b",\n", (b"[", b"]")),
        "delimited": (GOOD, b"|\n", (b"", b"|")),
        "pretty": (indented, b"\n", (b"", b"\n")),
    }[layout]
    damaged = record.replace(b'"op_type":', b'"op_type"')
    start = record + record if layout == "concatenated" else record
    data = ends[0] + joint.join([start, damaged, record]) + ends[1]
    assert not layout_of(data).splittable
    for size in (16, 150, 1 << 20):
        with chunk_size(size):
            result = read(data, KNOWN)
        assert len(result.plain) == 2 + (layout == "concatenated")
        (reject,) = result.rejects.values()
        assert reject.diagnostic.code == "GG301"
        assert reject.record.startswith(damaged)
        assert reject.diagnostic.span.offset == data.index(damaged)


# Fuzz

SEEDS = [
    GOOD,
    b'{"table":"S.T","op_type":"U","op_ts":"t","pos":17,"tokens":{"a":"b","c":1},"before":{"ID":1},"after":{"ID":"x"}}',
    b'{"table":"S.T","op_type":"D","current_ts":"x","before":{"ID":1.50,"NAME":null},"more":{"a":[1,2]}}',
    b'{"qual_table":"S.U","op_type":"INSERT","after":{"A":"\\ud83d\\ude00\\n"}}',
    b'{"table":"S.U","op_type":"T","primary_keys":["A"]}',
    b'{"qual_table":"S.U","op_type":"OBJECT_METADATA","columns":{"A":{"type":"string"},"B":{"type":"number"}}}',
    b"null",
]
SPICE = [
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\n", b"\r", b"\xff", b"\xc3", b"\0", b"null", b"1e999",
    b"\\ud83d", b"\xef\xbb\xbf", b"",
]  # fmt: skip


def mutated(draw: random.Random, data: bytes) -> bytes:
    for _ in range(draw.randint(1, 5)):
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice([0, 0, 1, 1, 2, 10]))
        piece = draw.choice([*SPICE, bytes([draw.randrange(256)]), data[start : start + 40]])
        data = data[:start] + piece + data[end:]
    return data


@examples(500)
@given(
    st.integers(0, 10**9),
    st.sampled_from([b"\n", b"\r\n", b"", b"|", b",\n"]),
    st.sampled_from([40, 200, 1 << 20]),
    st.sampled_from([EVERYTHING, Projection(row_only=True, key_updates=True), Projection(in_order=True)]),
    st.booleans(),
)
def test_damaged_files_give_operations_and_rejects_and_every_record_is_accounted_for(
    seed: int, end: bytes, size: int, projection: Projection, known: bool
) -> None:
    draw = random.Random(seed)
    records = [draw.choice(SEEDS) for _ in range(draw.randint(1, 12))]
    data = mutated(draw, end.join(records) + end)
    if end == b",\n" and draw.random() < 0.8:
        data = b"[" + data + b"]"
    layout = layout_of(data)
    with chunk_size(size):
        result = read(data, KNOWN if known else {}, projection)
        spans = [
            (chunk.offset + start, chunk.offset + end)
            for chunk in (chunk.settled() for chunk in chunks_of(data, layout))
            for start, end in record_spans(chunk)
        ]
    assert result.records == len(spans)
    assert sorted([*result.operations, *result.rejects]) == sorted({*result.operations, *result.rejects})
    covered = 0
    for start, stop in (*spans, (len(data), len(data) + 1)):
        # Between records are white space, brackets, delimiters and byte order marks only.
        between = data[covered:start].replace(layout.delimiter or b"\0\0\0", b"").replace(codecs.BOM_UTF8, b"")
        assert not between.strip(b" \t\r\n[]")
        assert start < stop
        covered = stop
    for ordinal, reject in result.rejects.items():
        assert reject.diagnostic.span.offset == spans[ordinal][0]
        assert reject.diagnostic.code in {
            "GG204",
            "GG205",
            "GG301",
            "GG302",
            "GG303",
            "GG304",
            "GG305",
            "GG306",
            "GG307",
            "GG308",
            "GG329",
        }
