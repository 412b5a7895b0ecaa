"""wal2json's records, read: what is odd in them, and the frames of query rows. The lines are invented."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from contract.wal2json import ROW, cells, change, listed, transaction
from dialects import EVERYTHING, Read, chunk_bytes, lines, read, told, transactions_of
from oracle import PlainOperation
from scanners import without_kernels

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.reading import Remark
from ggfmt.formats.postgresql.changes import column_type
from ggfmt.formats.wal2json.read import Wal2json
from ggfmt.model.table import Column, Kind, SqlType, TableDef

NAME = "wal2json"
TEXTS: dict[str, str | None] = {"id": "1", "v": "a", "n": "1.5", "b": "AP8=", "at": "2024-02-29 23:59:59.999999+05:30"}
AT, LSN = "2026-11-28 14:46:22.240000", "0/19A1938"


def found_in(data: bytes, projection: Projection = EVERYTHING, **options: str) -> Read:
    """What is read, alike with kernels and without, and in chunks of any size."""
    source = told(NAME, **options)
    found = read(NAME, data, source, projection=projection)
    with without_kernels():
        assert read(NAME, data, source, projection=projection) == found
    with chunk_bytes(64):
        assert read(NAME, data, source, projection=projection) == found
    return found


def images(found: Read) -> list[tuple[Any, Any]]:
    return [(item.before, item.after) for item in found.plain]


def test_every_operation_of_format_2() -> None:
    found = found_in(
        lines(change("I", ROW), change("U", {**ROW, "v": None}, {"id": 1}), change("D", None, {"id": 1}), change("T"))
    )
    tokens = {"xid": "732"}
    assert found.plain == [
        PlainOperation("I", AT, LSN, None, TEXTS, tokens),
        PlainOperation("U", AT, LSN, {"id": "1"}, {**TEXTS, "v": None}, tokens),
        PlainOperation("D", AT, LSN, {"id": "1"}, None, tokens),
        PlainOperation("T", AT, LSN, None, None, tokens),
    ]
    (table,) = {table for table, _ in found.operations}
    assert (table.full_name, table.key_names) == ("public.t", ("id",))
    assert table.columns[2].type == SqlType(Kind.DECIMAL, precision=10, scale=2)


def test_every_operation_of_format_1() -> None:
    data = lines(
        transaction(listed("insert", ROW), listed("update", ROW, {"id": 2}), listed("delete", None, {"id": 1}))
    )
    found = found_in(data)
    assert images(found) == [(None, TEXTS), ({"id": "2"}, TEXTS), ({"id": "1"}, None)]
    assert {(item.op_ts, item.pos, item.tokens["xid"]) for item in found.plain} == {
        ("2026-11-28 14:46:22.000000", "0/19A1A00", "733")
    }
    assert transactions_of(NAME, data) == ["733"] * 3


# Traps


def test_digits_stay_as_they_are() -> None:
    number = "1234567890123456789012345678.0000000001"
    data = b"".join(lines(change("I", {"id": i, "n": "#"})).replace(b'"#"', number.encode()) for i in range(3))
    assert [item.after["n"] for item in found_in(data).plain if item.after] == [number] * 3
    assert found_in(data.replace(number.encode(), b"1.50")).plain[2].after == {"id": "2", "n": "1.50"}


def test_null_numbers_are_null_and_quoted_ones_are_kept() -> None:
    found = found_in(lines(*(change("I", {"id": 1, "n": value}) for value in (None, "NaN", "1.50"))))
    assert [item.after and item.after["n"] for item in found.plain] == [None, "NaN", "1.50"]


@pytest.mark.process
def test_null_numbers_are_counted_and_strict_stops(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Unless a number of the row is a string: wal2json writes all of them as strings then."""
    nulls = [change("I", {"id": i, "n": None}) for i in (1, "2")]
    updates = [change("U", {"id": 3, "v": None}, {"id": 1, "n": None}), change("D", None, {"id": 1, "n": None})]
    remark = "with NULL in a numeric column, which wal2json also writes for `NaN` and infinity"
    found = found_in(lines(change("I", ROW), *nulls, *updates, change("I", {"id": 3, "v": None})))
    assert found.remarks == {Remark("GG330", "public.t", remark): 2}
    for number, records in enumerate((nulls, nulls[1:])):
        path = tmp_path / f"{number}.json"
        path.write_bytes(lines(*records))
        ggfmt.convert(path, output=tmp_path / f"{number}", to="json", master="none")
    with pytest.raises(Abend, match=f"GG407.*1 operation {re.escape(remark)}"):
        ggfmt.convert(tmp_path / "0.json", output=tmp_path / "out", to="json", strict=True, master="none")
    ggfmt.convert(tmp_path / "1.json", output=tmp_path / "out", to="json", strict=True, master="none")
    rows: dict[str, Any] = {"to": "json", "strict": True, "master": "none"}
    with pytest.raises(Abend, match=f"GG407.*1 operation {re.escape(remark)}"):
        ggfmt.consolidate(tmp_path / "0.json", output=tmp_path / "rows", **rows)
    assert not (tmp_path / "rows" / "public.t").exists()
    ggfmt.consolidate(tmp_path / "0.json", output=tmp_path / "rows", to="json", master="none")
    assert f"[GG330] table public.t: 1 operation {remark}" in caplog.text
    ggfmt.consolidate(tmp_path / "1.json", output=tmp_path / "others", **rows)


