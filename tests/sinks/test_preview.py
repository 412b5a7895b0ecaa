"""`ggfmt preview`: the bytes are those of a run, and what is shown of them is all there and harmless."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from contract.shown import templates
from hypothesis import given
from hypothesis import strategies as st
from oracle import json_message
from places import GGFMT, ROOT
from runs import JSON_LINES, MOMENT, PIPES, metadata, operation, output_files, run_ggfmt, write_lines
from strategies import Changes, changes, examples, json_numbers, table_def, texts
from terminal import ESCAPE, on_terminal, unstyled
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.commit.names import safe_name
from ggfmt.config.handler_options import HandlerConfig, HandlerOptions
from ggfmt.config.handlers import read_configuration
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.writing import hex_lines, json_lines, show_text
from ggfmt.formats.avro.confluent import SchemaIds
from ggfmt.formats.avro.containers import read_header, split_blocks
from ggfmt.formats.goldengate.json import JsonOptions
from ggfmt.formats.goldengate.metacolumns import Template
from ggfmt.java.charsets import byte_order_mark
from ggfmt.java.text import visible
from ggfmt.model.selection import TableSelection
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.options.value_types import Bool, Charset, Choice, Int, TableKeys
from ggfmt.reading.runner import InProcess
from ggfmt.reading.splits import Window
from ggfmt.render.diagnostics import plain
from ggfmt.render.preview import _highlighted, preview_text
from ggfmt.sinks.messages.run import RunSettings, execute
from ggfmt.sinks.preview import DefinitionRecord, Message, Preview, PreviewSettings, ShownFields, TablePreview, preview

SAMPLE = ROOT / "samples" / "tcustord.json"
WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None and format.options.of_goldengate]
OTHERS = [name for name, format in FORMATS.items() if format.writes is not None and name not in WRITTEN]
ALL = 10**6


def first(inputs: Sequence[Path], *settings: str, count: int = 5, **others: Any) -> Preview:
    """A preview of all handlers that `settings` configure."""
    configuration = read_configuration([], settings or (*JSON_LINES, *PIPES))
    return preview(
        PreviewSettings(
            inputs=[str(path) for path in inputs],
            handlers=configuration.handlers,
            count=count,
            run_options=configuration.run,
            replacements=configuration.replacements,
            **{"current_timestamp": MOMENT, **others},
        )
    )


def messages(table: TablePreview) -> list[Message]:
    return [item for item in table.items if isinstance(item, Message)]


def rejects(table: TablePreview) -> list[str]:
    return [str(item) for item in table.items if isinstance(item, Diagnostic)]


def fields(table: TablePreview) -> list[ShownFields]:
    return [item for item in table.items if isinstance(item, ShownFields)]


def previewed(found: Preview, handler: str) -> dict[str, bytes]:
    """For each table the bytes of its messages, and of what precedes those of a definition."""
    (of_handler,) = (item for item in found.handlers if item.handler == handler)
    whole = {
        safe_name(table.table): b"".join(
            item.data for item in table.items if isinstance(item, Message | DefinitionRecord)
        )
        for table in of_handler.tables
    }
    return {table: data for table, data in whole.items() if data}


def written(output: Path, handler: str, mark: bytes = b"") -> dict[str, bytes]:
    """For each table the messages in the files of a run, without what surrounds them in a file."""
    found: dict[str, bytes] = {}
    for path in output_files(output, handler):
        data = path.read_bytes()
        if data.startswith(b"Obj\x01"):
            data = b"".join(
                block for _, _, _, block in split_blocks(data, read_header(data), 1 << 30) if isinstance(block, bytes)
            )
        found[path.parent.name] = found.get(path.parent.name, b"") + data.removeprefix(mark)
    return {table: data for table, data in found.items() if data}


def command(*arguments: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GGFMT, "preview", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **variables},
        timeout=60,
    )


def as_settings(lines: Sequence[str]) -> list[str]:
    """The lines as settings on a command line."""
    return [word for line in lines for word in ("--set", line)]


DELIMITED = """\
Handler text, format delimitedtext, table GG.TCUSTMER: 4 operations in the input
Fields
   1: Operation type
   2: Table name
   3: Operation timestamp
   4: Current timestamp
   5: Position
   6: Tokens
   7: Column CUST_CODE
   8: Column NAME
   9: Column CITY
  10: Column STATE

Message 1: insert, position 00000000000000004668
  I|GG.TCUSTMER|2013-06-02 22:15:02.000000|2015-09-18T13:39:35.447000|00000000000000004668|\
L=206080463,6=9.0.80331,R=AADPkuAAEAAEqLNAAA|BILL|BILL'S USED CARS|DENVER|CO\\n
   1  Operation type       I
   2  Table name           GG.TCUSTMER
   3  Operation timestamp  2013-06-02 22:15:02.000000
   4  Current timestamp    2015-09-18T13:39:35.447000
   5  Position             00000000000000004668
   6  Tokens               L=206080463,6=9.0.80331,R=AADPkuAAEAAEqLNAAA
   7  Column CUST_CODE     BILL
   8  Column NAME          BILL'S USED CARS
   9  Column CITY          DENVER
  10  Column STATE         CO

Message 2: update, position 00000000000000005013
  U|GG.TCUSTMER|2013-06-02 22:15:02.000000|2015-09-18T13:39:35.447000|00000000000000005013|\
R=AADPkuAAEAAEqLNAAA|BILL|BILL'S USED CARS|DENVER|NULL\\n
   1  Operation type       U
   2  Table name           GG.TCUSTMER
   3  Operation timestamp  2013-06-02 22:15:02.000000
   4  Current timestamp    2015-09-18T13:39:35.447000
   5  Position             00000000000000005013
   6  Tokens               R=AADPkuAAEAAEqLNAAA
   7  Column CUST_CODE     BILL
   8  Column NAME          BILL'S USED CARS
   9  Column CITY          DENVER
  10  Column STATE         NULL  (NULL)
