"""What `inspect` and GG309 say of files, and that the commands that they print work and read what the files have."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import SHARED_DATA
from strategies import examples

from ggfmt.cli import main
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.reading.inspection import FileFacts, inspect_file
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import detect_format
from ggfmt.reading.row_files import find_rows

FILES = SHARED_DATA / "files"
ROWS, PRINTED = "rows of a table without operations", "a table that a program has printed"
# What is said of each file of the collection, besides those of rows.
KINDS = {
    "pg_copy_pipe.txt": "CSV whose rows have different numbers of fields",
    "pg_copy.bin": "a binary COPY file of PostgreSQL",
    **dict.fromkeys(("psql_html.txt", "maria_html.html", "pandas.html"), "an HTML page"),
    **dict.fromkeys(("psql_xml.xml", "doc.xml", "s3_error.xml"), "an XML document without changes"),
    "pg_dump_inserts.sql": "a SQL dump",
    "pg_dump.custom": "an archive of pg_dump",
    **dict.fromkeys(("pg_audit.csv", "pg_audit_noheader.csv", "gg_jq_csv.csv"), "CSV with operations in `op`"),
    **dict.fromkeys(("mysqldump.sql", "mysqldump_rowwise.sql"), "a SQL dump"),
    "create.sql": "a SQL script",
    "sqlite.db": "a SQLite database",
    **dict.fromkeys(("psql_unaligned.txt", "psql_tuples.txt", "maria_vert.txt", "sqlite_box.txt"), PRINTED),
    **dict.fromkeys(
        ("sqlite_line.txt", "sqlite_list.txt", "sqlite_table.txt", "fixed_width.txt", "sqlplus_spool.txt"), PRINTED
    ),
    **dict.fromkeys(("pandas_split.json", "pandas_tablejson.json"), "a whole table in JSON of pandas"),
    "pandas.xlsx": "an Excel workbook",
    "pandas.ods": "an OpenDocument file",
    **dict.fromkeys(("polars.arrow", "v1.feather"), "an Arrow or Feather file"),
    "polars.avro": "changes in the format avro_row_ocf",
    "fastavro.avro": "an Avro container of rows without operations",
    **dict.fromkeys(("gg_jq_pretty.json", "nul_tail.json", "merge_conflict.json"), "changes in the format json"),
    **dict.fromkeys(("c.json.bz2", "c.json.zst", "c_multi.json.gz"), "changes in the format json"),
    **dict.fromkeys(("dbz.json", "dbz_server_http.txt", "dbz_comma_lines.json"), "changes in the format debezium_json"),
    **dict.fromkeys(("kcat_J.json", "kcat_default_eof.txt"), "changes in the format debezium_json"),
    "pg_wal2json_v2.txt": "changes in the format wal2json",
    "dbz_map_tostring.txt": "text of a Java map",
    "dbz_double_encoded.ndjson": "JSON in a JSON text",
    "dbz_utf16.json": "a text in UTF-16",
    "console_sep.txt": "a dump of a topic with another separator than TAB",
    "ksql_print.txt": "output of PRINT in ksqlDB",
    "dynamodb_stream.json": "a stream of DynamoDB",
    "databricks_cdf.csv": "a change data feed of Delta",
    "snowflake_stream.csv": "a stream of Snowflake",
    "singer.jsonl": "output of a Singer tap",
    "logminer.csv": "output of LogMiner",
    "gg_report.rpt": "a report of GoldenGate",
    "ggtrail_like": "a GoldenGate trail file",
    "definitions.def": "a file with table definitions",
    "web_access.log": "a log",
    "app_table_op.ndjson": "JSON of no system that ggfmt knows",
    "yaml.yaml": "YAML",
    "words_one.txt": "a text without records that ggfmt knows",
    **dict.fromkeys(("null.json", "braces.json"), "JSON without a record"),
    "blank.json": "nothing: the file is empty",
    "random.bin": "a binary file",
    "changes.zip": "a ZIP archive",
    "changes.tar.gz": "a tar archive",
    "changes.7z": "a 7-Zip archive",
    "c_gz_noext.json": "a gzip file without the extension `.gz`",
    "c_plain_named.json.gz": "the gzip data is damaged, or followed by other data, or the file only has the name",
    "c.json.gpg": "an encrypted file",
    "c_age.json.b64": "Base64",
    "image.jpg": "an image",
    "doc.pdf": "a PDF document",
    "bson.bin": "BSON of MongoDB",
}
# Kinds that are changes to others than this test: formats of changes that ggfmt may read or not.
_CHANGES = {"pg_test_decoding.txt", "maria_binlog.000002"}


def collection() -> list[Path]:
    return sorted(file for file in FILES.iterdir() if file.name != "INDEX.tsv") if FILES.exists() else []


def inspected(file: Path) -> FileFacts:
    return inspect_file(list_inputs([str(file)])[0])


def kind_of(made: FileFacts) -> str:
    return dict(made.facts)["kind"]


def previewed(command: str, capsys: pytest.CaptureFixture[str]) -> Iterator[dict[str, Any]]:
    """The messages that the command `ggfmt preview` prints."""
    assert main([*shlex.split(command)[1:], "-n", "9", "-q"]) == 0, command
    for line in capsys.readouterr().out.splitlines():
        if line.strip().startswith("{"):
            yield json.loads(line.strip().removesuffix("\\n"))


@pytest.mark.skipif(not FILES.exists(), reason="shared data is not here")
@pytest.mark.parametrize("file", collection(), ids=lambda file: file.name)
def test_each_file_of_the_collection_is_named_and_its_command_works(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = inspected(file)
    if file.name in _CHANGES:
        return
    assert KINDS.get(file.name, ROWS) in kind_of(made)
    facts = dict(made.facts)
    assert (
        made.commands
        or facts.get("next")
        or facts.get("problem")
        or file.name in ("blank.json",)
        or file.suffix == ".gz"
    )
    if not made.commands:
        return
    images: list[Any] = [
        message.get("after") or message.get("before") for message in previewed(made.commands[0], capsys)
    ]
    assert images
    if ROWS in kind_of(made) and len(images) > 2:  # files of the same few rows
        second = list(images[1].values())
        assert (str(second[0]), second[1]) == ("2", "Böb, Jr.")
        assert second[3] == 'say "hi"'
        assert float(second[2]) == 0.1
    if len(images) == 5:
        fourth = list(images[3].values())
        assert fourth[1] == "tab\there" and fourth[3] == "two\nlines" and fourth[4] in (None, "")


@pytest.mark.skipif(not FILES.exists(), reason="shared data is not here")
@pytest.mark.parametrize("file", collection(), ids=lambda file: file.name)
def test_an_error_says_the_same_in_three_lines(file: Path) -> None:
    made = inspected(file)
    try:
        detect_format(list_inputs([str(file)]))
    except GgfmtError as error:
        (diagnostic,) = error.diagnostics
        assert kind_of(made).removeprefix("the input is ") in diagnostic.message or file.name == "words_one.txt"
        assert "\n" not in diagnostic.message + (diagnostic.help or "")
        for command in made.commands[1:]:
            assert command in (diagnostic.help or "")
    else:
        assert kind_of(made).startswith(("changes in", "nothing"))


def test_own_csv_and_json_convert_in_the_command_that_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (
        ("my file.csv", "op_type;changed_at;id;name\nI;2026-01-01 00:00:00;1;a,b\nD;2026-01-02 00:00:00;1;a,b\n"),
        ("rows.jsonl", '{"op":"insert","id":1,"name":"a"}\n{"op":"delete","id":1,"name":"a"}\n'),
    ):
        (tmp_path / name).write_text(text)
        made = inspected(tmp_path / name)
        assert [message["op_type"] for message in previewed(made.commands[0], capsys)] == ["I", "D"]


@given(st.binary(max_size=200) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace")))
@examples(500)
def test_any_bytes_are_looked_at(data: bytes) -> None:
    found = find_rows(data, data)
    assert found is None or found.what


@pytest.mark.parametrize(
    "text",
    [
        "Dear all,\nplease find attached, as agreed, the list.\nRegards,\nAnn\n",
        "import os, sys\nfrom x import (a, b)\nprint(1, 2)\n",
        "[a]\nx=1\ny=2,3\n",
    ],
)
def test_a_text_with_commas_is_no_rows(text: str) -> None:
    assert find_rows(text.encode(), text.encode()) is None


def test_the_command_shows_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,name\n1,Ann\n")
    (tmp_path / "b.csv").write_bytes(b"")
    assert main(["inspect", str(tmp_path), "--max-files", "1"]) == 0
    shown = capsys.readouterr().out
    assert "columns     id (number or time), name (text)" in shown
    assert f"run         ggfmt run {tmp_path}/a.csv --csv --to json -o out" in shown
    assert "1 more files; see `--max-files`" in shown
    assert main(["inspect", str(tmp_path / "none")]) == 2
