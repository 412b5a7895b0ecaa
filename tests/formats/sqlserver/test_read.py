"""Rows of SQL Server's change tables, read. They are invented after the manual and public samples."""

from __future__ import annotations

import base64
import io
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from contract.sqlserver import row
from dialects import Read, chunk_bytes, lines, read, told, transactions_of
from scanners import without_kernels

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats import FORMATS
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.rows.positions import KINDS

NAME = "sqlserver_cdc"
HEADER = "__$start_lsn,__$end_lsn,__$seqval,__$operation,__$update_mask,ID,BIG,V,__$command_id\n"
LSN = "0x0000002A000001F00003"


def csv_row(op: int, values: str, mask: str = "0x07", lsn: str = LSN, command: int = 1) -> str:
    return f"{lsn},NULL,0x0000002A000001F00002,{op},{mask},{values},{command}\n"


def found_in(data: bytes, **options: str) -> Read:
    """What is read, alike with kernels and without, and in chunks of any size."""
    source = told(NAME, **{"table": "dbo.T", **options})
    found = read(NAME, data, source)
    with without_kernels():
        assert read(NAME, data, source) == found
    for size in (1, 100):
        with chunk_bytes(size):
            assert read(NAME, data, source) == found
    return found


def found_in_csv(*rows: str, **options: str) -> Read:
    return found_in((HEADER + "".join(rows)).encode(), **options)


def kind_of_position(text: str) -> str | None:
    return next((kind.name for kind in KINDS if kind.value(text) is not None), None)


def images(found: Read) -> list[tuple[Any, Any]]:
    return [(item.before, item.after) for item in found.plain]


STORY = (
    csv_row(2, '1,"a, ""b""\nc",x'), csv_row(3, "1,NULL,x", "0x04"), csv_row(4, "1,NULL,NULL", "0x04"),
    csv_row(1, "1,,x", command=2),
)  # fmt: skip


def test_every_operation() -> None:
    found = found_in_csv(*STORY)
    assert images(found) == [
        (None, {"ID": "1", "BIG": 'a, "b"\nc', "V": "x"}),
        ({"ID": "1", "V": "x"}, {"ID": "1", "V": None}),  # BIG did not change: its NULL is missing
        ({"ID": "1", "V": "x"}, None),
    ]
    lsn = LSN[2:]
    assert [item.pos for item in found.plain] == [f"0000002A:000001F0:0003::{number}" for number in (1, 1, 2)]
    assert {item.tokens["__$start_lsn"] for item in found.plain} == {lsn}
    assert transactions_of(NAME, (HEADER + "".join(STORY)).encode(), told(NAME, table="dbo.T")) == [lsn] * 3
    assert {table.full_name for table, _ in found.operations} == {"dbo.T"}


def test_an_update_is_at_the_place_of_both_rows() -> None:
    found = found_in_csv(*STORY)
    starts = [sum(map(len, (HEADER, *STORY[:number]))) for number in range(5)]
    assert found.places == [(starts[0], starts[1] - 1), (starts[1], starts[3] - 1), (starts[3], starts[4] - 1)]


def test_the_first_column_has_the_lowest_bit_of_the_last_byte() -> None:
    names = [f"C{number}" for number in range(1, 10)]
    old = row(3, dict.fromkeys(names), mask="0x0100")
    new = row(4, dict.fromkeys(names), mask="0x0100")
    assert images(found_in(lines(old, new))) == [({}, {"C9": None})]


def test_the_order_is_by_lsn_and_command() -> None:
    lower = LSN.replace("1F0", "1e0").lower()
    assert (
        found_in_csv(csv_row(2, "1,a,x", lsn=lower), csv_row(2, "2,a,x"), csv_row(2, "3,a,x", command=10)).reasons == []
    )
    assert kind_of_position("0000002A:000001F0:0003::10") == "log sequence numbers of SQL Server"
    reason = "GG308 the row has a lower `__$start_lsn` or `__$command_id` than the row before"
    for rows in (
        (csv_row(2, "1,a,x"), csv_row(2, "2,a,x", lsn=lower)),
        (csv_row(2, "1,a,x", command=2), csv_row(2, "2,a,x")),
    ):
        assert found_in_csv(*rows).reasons == [reason]