def test_an_update_takes_unchanged_numbers_from_the_identity() -> None:
    """The values stay what they are if columns have strings and numbers."""
    data = lines(
        change("I", {"id": 1, "n": 1.5, "v": "x"}),
        change("U", {"id": 1, "v": "y"}, {"id": 1, "n": 1.50, "v": "x"}),
        change("U", {"id": 1, "n": "2.0"}, {"id": 1, "n": "1", "v": "y"}),
    )
    for row_only in (False, True):
        found = found_in(data, Projection(row_only=row_only, key_updates=row_only))
        assert [item.after for item in found.plain] == [
            {"id": "1", "n": "1.5", "v": "x"}, {"id": "1", "n": "1.5", "v": "y"}, {"id": "1", "n": "2.0", "v": "y"},
        ]  # fmt: skip


def test_a_column_that_is_not_shown_is_missing_unless_the_identity_has_it() -> None:
    updates = [change("U", {"id": 1, "n": 2}, {"id": 1}), change("U", {"id": 1}, {"id": 1, "v": "long", "n": None})]
    data = lines(change("I", ROW), *updates, *updates)
    expected = [
        ({"id": "1"}, {"id": "1", "n": "2"}),
        ({"id": "1", "v": "long", "n": None}, {"id": "1", "v": "long", "n": None}),
    ]
    assert images(found_in(data))[1:] == expected * 2
    rows = found_in(data, Projection(row_only=True, key_updates=True))
    assert [item.after for item in rows.plain[1:]] == [after for _, after in expected * 2]


@pytest.mark.parametrize("end", [b"]}\n", b""])
def test_parts_of_a_transaction(end: bytes) -> None:
    start = json.dumps(transaction(), separators=(",", ":")).encode().removesuffix(b"]}")
    one, two = (json.dumps(listed("insert", {"id": i})).encode() for i in (1, 2))
    found = found_in(start + b"\n" + one + b"\n," + two + b"\n" + end)
    assert images(found) == [(None, {"id": "1"}), (None, {"id": "2"})]
    assert {(item.pos, item.tokens["xid"]) for item in found.plain} == {("0/19A1A00", "733")}
    assert found.reasons == ([] if end else ["GG302 the transaction has no end"])
    assert found.others == {"transaction begin": 1, "transaction end": 1} if end else {"transaction begin": 1}


