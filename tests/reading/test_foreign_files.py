"""GG309 says what a file probably is, if it has no changes that ggfmt reads."""

from __future__ import annotations

import csv
import importlib
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from places import SHARED_DATA

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.formats.plain import PlainCsvOptions
from ggfmt.formats.plain.layout import find_layout
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import detect_format

FILES = SHARED_DATA / "files"
DEBEZIUM = '{"before":null,"after":{"ID":1},"source":{"table":"T","db":"d"},"op":"c","ts_ms":1}'
AVRO_OP = '{"table":"T","op_type":"I","op_ts":"2026-01-01 00:00:00","pos":"1","primary_keys":["ID"],"tokens":{},'
AVRO_OP += '"before":null,"after":{"columns":{"ID":{"string":"1"},"ID_isMissing":false}}}'


def refused(file: Path) -> Diagnostic:
    with pytest.raises(Abend) as raised:
        detect_format(list_inputs([str(file)], False))
    return raised.value.diagnostics[0]


@pytest.mark.parametrize(
    ("content", "words", "help"),
    [
        (f'CreateTime:17\tNO_HEADERS\t{{"ID":1}}\t{DEBEZIUM}\n'.encode(), "a dump with headers", "print.headers"),
        (b'h1:v1,h2:v2\tk1\t{"a":1}\n', "a dump with headers", "print.headers"),
        ('{"table":"S.T","op_type":"I","after":{"N":"中国人"}}\n'.encode("gbk"), "may be in GBK", "iconv -f GBK"),
        ('{"table":"S.T","op_type":"I","after":{"N":"Größe"}}\n'.encode("cp1252"), "not in UTF-8", "iconv"),
        (DEBEZIUM.encode("utf-16"), "a text in UTF-16", "iconv -f UTF-16"),
        (DEBEZIUM.encode("utf-16-be"), "a text in UTF-16", "iconv -f UTF-16"),
        (AVRO_OP.encode(), "Avro's own JSON", "plain JSON"),
        (b"id,name\n1,\xd6\xd0\xb9\xfa\n2,Bob\n", "may be in GBK", "iconv -f GBK"),
        ("id,name\n1,Иван\n2,Пётр\n".encode("cp1251"), "not in UTF-8", "set `encoding` to the charset of the file"),
        ("id,name\n1,山田\n2,鈴木\n".encode("shift_jis"), "not in UTF-8", "set `encoding` to the charset of the file"),
        ('{"table":"Ж","op_type":"новый"}\n'.encode("cp1251"), "not in UTF-8", "iconv -f CHARSET"),
        ("id,name\n1,Ann\n".encode("utf-32"), "a text in UTF-32", "iconv -f UTF-32"),
        ("id,name\n1,Ann\n".encode("utf-32-be"), "a text in UTF-32", "iconv -f UTF-32"),
        ("id,name\n1,Jürgen\n".encode("cp850"), "not in UTF-8", "set `encoding` to the charset of the file"),
        ("id,name\n1,Jürgen\n".encode("mac_roman"), "not in UTF-8", "set `encoding` to the charset of the file"),
        ("id,name\n1,Jürgen\n2,Zoë\n".encode("cp1252"), "CSV: rows", "encoding=windows-1252"),
        ("id,name\n1,Ž… L’été™\n".encode("cp1252"), "CSV: rows", "encoding=windows-1252"),
        (
            "id,name\n1,Jürgen\n".encode() + b"2,J\xfcrgen\n",
            "not in UTF-8",
            "set `encoding` to the charset of the file",
        ),
        (b"1,Ann,C\n2,Bob,D\n", "CSV: rows", "columns=*=c1,c2,c3"),
        (b"1,Ann,I\n2,Bob,D\n", "CSV with operations", "columns=*=c1,c2,op"),
        (b"\x7fELF\2\1\1" + bytes(60), "a binary file", "ggfmt formats"),
        (b"2026-01-01 10:00:00,123 INFO  main - started\n" * 3, "a log", "ggfmt formats"),
        (b'{"_airbyte_ab_id":"a","_airbyte_data":{"id":1}}\n', "output of Airbyte", "jq -c ._airbyte_data"),
        (b'{"type":"LOG","log":{"level":"INFO"}}\n', "messages of Airbyte", ".record.data"),
        (b'{"_id":{"$oid":"65a0"},"name":"Ann"}\n', "an export of MongoDB", "mongoexport --type=csv"),
        (b'{"operationType":"insert","ns":{"db":"a"}}\n', "a change stream of MongoDB", "Debezium"),
        (b'{"data":[{"id":1}]}\n', "JSON of no system", "--as inserts"),
        (b"id,name\n1,Ann\n2,Bob\n", "CSV: rows of a table", "--csv --to json"),
        (b"CREATE TABLE T (ID int);\n", "a SQL script", "--definitions"),
        (b"hello\n", "fits no input format", "--input-config"),
        (b"\x01\x02\xff\xfe\x80" * 20, "a binary file", "ggfmt formats"),
    ],
)
def test_a_file_of_another_kind_is_named(content: bytes, words: str, help: str, tmp_path: Path) -> None:
    file = tmp_path / "in.data"
    file.write_bytes(content)
    found = refused(file)
    assert found.code == "GG309"
    assert words in found.message
    assert help in str(found.help)


def test_utf_32_is_not_read_as_utf_16(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_bytes("id,name\n1,Ann\n".encode("utf-32"))
    problem = find_layout(file.read_bytes(), True, PlainCsvOptions(header="true")).problem
    assert problem is not None and problem.code == "GG303" and "1252" not in str(problem.help)


@pytest.mark.parametrize(("module", "name"), [("parquet", "a.parquet"), ("orc", "a.orc"), ("feather", "a.arrow")])
def test_the_printed_program_makes_rows_of_a_file_of_arrow(module: str, name: str, tmp_path: Path) -> None:
    """The rows have NULL, an empty text and all digits."""
    table = pa.table({"ID": [1, 2], "N": pa.array([Decimal("1.50"), None]), "T": ["", None]})
    library = importlib.import_module(f"pyarrow.{module}")
    write = library.write_feather if module == "feather" else library.write_table
    write(table, str(tmp_path / name))
    program = str(refused(tmp_path / name).help).split('"')[1].replace("FILE", str(tmp_path / name))
    subprocess.run([sys.executable, "-c", program], check=True)
    assert (tmp_path / f"{name}.csv").read_text() == '"ID","N","T"\n1,1.50,""\n2,,\n'


@pytest.mark.skipif(not FILES.is_dir(), reason="the shared data is not here")
def test_most_files_of_other_tools_are_named() -> None:
    with open(FILES / "INDEX.tsv", encoding="utf-8", newline="") as index:
        named = list(csv.DictReader(index, delimiter="\t", quoting=csv.QUOTE_NONE))
    unnamed = []
    for row in named:
        try:
            detect_format(list_inputs([str(FILES / row["file"])], False))
        except Abend as error:
            if error.diagnostics[0].message == "the first record fits no input format":
                unnamed.append(row["file"])
    assert len(named) > 100
    assert len(unnamed) < 20