@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        ([STORY[1]], ["GG302"]),
        ([STORY[1], STORY[0]], ["GG302"]),
        ([STORY[1], STORY[1], STORY[2]], ["GG302"]),
        ([STORY[1], csv_row(4, "1,NULL,y", "0x04", command=2)], ["GG302"]),
        ([STORY[1], csv_row(4, "1,NULL,y", "0x06")], ["GG308"]),
        ([csv_row(4, "1,NULL,y", "NULL")], ["GG305"]),
        ([csv_row(4, "1,NULL,y", "0x0F")], ["GG308"]),
        ([csv_row(4, "1,NULL,y", "x")], ["GG308"]),
        ([csv_row(5, "1,NULL,y")], ["GG304"]),
        ([csv_row(6, "1,NULL,y")], ["GG304"]),
        ([csv_row(2, "1,y")], ["GG311"]),
        ([csv_row(2, "1,a,x", lsn="0x2A")], ["GG308"]),
        ([csv_row(2, "1,a,x", lsn="NULL")], ["GG308"]),
        ([STORY[0], "-----,----\n", "(3 rows affected)\n"], ["GG311", "GG311"]),
    ],
)
def test_rows_that_are_no_change_are_rejected(rows: list[str], reasons: list[str]) -> None:
    found = found_in_csv(*rows)
    assert [reason[:5] for reason in found.reasons] == reasons


def test_an_update_without_its_old_row_cannot_change_the_key() -> None:
    alone = [csv_row(4, "1,NULL,y", "0x04"), csv_row(4, "2,NULL,y", "0x05")]
    assert images(found_in_csv(*alone)) == [(None, {"ID": "1", "V": "y"}), (None, {"ID": "2", "V": "y"})]
    found = found_in_csv(*alone, primaryKeys="dbo.T=ID")
    assert images(found) == [(None, {"ID": "1", "V": "y"})]
    assert found.reasons == ["GG305 the update changes the key column `ID` without its old row"]


@pytest.mark.parametrize("form", ["hex", "digits", "base64"])
def test_json_lines(form: str) -> None:
    def written(data: str) -> str:
        return {"hex": data, "digits": data[2:].lower(), "base64": base64.b64encode(bytes.fromhex(data[2:])).decode()}[
            form
        ]

    rows = [row(2, {"ID": 1, "V": None, "N": 1.50}), row(3, {"ID": 1, "V": None, "N": 1.50}, "0x02"),
            row(4, {"ID": 1, "V": "x", "N": 1.50}, "0x02")]  # fmt: skip
    for each in rows:
        for name in ("__$start_lsn", "__$seqval", "__$update_mask"):
            each[name] = each[name] and written(each[name])
    found = found_in(lines(*rows))
    assert images(found) == [
        (None, {"ID": "1", "V": None, "N": "1.5"}), ({"ID": "1", "N": "1.5"}, {"ID": "1", "V": "x", "N": "1.5"}),
    ]  # fmt: skip
    assert found.plain[0].pos == "0000002A:000001F0:0003::1"


def parquet_of(rows: list[dict[str, Any]]) -> bytes:
    binary = [
        {n: bytes.fromhex(v[2:]) if isinstance(v, str) and v[:2] == "0x" else v for n, v in r.items()} for r in rows
    ]
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(binary), sink)
    return sink.getvalue()


def test_parquet() -> None:
    rows = [row(2, {"ID": 1, "B": b"\x01"}), row(3, {"ID": 1, "B": None}, "0x01"), row(4, {"ID": 2, "B": None}, "0x01")]
    data = parquet_of(rows)
    found = read(NAME, data, told(NAME, table="dbo.T"))
    assert images(found) == [(None, {"ID": "1", "B": "AQ=="}), ({"ID": "1"}, {"ID": "2"})]
    assert found.places == [(0, 4)] * 2
    for damaged in (data[:-20], data[:4], data[:60] + b"\xff" * 30 + data[90:]):
        assert read(NAME, damaged, told(NAME, table="dbo.T")).reasons