def test_changes_without_the_start_of_their_transaction_are_read() -> None:
    found = found_in(
        b"," + lines(listed("insert", {"id": 1})) + b"]}\n" + lines(transaction(listed("insert", {"id": 2})))
    )
    assert [(item.after, item.pos) for item in found.plain] == [({"id": "1"}, None), ({"id": "2"}, "0/19A1A00")]


def test_a_start_in_a_transaction_is_a_cut() -> None:
    start = b'{"xid":1,"change":[\n'
    found = found_in(start + lines(listed("insert", {"id": 1})) + start + b"]}\n")
    assert found.reasons == ["GG302 the transaction before has no end"]
    assert [item.after for item in found.plain] == [{"id": "1"}]


@pytest.mark.parametrize("member", ["columnnames", "columntypes", "columnvalues"])
def test_lists_of_unequal_length_are_rejected(member: str) -> None:
    bad = listed("insert", {"id": 1, "v": "x"})
    bad[member].pop()
    found = found_in(lines(transaction(bad), transaction(listed("insert", {"id": 2}))))
    assert [reason[:5] for reason in found.reasons] == ["GG308"]
    assert images(found) == [(None, {"id": "2"})]


def test_nulls_of_a_whole_old_row() -> None:
    data = lines(transaction(listed("insert", {"id": 1, "v": None}), listed("delete", None, {"id": 1})))
    assert images(found_in(data))[1] == ({"id": "1"}, None)
    assert images(found_in(data, fullIdentity="public.x;public.t"))[1] == ({"id": "1", "v": None}, None)


@pytest.mark.parametrize(
    "head", ['{"change":[,', '{"xid":1,"timestamp":"2026-11-28 14:46:22+00","change":[ ,', '{\n\t"change": [\n\t\t,']
)
def test_a_message_outside_of_a_transaction_is_counted(head: str) -> None:
    message = head.encode() + b'{"kind":"message","transactional":false,"prefix":"app","content":"x\\n{"}]}\n'
    insert = lines(transaction(listed("insert", {"id": 1})))
    found = found_in(insert + message + insert)
    assert (len(found.plain), found.others, found.reasons) == (2, {"message": 1}, [])
    found = found_in(insert + message.replace(b'"message"', b'"insert"', 1) + insert)
    assert (len(found.plain), found.others, len(found.reasons)) == (2, {}, 1)


@pytest.mark.parametrize(
    ("value", "expected"), [("", ""), ("00fF", "AP8="), ("0", None), ("00\\001", None), ("0 0 ", None), ("zz", None)]
)
def test_bytes_are_hexadecimal(value: str, expected: str | None) -> None:
    found = found_in(lines(change("I", {"id": 1, "b": value}), change("I", {"id": 2, "b": None})))
    assert [item.after and item.after["b"] for item in found.plain] == [*([] if expected is None else [expected]), None]
    assert [reject.diagnostic.help for reject in found.rejects] == (
        ["query the slot in a session with `SET bytea_output = hex`"] if expected is None else []
    )


def test_a_record_of_an_old_plugin_that_is_no_json_is_rejected_alone() -> None:
    bad = lines(change("I", {"id": 1})).replace(b'"integer"', b'""MOOD""', 1)
    found = found_in(lines(change("I", {"id": 1})) + bad + lines(change("I", {"id": 2})))
    assert [reason[:5] for reason in found.reasons] == ["GG301"]
    assert len(found.plain) == 2
    good = lines(change("I", {"id": 1})).replace(b'"integer"', b'"\\"MOOD\\""')
    assert found_in(good).operations[0][0].columns[0].type == SqlType(Kind.STRING)