"""
JSON = """\
Handler json, format json, table GG.TCUSTMER: 4 operations in the input
Fields
   1: table
   2: op_type
   3: op_ts
   4: current_ts
   5: pos
   6: tokens
   7: before and after: CUST_CODE (string)
   8: before and after: NAME (string)
   9: before and after: CITY (string)
  10: before and after: STATE (string)

Message 1: insert, position 00000000000000004668
  {"table":"GG.TCUSTMER","op_type":"I","op_ts":"2013-06-02 22:15:02.000000",\
"current_ts":"2015-09-18T13:39:35.447000","pos":"00000000000000004668",\
"tokens":{"L":"206080463","6":"9.0.80331","R":"AADPkuAAEAAEqLNAAA"},\
"after":{"CUST_CODE":"BILL","NAME":"BILL'S USED CARS","CITY":"DENVER","STATE":"CO"}}\\n

Message 2: update, position 00000000000000005013
  {"table":"GG.TCUSTMER","op_type":"U","op_ts":"2013-06-02 22:15:02.000000",\
"current_ts":"2015-09-18T13:39:35.447000","pos":"00000000000000005013",\
"tokens":{"R":"AADPkuAAEAAEqLNAAA"},\
"before":{"CUST_CODE":"BILL","NAME":"BILL'S USED CARS","CITY":"DENVER","STATE":"CO"},\
"after":{"CUST_CODE":"BILL","NAME":"BILL'S USED CARS","CITY":"DENVER","STATE":null}}\\n
"""
AVRO_ROW = """\
Handler avrorow, format avro_row, table GG.TCUSTMER: 4 operations in the input
Fields
   1: table
   2: op_type
   3: op_ts
   4: current_ts
   5: pos
   6: primary_keys
   7: tokens
   8: CUST_CODE (string)
   9: NAME (string)
  10: CITY (string)
  11: STATE (string)