def test_definitions_have_the_types() -> None:
    table = TableDef("dbo.T", (Column("ID", SqlType(Kind.INTEGER), key=1), Column("BIG"), Column("V")))
    found = read(NAME, (HEADER + "".join(STORY)).encode(), told(NAME, table="dbo.T"), trusted={"dbo.T": table})
    assert found.operations[0][0].key_names == ("ID",)


# Commands and files


@pytest.mark.process
def test_rows_of_a_directory_become_the_rows_of_the_table(tmp_path: Path) -> None:
    for name in ("dbo_My_T_CT.csv", "cdc.dbo_My_T_CT.csv"):
        path = tmp_path / name
        path.write_text(HEADER + "".join((*STORY[:3], csv_row(2, "2,b,y", command=3))))
        out = tmp_path / f"{name}.out"
        ggfmt.consolidate(path, output=out, to="json", key="dbo.My_T=ID", master="none")
        rows = [json.loads(line) for file in (out / "dbo.My_T").glob("*.json") for line in file.open()]
        assert rows == [{"ID": "1", "BIG": 'a, "b"\nc', "V": None}, {"ID": "2", "BIG": "b", "V": "y"}]
    path.rename(tmp_path / "part-0.csv")
    (tmp_path / "dbo_T_CT.parquet").write_bytes(parquet_of([row(2, {"ID": 1})]))
    options: dict[str, Any] = {"input_format": NAME, "to": "json", "master": "none"}
    ggfmt.convert(tmp_path / "dbo_T_CT.parquet", output=tmp_path / "parquet", **options)
    with pytest.raises(Abend, match="a Parquet file"):
        ggfmt.convert(tmp_path / "dbo_T_CT.parquet", output=tmp_path / "no", **{**options, "input_format": "json"})
    with pytest.raises(Abend, match=r"GG305.*does not show the table"):
        ggfmt.convert(tmp_path / "part-0.csv", output=tmp_path / "no", to="json", master="none")


def test_files_are_recognized() -> None:
    reader = FORMATS[NAME].read_support.reader
    for head in ((HEADER + STORY[0]).encode(), lines(row(2, {"ID": 1})), b"\xef\xbb\xbf" + HEADER.encode()):
        assert reader.sniff(head) == "columns `__$start_lsn` and `__$operation`"
    for head in (b"a,b\n1,2\n", b'{"__$operation":1}\n', b"", b"PAR1"):
        assert reader.sniff(head) is None


# Damage


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes(seed: int) -> None:
    """Nothing breaks, and what is not in the original is in one record, or there is a problem."""
    choose = random.Random(seed)
    for data in ((HEADER + "".join(STORY)).encode(), lines(row(2, {"ID": 1}), row(3, {"ID": 1}), row(4, {"ID": 2}))):
        source = told(NAME, table="dbo.T")
        whole = images(read(NAME, data, source))
        for _ in range(60):
            damaged = bytearray(data)
            one, two = choose.randrange(len(HEADER), len(data)), choose.randrange(len(HEADER), len(data))
            if choose.random() < 0.5:
                damaged[one] = choose.choice(b'"\n,\\0x3\x00\xff\r{}')
            else:
                damaged[one], damaged[two] = damaged[two], damaged[one]
            found = read(NAME, bytes(damaged), source)
            assert len([image for image in images(found) if image not in whole]) <= 2 or found.reasons
            assert len(found.plain) >= len(whole) or found.reasons
        for place in range(len(HEADER), len(data), 2):
            found = read(NAME, data[:place], source)
            assert images(found) == whole[: len(found.plain)] or found.reasons or place > len(data) - 12