@pytest.mark.process
def test_rows_with_one_position_are_several_rows(tmp_path: Path) -> None:
    data = lines(*(change("I", {"id": i}) for i in range(3)), change("U", {"id": 1, "v": "x"}, {"id": 1}))
    assert [item.pos for item in found_in(data).plain] == [LSN] * 4
    (tmp_path / "dump.json").write_bytes(data)
    ggfmt.consolidate(tmp_path / "dump.json", output=tmp_path / "out", to="json", master="none")
    rows = [json.loads(line) for path in sorted((tmp_path / "out").glob("public.t/*.json")) for line in path.open()]
    assert sorted(row["id"] for row in rows) == [0, 1, 2]
    assert [row.get("v") for row in sorted(rows, key=lambda row: row["id"])] == [None, "x", None]


@pytest.mark.parametrize(
    "text",
    ["28.11.2026 20:16:22.24 IST", "2026-11-28 20:16:22", "11/28/2026 20:16:22 IST", "2026-13-01 00:00:00+00", ""],
)
def test_a_time_that_is_not_clear_is_rejected(text: str) -> None:
    good = lines(change("I", {"id": 1}))
    found = found_in(good + lines(change("I", {"id": 2}, timestamp=text)) + good)
    expected = [] if text == "" else ["GG308 `timestamp` is not an ISO 8601 time with an offset"]
    assert found.reasons == expected
    assert [item.op_ts for item in found.plain] == ([AT, None, AT] if text == "" else [AT, AT])


@pytest.mark.parametrize(
    ("type", "good", "bad"),
    [
        ("date", "2024-02-29|4713-01-01 BC|infinity|5874897-12-31", "29.02.2024|02/29/2024|2024-02-29x"),
        ("timestamp without time zone", "2024-02-29 23:59:59.999|-infinity", "29.02.2024 23:59|2024-02-29 23:59:59+00"),
        (
            "timestamp with time zone",
            "2024-02-29 23:59:59.5+05:30|0044-03-15 00:00:00-00:01:15 BC",
            "2024-02-29 23:59:59|Thu Feb 29 23:59:59 2024 UTC",
        ),
    ],
)  # fmt: skip
def test_dates_are_iso(type: str, good: str, bad: str) -> None:
    right, wrong = good.split("|"), bad.split("|")

    def record(value: Any) -> dict[str, Any]:
        return {"action": "I", "table": "t", "columns": [{"name": "d", "type": type, "value": value}]}

    found = found_in(lines(*map(record, [*right, None, *wrong])))
    assert [item.after and item.after["d"] for item in found.plain] == [*right, None]
    assert [reject.diagnostic.code for reject in found.rejects] == ["GG314"] * len(wrong)


# Frames


VALUES = ['it\'s "q"', "a|b\tc", "1\n2 \\ \\n", "ü€", "x" * 300, ""]
INSERTS = [
    json.dumps(change("I", {"id": i, "v": value}), separators=(",", ":"), ensure_ascii=False)
    for i, value in enumerate(VALUES)
]
EXPECTED = [{"id": str(i), "v": value} for i, value in enumerate(VALUES)]


def framed(frame: str, texts: Sequence[str], header: bool = True) -> bytes:
    """Rows of a query as the tool prints them; rows of JSON over several lines, too."""
    rows = [(f"0/{0xA0 + i:X}", str(700 + i), text) for i, text in enumerate(texts)]
    if frame == "pipes":
        made = ["lsn|xid|data"] * header + ["|".join(row) for row in rows] + [f"({len(rows)} rows)"] * header
    elif frame == "psql tabs":
        made = ["\t".join(row) for row in rows]
    elif frame == "copy":
        escapes = {"\\": "\\\\", "\n": "\\n", "\t": "\\t"}
        made = ["\t".join("".join(escapes.get(c, c) for c in cell) for cell in row) for row in rows]
    elif frame == "csv":
        made = ["lsn,xid,data"] * header + [
            f'{lsn},{xid},"{text.replace(chr(34), chr(34) * 2)}"' for lsn, xid, text in rows
        ]
    elif frame == "aligned":
        made = ["    lsn    | xid |    data", "-----------+-----+------------"] * header
        for lsn, xid, text in rows:
            first, *rest = text.expandtabs(8).split("\n")
            folded = [f" {lsn:9} | {xid:>3} | {first}", *(f"           |     | {line}" for line in rest)]
            made += [f"{line:100}+" for line in folded[:-1]] + [folded[-1]]
        made += [f"({len(rows)} rows)", ""] * header
    else:
        made = []
        for number, (lsn, xid, text) in enumerate(rows, 1):
            first, *rest = text.expandtabs(8).split("\n")
            folded = [f"data | {first}", *(f"     | {line}" for line in rest)]
            made += [f"-[ RECORD {number} ]{'-' * 20}", f"lsn  | {lsn}", f"xid  | {xid}"]
            made += [f"{line:80}+" for line in folded[:-1]] + [folded[-1]]
    return ("\n".join(made) + "\n").encode()