Message 1: insert, position 00000000000000004668
  00000000  16 47 47 2e 54 43 55 53 54 4d 45 52 02 49 34 32  .GG.TCUSTMER.I42
  00000010  30 31 33 2d 30 36 2d 30 32 20 32 32 3a 31 35 3a  013-06-02 22:15:
  00000020  30 32 2e 30 30 30 30 30 30 34 32 30 31 35 2d 30  02.00000042015-0
  00000030  39 2d 31 38 54 31 33 3a 33 39 3a 33 35 2e 34 34  9-18T13:39:35.44
  00000040  37 30 30 30 28 30 30 30 30 30 30 30 30 30 30 30  7000(00000000000
  00000050  30 30 30 30 30 34 36 36 38 02 12 43 55 53 54 5f  000004668..CUST_
  00000060  43 4f 44 45 00 06 02 4c 12 32 30 36 30 38 30 34  CODE...L.2060804
  00000070  36 33 02 36 12 39 2e 30 2e 38 30 33 33 31 02 52  63.6.9.0.80331.R
  ... 56 more bytes
  {
    "table": "GG.TCUSTMER",
    "op_type": "I",
    "op_ts": "2013-06-02 22:15:02.000000",
    "current_ts": "2015-09-18T13:39:35.447000",
    "pos": "00000000000000004668",
    "primary_keys": ["CUST_CODE"],
    "tokens": {"L": "206080463", "6": "9.0.80331", "R": "AADPkuAAEAAEqLNAAA"},
    "CUST_CODE": "BILL",
    "NAME": "BILL'S USED CARS",
    "CITY": "DENVER",
    "STATE": "CO"
  }
"""


@pytest.mark.parametrize(
    ("name", "count", "text"),
    [("delimitedtext", 2, DELIMITED), ("json", 2, JSON), ("avro_row", 1, AVRO_ROW)],
)
def test_the_sample_in_plain_text(name: str, count: int, text: str) -> None:
    done = command(
        *("samples/tcustord.json", "-c", f"conf/{name}.properties", "--definitions", "samples/TCUSTORD.def"),
        *("-n", f"{count}", "--table", "TcustMer", "--current-timestamp", "2015-09-18T13:39:35.447000"),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, text, "")


@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_shows_the_sample_as_a_run_writes_it(name: str, tmp_path: Path) -> None:
    configured = read_configuration([str(ROOT / "conf" / f"{name}.properties")]).handlers
    directory = {"schema_directory": str(tmp_path / "dirdef")}
    (handler,) = (
        replace(config, options=replace(config.options, **directory))
        if hasattr(config.options, "schema_directory")
        else config
        for config in configured
    )
    execute(
        RunSettings(inputs=[str(SAMPLE)], handlers=[handler], output=str(tmp_path), current_timestamp=MOMENT), InProcess
    )
    found = preview(PreviewSettings(inputs=[str(SAMPLE)], handlers=[handler], count=ALL, current_timestamp=MOMENT))
    assert found.whole and not found.rejected
    assert previewed(found, handler.name) == written(tmp_path, handler.name)
    assert [table.table for table in found.handlers[0].tables] == ["GG.TCUSTORD", "GG.TCUSTMER", "GG.ARTIKEL"]
    text = preview_text(found)
    assert "PRODUCT_PRICE" in text and "Kühlschrank" in text
    two = preview(PreviewSettings(inputs=[str(SAMPLE)], handlers=[handler], count=2, current_timestamp=MOMENT))
    whole = previewed(found, handler.name)
    for table, data in previewed(two, handler.name).items():
        assert data and data != whole[table]
        assert whole[table].startswith(data)


@pytest.mark.parametrize("name", OTHERS)
def test_formats_of_other_systems_are_shown_as_a_run_writes_them(name: str, tmp_path: Path) -> None:
    texts = [f"gg.handler.h.format={name}", "ggfmt.compatibility=12.2", "gg.handler.h.includeTokens=true"]
    texts += ["gg.handler.h.format.includeHeader=true"] * ("include_header" in vars(FORMATS[name].options()))
    handlers = read_configuration([], texts).handlers
    settings = RunSettings(
        inputs=[str(SAMPLE)], handlers=handlers, output=str(tmp_path), current_timestamp=MOMENT, quarantine=True
    )
    rejects = execute(settings, InProcess).totals.handlers[handlers[0].name].rejected
    found = preview(PreviewSettings(inputs=[str(SAMPLE)], handlers=handlers, count=ALL, current_timestamp=MOMENT))
    expected = written(tmp_path, handlers[0].name)
    if name == "arcion_csv":  # every file starts with the names of its fields
        kept = {
            table: [line for line in data.splitlines(True) if b"_VAL," not in line] for table, data in expected.items()
        }
        expected = {table: b"".join(lines) for table, lines in kept.items()}
    assert previewed(found, handlers[0].name) == expected
    assert found.rejected is bool(rejects)
    assert "Kühlschrank" in preview_text(found) or name in ("dts_avro", "qlik_avro")


def test_a_container_tells_its_codec_and_schema_once() -> None:
    done = command("samples/tcustord.json", "-c", "conf/avro_op_ocf.properties", "--table", "TCUSTMER", "-n", "2")
    assert done.stdout.count("  object container files, codec snappy, schema GG.TCUSTMER\n") == 1
    assert "00000000  " not in done.stdout
    assert done.stdout.count('"STATE_isMissing": false') == 3


def drawn_options(data: st.DataObject, name: str, folder: str) -> Any:
    """Options of a format, any value for each."""
    values: dict[str, Any] = {}
    for spec in FORMATS[name].options.specs():
        kind = spec.kind
        if isinstance(kind, Bool):
            values[spec.attr] = data.draw(st.booleans(), spec.attr)
        elif isinstance(kind, Choice):
            values[spec.attr] = data.draw(st.sampled_from(sorted(kind.words)), spec.attr)
        elif isinstance(kind, Charset):
            values[spec.attr] = data.draw(
                st.sampled_from(["UTF-8", "ISO-8859-1", "UTF-16", "UTF-16LE", "ISO-2022-JP", "IBM1047", "x-IBM930"]),
                spec.attr,
            )
        elif isinstance(kind, Template):
            values[spec.attr] = data.draw(st.one_of(st.none(), templates(True).map(kind.parse)), spec.attr)
        elif isinstance(kind, Int):
            high = kind.low + 40 if kind.high is None else kind.high
            values[spec.attr] = data.draw(st.one_of(st.just(spec.default), st.integers(kind.low, high)), spec.attr)
        elif isinstance(kind, (TableKeys, SchemaIds)):
            values[spec.attr] = ()
        elif spec.attr == "schema_registry":
            values[spec.attr] = ""
        elif spec.attr == "schema_directory":
            values[spec.attr] = folder
        else:
            values[spec.attr] = data.draw(st.one_of(st.just(spec.default), texts), spec.attr)
    return FORMATS[name].options(**values)


def as_input(made: Changes) -> bytes:
    options = {"insert_op_key": "I", "update_op_key": "U", "delete_op_key": "D", "truncate_op_key": "T"}
    defaults = {**{spec.attr: spec.default for spec in JsonOptions.specs()}, **options, "json_delimiter": "\n"}
    defaults["include_primary_keys"] = True
    return "".join(json_message(made.table, item, defaults, True, "now") for item in made.operations).encode()


@examples(25)
@given(
    data=st.data(),
    made=changes(number=json_numbers, least=1),
    defined=st.booleans(),
    tokens=st.booleans(),
    codec=st.sampled_from(["null", "deflate", "snappy"]),
    count=st.integers(1, 4),
)
@pytest.mark.parametrize("name", WRITTEN)
def test_bytes_are_those_of_a_run(
    name: str, data: st.DataObject, made: Changes, defined: bool, tokens: bool, codec: str, count: int
) -> None:
    with TemporaryDirectory() as folder:
        source = Path(folder) / "in.json"
        source.write_bytes(as_input(made))
        options = drawn_options(data, name, f"{folder}/dirdef")
        own = HandlerOptions(include_tokens=tokens, compression_codec=codec)
        handler = HandlerConfig("h", name, options, own, timestamp_mask="yyyy-MM-dd HH:mm:ss.SSSSSS")
        definitions = {made.table.name: table_def(made.table)} if defined else {}
        shared: Any = {"input_format": "json", "definitions": definitions, "current_timestamp": MOMENT}
        wanted = PreviewSettings(inputs=[str(source)], handlers=[handler], count=ALL, **shared)
        found = preview(wanted)
        result = execute(
            RunSettings(inputs=[str(source)], handlers=[handler], output=f"{folder}/out", quarantine=True, **shared),
            InProcess,
        )
        if getattr(options, "enable_field_descriptor_headers", False):
            return  # what precedes the messages of a file has its own test
        mark = byte_order_mark(getattr(options, "encoding", "UTF-8")) if not name.startswith("avro") else b""
        expected = written(Path(folder) / "out", "h", mark)
        assert previewed(found, "h") == expected
        assert found.rejected == bool(result.totals.rejects)
        part = preview(replace(wanted, count=count))
        (table,) = part.handlers[0].tables
        whole = messages(found.handlers[0].tables[0])
        assert [item.data for item in messages(table)] == [item.data for item in whole][:count]
        assert not found.rejected or part.rejected or len(whole) > count or len(messages(table)) == count
        text = preview_text(part)
        assert all(line.isprintable() for line in text.split("\n"))


def settings(name: str, *more: str) -> list[str]:
    return [f"gg.handler.h.format={name}", "ggfmt.compatibility=12.2", *(f"gg.handler.h.{item}" for item in more)]


BESIDE = [operation(number, "GG.OTHER") for number in range(3)]


def test_an_operation_that_cannot_be_written_is_told_in_its_place(tmp_path: Path) -> None:
    records = [operation(0), operation(1, AMOUNT="much"), operation(2), *BESIDE, operation(3)]
    source = write_lines(tmp_path / "in.json", records)
    columns = (Column("ID", key=1), Column("NAME"), Column("AMOUNT", SqlType(Kind.DECIMAL)))
    definitions = {name: TableDef(name, columns) for name in ("GG.TCUSTORD", "GG.OTHER")}
    found = first([source], *settings("json"), count=2, definitions=definitions)
    table, other = found.handlers[0].tables
    assert [type(item).__name__ for item in table.items] == ["ShownFields", "Message", "Diagnostic", "Message"]
    offset = len(json.dumps(records[0])) + 1
    assert rejects(table) == [
        f"{source}, byte {offset}, table GG.TCUSTORD, column AMOUNT, position 00000000000000000001: error[GG401] "
        "the column is defined as decimal, but the value is not a number; correct the type of the "
        "column with `--definitions`, or set `treatAllColumnsAsStrings`"
    ]
    assert table.operations == 4
    assert rejects(other) == []
    assert found.rejected
    assert preview_text(found).count("error[GG401]") == 1


def test_records_that_cannot_be_read_are_told_and_counted(tmp_path: Path) -> None:
    bad = {**operation(9), "before": {"ID": "1"}}
    records: list[Any] = [operation(0), b"NOT JSON", bad, operation(1), *[b"{]"] * 5, *[bad] * 6]
    source = write_lines(tmp_path / "in.json", records)
    done = command(str(source), *as_settings((*JSON_LINES, "ggfmt.compatibility=12.2")), cwd=tmp_path)
    assert done.returncode == 4
    assert done.stderr == ""
    told = [line for line in done.stdout.splitlines() if "error[" in line or "more record" in line]
    assert [re.sub(r".*(error\[GG[0-9]+\] [^:]*).*", r"\1", line) for line in told] == [
        *["error[GG307] an insert has a before image"] * 3,
        "... and 4 more records with such errors",
        *["error[GG301] the record is not JSON"] * 3,
        "... and 3 more records with such errors",
    ]
    assert "\nUnreadable records of other tables\n" in done.stdout
    text = done.stdout
    assert text.index("Message 1") < text.index("GG307") < text.index("Message 2")


def test_what_no_handler_can_write_does_not_take_long(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number, "GG.1") for number in range(20_000)])
    started = time.perf_counter()
    found = first([source], *settings("avro_row"))
    assert time.perf_counter() - started < 5
    (table,) = found.handlers[0].tables
    assert messages(table) == []
    assert len(rejects(table)) == 3
    assert 1000 <= table.more_rejects + 3 < table.operations
    assert "`1`, the name of a part of the table's name, is not a legal Avro name" in rejects(table)[0]


def test_a_table_is_chosen_in_full_or_by_its_last_part(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0), operation(1, "S.A"), operation(2, "T.A"), b"NOT JSON"])
    for wanted, tables in {"a": ["S.A", "T.A"], "s.a": ["S.A"], "TCUSTORD": ["GG.TCUSTORD"]}.items():
        found = first([source], selection=TableSelection((wanted,)))
        assert [[table.table for table in handler.tables] for handler in found.handlers] == [tables, tables]
    good = write_lines(tmp_path / "good.json", [operation(0), operation(1, "S.A")])
    with pytest.raises(UsageError) as caught:
        first([good], selection=TableSelection(("TCUSTORDER",)))
    assert str(caught.value) == (
        "error[GG315] `--table` names `TCUSTORDER`, but no table in the data matches; "
        "tables in the data are `GG.TCUSTORD`, `S.A`; did you mean `TCUSTORD`?"
    )
    many = write_lines(tmp_path / "many.json", [operation(number, f"S.T{number}") for number in range(12)])
    done = command(
        str(many),
        "--set",
        "gg.handler.h.format=json",
        "--set",
        "ggfmt.compatibility=12.2",
        "--table",
        "X",
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error[GG315] `--table` names `X`, but no table in the data matches\n"
        "  help: tables in the data are `S.T0`, `S.T1`, `S.T2`, `S.T3`, `S.T4`, `S.T5`, `S.T6`, `S.T7`, `S.T8`, `S.T9` "
        "and 2 more\n"
        "page: ggfmt docs input\n"
    )


LATER = "the definitions come from the part that was read; a run reads all data, and may find other definitions"


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """6 MB: mostly one table, another one from 3 MB on, and at the end what is no JSON."""
    records: list[Any] = [operation(number) for number in range(30_000)]
    records[15_000:15_000] = [operation(number, "GG.RARE") for number in range(3)]
    return write_lines(tmp_path_factory.mktemp("big") / "big.json", [*records, *[b"NOT JSON"] * 1000])


def read_of(path: Path, monkeypatch: pytest.MonkeyPatch, **others: Any) -> tuple[Preview, int]:
    """A preview, and how far into the input it read."""
    made: list[Window] = []

    def make(*arguments: Any) -> Window:
        made.append(Window(*arguments))
        return made[-1]

    monkeypatch.setattr("ggfmt.reading.scan.Window", make)
    found = first([path], *JSON_LINES, **others)
    (only,) = made
    return found, only.used


def test_only_the_beginning_is_read(big: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, read = read_of(big, monkeypatch)
    assert read == 64 << 10
    assert (found.rejected, found.whole) == (False, False)
    (table,) = found.handlers[0].tables
    assert len(messages(table)) == 5
    found, read = read_of(big, monkeypatch, count=3000)
    assert read == 1 << 20
    assert len(messages(found.handlers[0].tables[0])) == 3000
    found, read = read_of(big, monkeypatch, count=ALL)
    assert read == 1 << 20
    assert 3000 < len(messages(found.handlers[0].tables[0])) < 10_000


def test_for_a_table_it_is_read_as_far_as_need_be(big: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, read = read_of(big, monkeypatch, selection=TableSelection(("RARE",)), count=3)
    (table,) = found.handlers[0].tables
    assert [item.position for item in messages(table)] == [f"{number:020d}" for number in range(3)]
    assert read == 4 << 20
    assert not found.rejected
    found, read = read_of(big, monkeypatch, selection=TableSelection(("RARE",)))
    assert (read, found.whole) == (big.stat().st_size, True)
    assert found.more_strays == 997


def test_it_is_told_once_that_a_run_may_find_other_definitions(big: Path) -> None:
    done = command(str(big), "--set", "gg.handler.h.format=json", "--set", "ggfmt.compatibility=12.2")
    assert done.returncode == 0
    assert done.stderr.count(LATER) == 1
    assert len(done.stderr.splitlines()) == 1
    assert " operations in the part that was read\n" in done.stdout
    assert command("samples/tcustord.json", "-c", "conf/json.properties").stderr == ""


def test_definitions_are_those_of_all_that_is_read(tmp_path: Path) -> None:
    records = [operation(number) for number in range(1000)]
    records[900] = operation(900, AMOUNT="a text", MORE="x")
    source = write_lines(tmp_path / "in.json", records)
    assert (
        fields(first([source], *JSON_LINES).handlers[0].tables[0])[0].names[-1] == "before and after: AMOUNT (number)"
    )
    (table,) = first([source], *JSON_LINES, count=950).handlers[0].tables
    assert fields(table)[0].names[-2:] == ("before and after: AMOUNT (string)", "before and after: MORE (string)")
    assert b'"AMOUNT":"0"' in messages(table)[0].data


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_directories_and_globs(ending: str, pack: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_lines(folder / "1.json", [operation(0)])
    (folder / f"2.json{ending}").write_bytes(
        pack(write_lines(tmp_path / "x", [operation(1), operation(2)]).read_bytes())
    )
    (folder / "3.json").write_bytes(b"")
    run_ggfmt([folder], tmp_path / "out")
    for inputs in (folder, folder / "*.json*"):
        found = first([inputs])
        assert found.whole
        for name in ("j", "d"):
            assert previewed(found, name) == written(tmp_path / "out", name)


@pytest.mark.parametrize("name", WRITTEN)
def test_any_format_can_be_previewed_as_any_other(name: str, tmp_path: Path) -> None:
    lines = settings(name, "includeTokens=true")
    if hasattr(FORMATS[name].options, "schema_directory"):
        lines.append(f"gg.handler.h.format.schemaDirectory={tmp_path / 'dirdef'}")
    definitions = {"GG.TCUSTORD": TableDef("GG.TCUSTORD", (Column("ID", key=1), Column("NAME"), Column("AMOUNT")))}
    records = [{**operation(number), "tokens": {"R": "x"}} for number in range(50)]
    run_ggfmt([write_lines(tmp_path / "in.json", records)], tmp_path / "one", *lines, definitions=definitions)
    config = tmp_path / "in.properties"
    config.write_text("gg.handlerlist=h\n" + "".join(line.replace("\\", "\\\\") + "\n" for line in lines))
    schema = tmp_path / "t.schema.json"
    run_ggfmt([SAMPLE], tmp_path / "two", *settings("json", f"format.schemaDirectory={tmp_path}"))
    (tmp_path / "GG.TCUSTORD.schema.json").rename(schema)
    document = json.loads(schema.read_text())
    document["definitions"]["row"]["properties"] = {
        column: {"type": ["string", "null"]} for column in definitions["GG.TCUSTORD"].column_names
    }
    schema.write_text(json.dumps(document))
    done = command(
        *(str(tmp_path / "one" / "h"), "--input-config", str(config), "--definitions", str(schema), "-n", "1"),
        *("--set", "gg.handler.d.format=delimitedtext", "--set", "gg.handler.d.format.fieldDelimiter=|"),
        *("--set", "gg.handler.d.format.includeCurrentTimestamp=false", "--set", "gg.handler.d.includeTokens=true"),
    )
    assert done.returncode == 0, done.stderr
    assert "  I|GG.TCUSTORD|2013-06-02 22:14:36.000000|00000000000000000000|R=x|0|name 0|0\\n\n" in done.stdout


def test_names_and_values_are_replaced(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0), operation(1, "GG.OTHER")])
    lines = [*PIPES, "gg.schemareplaceregex=TCUST", "gg.schemareplacestring=KUND"]
    lines += ["gg.contentreplaceregex=name", "gg.contentreplacestring=Name"]
    run_ggfmt([source], tmp_path / "out", *lines)
    found = first([source], *lines)
    assert previewed(found, "d") == written(tmp_path / "out", "d")
    assert [table.table for table in found.handlers[0].tables] == ["GG.KUNDORD", "GG.OTHER"]
    assert b"|Name 0|" in messages(found.handlers[0].tables[0])[0].data
    for wanted in map(TableSelection, [("TCUSTORD",), ("KUNDORD",)]):
        assert [table.table for table in first([source], *lines, selection=wanted).handlers[0].tables] == ["GG.KUNDORD"]
    with pytest.raises(Abend) as caught:
        first([source], *PIPES, "gg.schemareplaceregex=TCUSTORD|OTHER", "gg.schemareplacestring=X")
    assert "the tables `GG.TCUSTORD` and `GG.OTHER` both become `GG.X`" in str(caught.value)
    found = first([source], *PIPES, "gg.schemareplaceregex=TCUSTORD", "gg.schemareplacestring=")
    assert [table.table for table in found.handlers[0].tables] == ["GG.TCUSTORD", "GG.OTHER"]
    assert "which has an empty part" in rejects(found.handlers[0].tables[0])[0]
    assert len(messages(found.handlers[0].tables[1])) == 1


@pytest.mark.parametrize("defined", [False, True])
def test_a_metadata_change_takes_effect_in_its_place(defined: bool, tmp_path: Path) -> None:
    records = [
        operation(0),
        metadata(ID="string", NAME="string", AMOUNT="number", ADDED="string"),
        operation(1, ADDED="x"),
        operation(2, "GG.OTHER"),
        {**operation(3), "after": {"ID": "3"}},
    ]
    source = write_lines(tmp_path / "in.json", records)
    definitions = {"GG.OTHER": TableDef("GG.OTHER", (Column("ID"), Column("NAME"), Column("AMOUNT")))}
    others: Mapping[str, Any] = {"definitions": definitions} if defined else {}
    run_ggfmt([source], tmp_path / "out", **others)
    found = first([source], **others)
    for name in ("j", "d"):
        assert previewed(found, name) == written(tmp_path / "out", name)
    table = found.handlers[1].tables[0]
    assert [type(item).__name__ for item in table.items] == [
        "ShownFields",
        "Message",
        "ShownFields",
        "Message",
        "Message",
    ]
    assert fields(table)[1].names == (*fields(table)[0].names, "Column ADDED")
    assert "\nThe definition of the table changes here\nFields\n" in preview_text(found)
    assert len(fields(first([source], count=1, **others).handlers[1].tables[0])) == 1


@pytest.mark.parametrize("name", [name for name in WRITTEN if "pk_update_handling" in vars(FORMATS[name].options())])
def test_primary_key_updates(name: str, tmp_path: Path) -> None:
    change = operation(1, kind="U")
    change["before"] = {**change["before"], "ID": "old"}
    source = write_lines(tmp_path / "in.json", [operation(0), change, operation(2)])
    columns = (Column("ID", key=1), Column("NAME"), Column("AMOUNT"))
    definitions = {"GG.TCUSTORD": TableDef("GG.TCUSTORD", columns)}
    (table,) = first([source], *settings(name), definitions=definitions).handlers[0].tables
    assert [type(item).__name__ for item in table.items] == ["ShownFields", "Message", "Diagnostic", "Message"]
    assert "error[GG402] an update changes the primary key" in rejects(table)[0]
    lines = settings(name, "format.pkUpdateHandling=delete-insert")
    if name != "delimitedtext":
        lines.append("gg.handler.h.format.generateSchema=false")
    run_ggfmt([source], tmp_path / "out", *lines, definitions=definitions)
    found = first([source], *lines, definitions=definitions)
    assert previewed(found, "h") == written(tmp_path / "out", "h")
    (table,) = found.handlers[0].tables
    assert [(item.kind, item.of_key_update) for item in messages(table)] == [
        ("insert", False),
        ("delete", True),
        ("insert", True),
        ("insert", False),
    ]
    assert "Message 2: delete, position 00000000000000000001, from a primary key update\n" in preview_text(found)
    assert len(messages(first([source], *lines, definitions=definitions, count=2).handlers[0].tables[0])) == 2


def lines_of(found: Preview, heading: str) -> list[str]:
    """The lines below the heading of a message."""
    return preview_text(found).partition(f"{heading}\n")[2].partition("\n\n")[0].splitlines()


def test_null_missing_and_empty_are_told_apart_where_the_text_tells_them(tmp_path: Path) -> None:
    record = {**operation(0), "after": {"A": None, "B": "", "C": "NULL", "D": "x", "E": "y"}}
    shorter = {**operation(1), "after": {"A": "1", "B": "2", "C": "3", "E": "5"}}
    source = write_lines(tmp_path / "in.json", [record, shorter])
    bare = [f"format.include{part}=false" for part in ("OpTimestamp", "CurrentTimestamp", "Position", "TableName")]
    lines = settings("delimitedtext", "format.fieldDelimiter=|", *bare)
    found = first([source], *lines)
    assert lines_of(found, "Message 1: insert, position 00000000000000000000") == [
        "  I|NULL||NULL|x|y\\n",
        "  1  Operation type  I",
        "  2  Column A        NULL  (NULL)",
        "  3  Column B        (empty or missing)",
        "  4  Column C        NULL  (NULL)",
        "  5  Column D        x",
        "  6  Column E        y",
    ]
    told = first(
        [source], *lines, "gg.handler.h.format.missingValueRepresentation=-", "gg.handler.h.format=delimitedtext"
    )
    assert lines_of(told, "Message 1: insert, position 00000000000000000000")[3] == "  3  Column B        (empty)"
    assert lines_of(told, "Message 2: insert, position 00000000000000000001")[5] == "  5  Column D        -  (missing)"


def test_column_names_among_the_fields(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [{**operation(0), "after": {"A": None, "B": "NULL"}}])
    bare = [f"format.include{part}=false" for part in ("OpTimestamp", "CurrentTimestamp", "Position", "TableName")]
    more = (
        "format.includeColumnNames=true",
        "format.nullValueRepresentation=A",
        "format.fieldDelimiter=CDATA[\\u0001]",
    )
    found = first([source], *settings("delimitedtext", *bare, *more))
    assert lines_of(found, "Message 1: insert, position 00000000000000000000") == [
        "  I\\u0001A\\u0001A\\u0001B\\u0001NULL\\n",
        "  1  Operation type    I",
        "  2  Name of column A  A",
        "  3  Column A          A  (NULL)",
        "  4  Name of column B  B",
        "  5  Column B          NULL",
    ]


def test_a_delimiter_inside_of_a_value_is_warned_of(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, NAME="a|b\nc")])
    arguments = as_settings((*PIPES, "ggfmt.compatibility=12.2"))
    done = command(str(source), *arguments, cwd=tmp_path)
    assert done.returncode == 0
    assert "  warning: a reader finds 9 fields, but 8 were written\n" in done.stdout
    assert "  warning: a reader finds 2 lines, but one was written\n" in done.stdout
    assert "\n  9  (no name)            0\n" in done.stdout
    told = [line.partition(" WARN  ")[2] for line in done.stderr.splitlines()]
    assert told == [
        "[GG403] handler d, table GG.TCUSTORD, column NAME: 1 value with the field delimiter inside, "
        "which will be read back wrong",
        "[GG403] handler d, table GG.TCUSTORD, column NAME: 1 value with the line delimiter inside, "
        "which will be read back wrong",
    ]


def test_characters_are_shown_as_the_encoding_makes_them(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, NAME="Ä表😀")])
    lines = settings("delimitedtext", "format.fieldDelimiter=|", "format.encoding=ISO-8859-1")
    found = first([source], *lines)
    (message,) = messages(found.handlers[0].tables[0])
    assert message.data.endswith("|Ä??|0\n".encode("latin-1"))
    assert "  encoding ISO-8859-1\n" in preview_text(found)
    assert "Column NAME          Ä??\n" in preview_text(found)
    arguments = as_settings(lines)
    assert "2 characters that the encoding does not have became `?`" in command(str(source), *arguments).stderr
    marked = first([source], *settings("delimitedtext", "format.fieldDelimiter=|", "format.encoding=UTF-16"))
    assert "  encoding UTF-16\n  each file starts with the byte order mark fe ff\n" in preview_text(marked)
    assert "Column NAME          Ä表😀\n" in preview_text(marked)


def test_a_wrapped_message_shows_its_payload(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0)])
    lines = settings("avro_op", "format.wrapMessageInGenericAvroMessage=true", "format.lineDelimiter=CDATA[\\r\\n]")
    found = first([source], *lines)
    shown = lines_of(found, "Message 1: insert, position 00000000000000000000")
    start = shown.index("  {")
    assert shown[start + 1] == '    "table_name": "GG.TCUSTORD",'
    assert shown[start + 2].startswith('    "schema_hash": ')
    assert shown[start + 3 : start + 6] == ['    "payload": "116 bytes, with this content:"', "  }", "  {"]
    assert '    "before": null,' in shown
    assert shown[-1] == "  line delimiter \\r\\n"


NASTY = "\x1b]0;title\x07\x1b[31m\u202etxet\u2066\x9b31m\r\n\x00\u2028\ud7ff\ufeff"


@pytest.mark.parametrize("name", WRITTEN)
def test_nothing_in_the_data_can_steer_the_terminal(name: str, tmp_path: Path) -> None:
    records = [operation(0, NAME=NASTY), operation(1, NAME="\u202e"), {**operation(2, "GG.A\u202eB"), "pos": NASTY}]
    source = write_lines(tmp_path / "in.json", records)
    found = first([source], *settings(name, "format.encoding=UTF-8"))
    text = preview_text(found)
    assert all(line.isprintable() for line in text.split("\n"))
    assert "\\u202e" in text
    assert "\\u001b" in text or name == "xml"  # which cannot carry it


def test_a_pipe_gets_no_escape_codes_and_a_terminal_does(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, NAME=NASTY)])
    arguments = [*GGFMT, "preview", str(source), "--set", "gg.handler.h.format=json"]
    arguments += ["--set", "ggfmt.compatibility=12.2", "--current-timestamp", "2015-09-18T13:39:35.447000"]
    status, shown = on_terminal(arguments, tmp_path)
    assert status == 0
    assert f"{ESCAPE}36mtable" in shown.replace('"', "")
    assert f"{ESCAPE}33m\\u202e" in shown
    for character in ("\u202e", "\x9b", "\x07", "\x00", "\u2066"):
        assert character not in shown
    plain = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "\x1b" not in plain.stdout
    status, quiet = on_terminal(["env", "NO_COLOR=1", *arguments], tmp_path)
    assert status == 0
    assert quiet.replace("\r\n", "\n") == plain.stdout


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no `tmux`")
def test_on_a_narrow_terminal_nothing_is_lost(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, NAME="x" * 200 + "END OF NAME")])
    program = [*GGFMT, "preview", str(source), "--set", "gg.handler.h.format=json", "--set", "ggfmt.compatibility=12.2"]
    shown = on_tmux(" ".join(program), 50, tmp_path)
    assert "\x1b[36m" in shown
    assert "x" * 200 + "END OF NAME" in shown


def on_tmux(program: str, columns: int, cwd: Path) -> str:
    """What a terminal of so many columns shows, with its colors; lines that it wrapped are joined."""
    tmux = ["tmux", "-L", f"preview-{uuid.uuid4().hex}", "-f", os.devnull]
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TMUX", "COLUMNS")}
    size = ("-x", str(columns), "-y", "60")
    try:
        subprocess.run(
            [*tmux, "new-session", "-d", *size, f"{program}; echo DONE; sleep 60"], check=True, cwd=cwd, env=environment
        )
        for _ in range(300):
            time.sleep(0.1)
            shown = subprocess.run(
                [*tmux, "capture-pane", "-e", "-p", "-J"], capture_output=True, text=True, check=True
            )
            if shown.stdout.rstrip().endswith("DONE"):
                return shown.stdout
        raise AssertionError("the command did not end")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


@pytest.mark.process
@pytest.mark.parametrize("on_a_terminal", [False, True])
def test_a_posix_locale_gets_the_bytes_of_messages(tmp_path: Path, on_a_terminal: bool) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, NAME="Sm\u00f8r\u8868")])
    settings = ("--set", "gg.handler.h.format=json", "--set", "ggfmt.compatibility=12.2")
    call = [*GGFMT, "preview", str(source), *settings]
    posix = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    if on_a_terminal:
        status, shown = on_terminal(call, tmp_path, (50, 100), **posix)
    else:
        done = subprocess.run(call, capture_output=True, check=False, env={**os.environ, **posix}, cwd=tmp_path)
        status, shown = done.returncode, done.stdout.decode()
    assert status == 0
    assert '"Sm\u00f8r\u8868"' in unstyled(shown)


def test_an_output_that_lacks_characters(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, NAME="表")])
    done = command(
        str(source), "--set", "gg.handler.h.format=json", "--set", "ggfmt.compatibility=12.2", PYTHONIOENCODING="ascii"
    )
    assert done.returncode == 0
    assert '"NAME":"\\u8868"' in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["none.json", "-c", "conf/json.properties"], 2, "none.json: error[GG310] input not found\n"),
        (
            ["samples/TCUSTORD.def", "-c", "conf/json.properties"],
            3,
            "error[GG309] the first record fits no input format",
        ),
        (["samples/tcustord.json", "-c", "none.properties"], 2, "error[GG100]"),
        (["samples/tcustord.json", "-c", "conf/json.properties", "--handler", "x"], 1, "error[GG105]"),
        (["samples/tcustord.json", "-c", "conf/json.properties", "--input-format", "jso"], 2, "error[GG309]"),
        (["samples/tcustord.json", "-c", "conf/json.properties", "-n", "0"], 2, "Invalid value"),
    ],
)
def test_what_cannot_be_previewed(arguments: list[str], status: int, told: str) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_input_is_told(tmp_path: Path) -> None:
    data = gzip.compress(write_lines(tmp_path / "x", [operation(number) for number in range(20_000)]).read_bytes())
    damaged = tmp_path / "in.json.gz"
    damaged.write_bytes(data[:100] + bytes(len(data) - 100))
    with pytest.raises(Abend, match="GG310"):
        first([damaged], *JSON_LINES)


def test_no_operations_at_all(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(b"")
    assert preview_text(first([tmp_path / "in.json"], *JSON_LINES)) == "No operations found.\n"


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0)])
    monkeypatch.chdir(tmp_path)
    for name in WRITTEN:
        arguments = ["preview", str(source), "-c", str(ROOT / "conf" / f"{name}.properties")]
        assert CliRunner().invoke(app, arguments).exit_code == 0
    assert command(str(source), "-c", str(ROOT / "conf" / "json.properties"), cwd=tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["in.json"]


@pytest.mark.parametrize(
    ("name", "unwanted"),
    [
        ("delimitedtext", {"lxml", "fastavro", "rich", "pyspark", "polars", "pandas"}),
        ("avro_row", {"lxml", "rich", "pyspark"}),
        ("xml", {"fastavro", "rich", "pyspark"}),
    ],
)
def test_only_what_is_needed_is_loaded(name: str, unwanted: set[str]) -> None:
    program = (
        "import sys\n"
        "from ggfmt.__main__ import run\n"
        f"sys.argv = ['ggfmt', 'preview', 'samples/tcustord.json', '-c', 'conf/{name}.properties', '-n', '1']\n"
        "assert run() == 0\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
        "print(*sorted(name for name in sys.modules if name.startswith('ggfmt.')))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    libraries, modules = (set(line.split()) for line in ended.stdout.splitlines()[-2:])
    assert "pyarrow" in libraries
    assert libraries & unwanted == set()
    assert (
        modules
        & {"ggfmt.sinks.messages.run", "ggfmt.sinks.messages.execution", "ggfmt.spark.session", "ggfmt.java.regex"}
        == set()
    )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
    )
)
def test_json_is_laid_out_and_divided_without_loss(value: Any) -> None:
    lines = json_lines({"value": value})
    assert json.loads("\n".join(lines)) == {"value": value}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('{"a":null,"b \\"c\\": null":[1,"c"]}\n', ['"a"', '"b \\"c\\": null"']),
        ('    "a" : "b=\'\'"', ['"a"']),
        ("<operation table='S.T' type='I'>", ["<operation", "table", "type"]),
        ("  <after><![CDATA[<a b='c'>\n\"d\":]]></after>", ["<after", "</after"]),
        ("   <before isNull='true'/>", ["<before", "isNull"]),
        ('I|it\'s|"a"|<![CDATA[<b>', []),
    ],
)
def test_names_of_json_and_xml_have_a_color(line: str, names: list[str]) -> None:
    pieces = list(_highlighted(line))
    assert "".join(text for text, _ in pieces) == visible(line)
    assert [text for text, style in pieces if style == "name"] == names


def test_null_has_a_color_outside_of_texts() -> None:
    assert [piece for piece in _highlighted('{"null":null,"a":"null"}') if piece[1] == "null"] == [("null", "null")]


@given(st.text(alphabet="\"'\\<>/[]!CDATA?={}:,a \n\x1b\u202e"))
def test_colors_lose_nothing_of_a_line(line: str) -> None:
    assert plain(_highlighted(line)) == visible(line)


def test_hex_is_cut() -> None:
    lines = hex_lines(bytes(range(130)))
    assert lines[::8] == [
        "00000000  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................",
        "... 2 more bytes",
    ]
    assert hex_lines(b"AB") == ["00000000  41 42" + " " * 42 + "  AB"]
    assert hex_lines(bytes(129))[-1] == "... 1 more byte"


def test_a_format_without_a_way_to_show_its_messages_is_shown_as_text() -> None:
    shown = show_text("UTF-8").message("Ä\n\x1b".encode())
    assert shown.lines == ("Ä\n\x1b",)
    assert visible(shown.lines[0]) == "Ä\\n\\u001b"
