"""GG309 says what a file probably is, if it has no changes that ggfmt reads."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from places import SHARED_DATA

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
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
        ('{"table":"S.T","op_type":"I","after":{"N":"中国人"}}\n'.encode("gbk"), "a text in GBK", "iconv -f GBK"),
        ('{"table":"S.T","op_type":"I","after":{"N":"Größe"}}\n'.encode("cp1252"), "not in UTF-8", "iconv"),
        (DEBEZIUM.encode("utf-16"), "a text in UTF-16", "iconv -f UTF-16"),
        (DEBEZIUM.encode("utf-16-be"), "a text in UTF-16", "iconv -f UTF-16"),
        (AVRO_OP.encode(), "Avro's own JSON", "plain JSON"),
        (b"id,name\n1,\xd6\xd0\xb9\xfa\n2,Bob\n", "a text in GBK", "iconv -f GBK"),
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