FRAMES = ["pipes", "psql tabs", "copy", "csv", "aligned", "expanded"]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("indent", [None, "\t"])
def test_rows_of_a_query(frame: str, indent: str | None) -> None:
    one_record = [json.dumps(json.loads(text), ensure_ascii=False, indent=indent) for text in INSERTS]
    for header in (True, False):
        data = framed(frame, one_record, header)
        assert Wal2json.sniff_file(data) is not None
        found = found_in(data)
        assert found.reasons == []
        assert [item.after for item in found.plain] == EXPECTED
        assert {item.pos for item in found.plain} == {LSN}
    crlf = found_in(data.replace(b"\n", b"\r\n"))
    assert [item.after for item in crlf.plain] == EXPECTED


@pytest.mark.parametrize("frame", FRAMES)
def test_position_and_transaction_are_those_of_the_row_if_the_record_has_none(frame: str) -> None:
    bare = {"action": "I", "table": "t", "columns": cells({"id": 1})}
    old = {"change": [listed("insert", {"id": 1})]}
    found = found_in(framed(frame, [json.dumps(bare), json.dumps({**bare, "lsn": "1/2"}), json.dumps(old)]))
    assert [(item.pos, item.tokens) for item in found.plain] == [
        ("0/A0", {"xid": "700"}), ("1/2", {"xid": "701"}), ("0/A2", {"xid": "702"}),
    ]  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
def test_parts_of_a_transaction_in_rows(frame: str) -> None:
    insert = json.dumps(listed("insert", {"id": 1}))
    found = found_in(framed(frame, ['{"xid":7,"change":[', insert, f",{insert}", "]}"]))
    assert [(item.pos, item.tokens) for item in found.plain] == [("0/A0", {"xid": "7"})] * 2
    assert found.others == {"transaction begin": 1, "transaction end": 1}


def test_lines_with_tabs_of_which_nobody_knows_the_writer() -> None:
    texts = [json.dumps(change("I", {"id": i, "v": value})) for i, value in enumerate(("plain", "a\\nb"))]
    data = framed("psql tabs", texts)  # with two backslashes: a line feed by `COPY`, a backslash by `psql`
    found = found_in(data)
    assert [item.after for item in found.plain] == [{"id": "0", "v": "plain"}]
    assert found.reasons == ["GG301 a value has backslashes of which `COPY` writes two, and `psql` one"]
    assert found_in(data, escapes="psql").plain[1].after == {"id": "1", "v": "a\\nb"}
    assert found_in(data, escapes="copy").plain[1].after == {"id": "1", "v": "a\nb"}


def test_lines_of_copy_without_other_columns() -> None:
    data = b"\n".join(text.replace("\\", "\\\\").encode() for text in INSERTS)
    assert [item.after for item in found_in(data, escapes="copy").plain] == EXPECTED


def test_csv_of_the_data_alone() -> None:
    data = "".join(f'"{text.replace(chr(34), chr(34) * 2)}"\n' for text in INSERTS)
    for header in ("", "data\n"):
        assert [item.after for item in found_in(f"{header}{data}".encode()).plain] == EXPECTED


def test_csv_with_all_values_in_quotes() -> None:
    """As programs with windows write it."""
    rows = (f'"0/{0xA0 + i:X}","{700 + i}","{text.replace(chr(34), chr(34) * 2)}"' for i, text in enumerate(INSERTS))
    found = found_in("\n".join(['"lsn","xid","data"', *rows]).encode())
    assert [item.after for item in found.plain] == EXPECTED


def test_a_row_that_psql_wrapped_is_rejected() -> None:
    wrapped = (
        ' 0/A0 | 700 | {"action":"I","table":"t","columns":[{"name":"v".\n      |     |.,"type":"text","value":"x"}]}\n'
    )
    data = framed("aligned", INSERTS[:1]) + wrapped.encode() + framed("aligned", INSERTS[1:2], header=False)
    found = found_in(data)
    assert [item.after for item in found.plain] == EXPECTED[:2]
    assert len(found.reasons) == 2


def test_a_file_of_several_outputs() -> None:
    for frame in FRAMES:
        parts = [b"SET\n", framed(frame, INSERTS[:3]), b"\nSET\n", framed(frame, INSERTS[3:]), b"COMMIT\n"]
        assert [item.after for item in found_in(b"".join(parts)).plain] == EXPECTED


# Definitions and keys


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("numeric(10,2)", SqlType(Kind.DECIMAL, precision=10, scale=2)),
        ("character varying(40)", SqlType(Kind.STRING, length=40)),
        ("timestamp(3) without time zone", SqlType(Kind.TIMESTAMP, scale=3)),
        ("integer[]", SqlType(Kind.STRING)),  # the text is `{1,2}`, and no JSON array
        ("money", SqlType(Kind.STRING)),  # the text has a currency
        ("bytea", SqlType(Kind.BINARY, base64=True)),
    ],
)
def test_types(text: str, type: SqlType) -> None:
    assert column_type(text) == type


def test_a_definition_has_all_columns_that_were_shown() -> None:
    added = {
        **change("U", {"id": 1}, {"id": 1}),
        "columns": [*cells({"id": 1}), {"name": "new", "type": "date", "value": None}],
    }
    data = lines(change("D", None, {"id": 1}), change("I", ROW), change("D", None, {"id": 1}), added, change("I", ROW))
    found = found_in(data)
    names = [tuple(event.table.column_names) for event in found.definitions]
    assert names == [("id",), ("id", "v", "n", "b", "at"), ("id", "v", "n", "b", "at", "new")]
    assert [len(table.columns) for table, _ in found.operations] == [1, 5, 5, 6, 6]
    assert "new" not in (found.plain[-1].after or {})


def test_another_type_is_another_definition() -> None:
    other = {
        **change("I", {"id": 2}),
        "columns": [{"name": "id", "type": "bigint", "value": 2}],
        "pk": [{"name": "id", "type": "bigint"}],
    }
    found = found_in(lines(*[change("I", {"id": 1}), change("I", {"id": 1}), other, other] * 2))
    assert [table.columns[0].type.bits for table, _ in found.operations] == [32, 32, None, None] * 2


def key_of(update: dict[str, Any], **options: str) -> Sequence[str]:
    """The key of the table, which an insert before the update does not show."""
    insert = change("I", ROW)
    del insert["pk"]
    found = found_in(lines(insert, update), EVERYTHING, **options)
    (key,) = {table.key_names for table, _ in found.operations}
    return key


def test_the_identity_of_an_update_is_the_key() -> None:
    """Unless it is the whole row, as with REPLICA IDENTITY FULL."""
    part, whole = change("U", {"id": 1, "v": "x"}, {"id": 1}), change("U", {"id": 1, "v": "x"}, {"id": 1, "v": None})
    for record in (part, whole):
        del record["pk"]
    assert key_of(part) == ("id",)
    assert key_of(whole) == ()
    assert key_of(whole, primaryKeys="public.t=id,v") == ("id", "v")


def test_an_identity_without_the_primary_key_is_the_key() -> None:
    """With REPLICA IDENTITY USING INDEX, only the columns of the index find a row."""
    update, delete = change("U", {"id": 5, "v": "x"}, {"v": "x"}), change("D", None, {"v": "x"})
    old = transaction(listed("update", {"id": 5, "v": "x"}, {"v": "x"}, pk={"pknames": ["id"], "pktypes": ["integer"]}))
    for record in (update, delete, old):
        found = found_in(lines(change("I", ROW), record))
        assert found.reasons == []
        assert {table.key_names for table, _ in found.operations} == {("v",)}


def test_a_key_that_is_not_in_the_identity_is_refused() -> None:
    update = change("U", {"id": 5, "v": "x"}, {"v": "x"})
    data = lines(change("I", ROW), update, change("U", {"id": 5}, {"id": 1, "v": "x"}))
    found = found_in(data, EVERYTHING, primaryKeys="public.t=id")
    assert found.reasons == ["GG305 the identity does not have the key column `id`"]
    assert [item.op for item in found.plain] == ["I", "U"]
    trusted = {"public.t": TableDef("public.t", (Column("id", key=1), Column("v")))}
    assert read(NAME, lines(update), trusted=trusted).reasons == found.reasons


def test_a_repeated_column_is_rejected() -> None:
    record = change("I", {"id": 1, "v": "x"})
    record["columns"][1]["name"] = "id"
    found = found_in(lines(change("I", ROW), record, change("I", ROW)))
    assert (len(found.plain), found.reasons) == (2, ["GG308 an image has a column twice"])


# Damage


def undamaged(kind: str) -> bytes:
    inserts = [listed("insert", row) for row in EXPECTED]
    parts = ['{"change":[', json.dumps(inserts[0]), *(f",{json.dumps(one)}" for one in inserts[1:]), "]}"]
    if kind == "format 1":
        return lines(transaction(*inserts[:3]), transaction(*inserts[3:]))
    if kind.startswith("parts"):
        return framed("pipes", parts) if kind == "parts in rows" else "\n".join(parts).encode() + b"\n"
    return framed(kind, INSERTS) if kind in FRAMES else "\n".join(INSERTS).encode() + b"\n"


@pytest.mark.parametrize("kind", ["format 2", "format 1", "parts", "parts in rows", *FRAMES])
def test_no_cut_or_change_makes_a_wrong_row(kind: str) -> None:
    """Each row that is read is one that was written, unless the damage is in its values; nothing is raised."""
    data = undamaged(kind)
    rows = {json.dumps(row, sort_keys=True) for row in EXPECTED}
    assert len(read(NAME, data).plain) == len(rows)
    draw = random.Random(kind)
    for _ in range(150):
        place = draw.randrange(len(data))
        cut = data[:place] if draw.random() < 0.5 else data[:place] + data[place + draw.randrange(1, 40) :]
        found = read(NAME, cut)
        wrong = [row for item in found.plain if (row := json.dumps(item.after, sort_keys=True)) not in rows]
        assert len(wrong) <= (len(cut) > place)
        accounted = len(found.plain) + len(found.rejects) + sum(found.others.values())
        assert accounted or b"{" not in cut
        assert len(found.plain) == len(rows) or found.rejects or cut == data[:place]


def test_other_json_is_not_taken_for_it() -> None:
    for record in (
        {"action": "I"},
        {"action": "created", "table": "t", "columns": []},
        {"change": 1},
        {"change": ["x"]},
    ):
        taken = Wal2json.sniff_file(lines(record))
        assert (taken is None) == (record != {"action": "I"})
