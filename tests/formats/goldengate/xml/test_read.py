"""Reading XML: what was written comes back, other ways to write the same are the same, mistakes are rejects."""

from __future__ import annotations

import codecs
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import dialects
import pytest
from contract.xml import message, xml_changes, xml_options
from dialects import EVERYTHING, FILE, Read, chunk_bytes
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import PlainOperation
from places import SAMPLES
from runs import MOMENT, content, run_ggfmt, tables
from strategies import Changes, examples, make_batch, table_def
from xml_oracle import as_written

from ggfmt.columnar.metadata import Clock
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Context, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, SchemaChange
from ggfmt.formats.api.writing import TextFraming
from ggfmt.formats.goldengate.xml import XmlOptions
from ggfmt.formats.goldengate.xml.read import XmlDiscovery, XmlReader
from ggfmt.formats.goldengate.xml.write import XmlFormatter
from ggfmt.model.table import Catalog, Column, TableDef
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import detect_format, reader_of

ORDERS = TableDef("GG.ORDERS", (Column("ID"), Column("NOTE")))


def chunks_of(data: bytes) -> list[Chunk]:
    layout = XmlReader.layout(data, True, DEFAULT_SETTINGS)
    assert not layout.splittable
    return list(XmlReader.chunks(io.BytesIO(data), FILE, 0, None, layout))


def read(
    data: bytes,
    definitions: Sequence[TableDef] = (),
    projection: Projection = EVERYTHING,
    source: WriterSettings = DEFAULT_SETTINGS,
    size: int = 1 << 20,
) -> Read:
    """The file's records, by definitions or else by what is discovered, in chunks of about `size` bytes."""
    with chunk_bytes(size):
        trusted = {table.full_name: table for table in definitions}
        return dialects.read("xml", data, source, trusted=trusted, projection=projection, discovers=not trusted)


def written(made: Changes, tokens: bool = True, **options: Any) -> bytes:
    chosen = XmlOptions(**options)
    formatter = XmlFormatter(table_def(made.table), chosen, Context(tokens), Clock(datetime(2024, 5, 1)))
    framing = TextFraming(chosen.encoding)
    return framing.header + bytes(framing.frame(formatter.format(make_batch(made)))[0])


# What was written comes back


@examples(60)
@given(xml_changes(least=1), xml_options)
def test_what_a_configured_handler_wrote_comes_back_with_its_configuration(
    made: Changes, options: dict[str, Any]
) -> None:
    words = {f"{kind}_op_key": f"<{kind}>" for kind in ("insert", "update", "delete", "truncate")}
    options = {**options, **words, "encoding": "UTF-8"}
    data = written(made, **options)
    assert read(data, source=WriterSettings(XmlOptions(**options))).plain == [
        as_written(item) for item in made.operations
    ]
    assert {reject.diagnostic.code for reject in read(data).rejects} == {"GG304"}


def test_tokens_are_read_for_those_who_want_them_alone() -> None:
    data = message(tokens="<tokens><token><Name>R</Name><Value>x</Value></token></tokens>")
    assert [item.tokens for item in read(data).plain] == [{"R": "x"}]
    assert [item.tokens for item in read(data, projection=Projection()).plain] == [{}]


# Other ways to write the same


INSERT = PlainOperation("I", "t", "7", None, {"ID": "1"}, {})


@pytest.mark.parametrize(
    "data",
    [
        message(),
        message().rstrip(),
        b"\n\r\n \t" + message(),
        message().replace(b"'", b'"'),
        message().replace(b"><", b">\r\n  <"),
        message().replace(b"</operation>", b"</operation\n\t>"),
        message().replace(b">1<", b"><![CDATA[1]]><"),
        message().replace(b">1<", b">&#49;<"),
        message().replace(b">1<", b"><![CDATA[]]>1<![CDATA[]]><"),
        message().replace(b">1<", b"><!-- </operation> -->1<?pi </operation>?><"),
        b'<?xml version="1.0"?>' + message(),
        b"<?xml version='1.0' encoding='utf8' standalone='yes'?><!-- <operation> -->\n" + message(),
        b"\xef\xbb\xbf" + message(),
        b"\xff\xfe" + message().decode().encode("utf-16-le"),
        message().decode().encode("utf-16-be"),
        message().decode().encode("utf-32-le"),
        message().replace(b"before missing='true'", b"before missing='1'"),
        message().replace(b"<before missing='true'/>", b"<before missing='true'>\n </before>"),
        message().replace(b"<before missing='true'/>", b""),
        message(head="pos='7' numCols=' 1 ' type='INSERT' ts='t' table='GG.ORDERS'"),
    ],
)
def test_there_are_many_ways_to_write_the_same(data: bytes) -> None:
    for repeated in (1, 3):
        mark = next((mark for mark in (b"\xef\xbb\xbf", b"\xff\xfe") if data.startswith(mark)), b"")
        for size in (7, 1 << 20):
            assert read(mark + data.removeprefix(mark) * repeated, size=size).plain == [INSERT] * repeated


def test_a_column_is_null_empty_blank_or_missing() -> None:
    columns = "".join(
        f"<col name='{name}' index='0'>{inner}</col>"
        for name, inner in {
            "NULL": "<before isNull='true'/><after isNull='1'/>",
            "EMPTY": "<before></before><after><![CDATA[]]></after>",
            "BLANK": "<before> </before><after missing='false'>\n</after>",
            "MISSING": "<missing/>",
            "NOTHING": "",
            "KEPT": "<before missing='true'>x</before><after>y</after>",
        }.items()
    )
    (item,) = read(message(columns, "table='GG.T' type='U'")).plain
    assert item.before == {"NULL": None, "EMPTY": "", "BLANK": " ", "KEPT": "x"}
    assert item.after == {"NULL": None, "EMPTY": "", "BLANK": "\n", "KEPT": "y"}
    assert (item.op_ts, item.pos) == (None, None)


def test_what_is_not_known_is_counted_and_left_out() -> None:
    data = message(head="table='GG.ORDERS' type='I' ts='t' pos='7' xid='9'", tokens="<csn/>").replace(
        b"</col>", b"<during/></col>"
    )
    result = read(data * 2)
    assert result.plain == [INSERT] * 2
    assert result.members == {"xid": 2, "csn": 2, "during": 2}


def test_an_encoding_is_that_of_the_prolog_or_of_the_configuration() -> None:
    prolog = b"<?xml version='1.0' encoding='windows-1252'?>\n"
    text = message().replace(b">1<", b">\x80<")
    assert [item.after for item in read((prolog + text) * 2).plain] == [{"ID": "€"}] * 2
    assert [item.after for item in read(text, source=WriterSettings(XmlOptions(encoding="windows-1252"))).plain] == [
        {"ID": "€"}
    ]
    assert read(text, [ORDERS]).reasons == ["GG303 the record is not UTF-8: it contains the byte 0x80"]
    wrong = "GG312 the encoding in the prolog is unknown, or is not the encoding of the file"
    assert read(prolog.replace(b"windows-1252", b"x-none") + message(), [ORDERS]).reasons == [wrong]
    only_written = read(message(), [ORDERS], source=WriterSettings(XmlOptions(encoding="GB18030")))
    assert only_written.reasons == ["GG303 ggfmt cannot read the charset GB18030"]
    mixed = read(prolog + text + prolog.replace(b"windows-1252", b"UTF-8") + message() + prolog + text)
    assert (len(mixed.plain), mixed.reasons) == (2, [wrong])


# Values that look like markup

EMBEDDED = (
    "</operation>",
    "</operation>\n<operation table='S.T' type='I'>",
    "\n<?xml version='1.0'?>\n<operation table='S.T' type='T'></operation>\n",
    "<![CDATA[ </operation>",
    "<!-- </operation>",
    "<? </operation>",
    "]]></after></col></operation>\n<operation table='S.T' type='T'>",
)


@pytest.mark.parametrize("value", EMBEDDED)
@pytest.mark.parametrize("size", [1, 50, 400, 1 << 20])
@pytest.mark.parametrize("charset", ["UTF-8", "UTF-16LE"])
def test_a_value_that_looks_like_messages_is_a_value(value: str, size: int, charset: str) -> None:
    odd = message("<col name='ID'><after>%s</after></col>")
    section = value.replace("]]>", "]]]]><![CDATA[>")
    data = (message() + odd.replace(b"%s", f"<![CDATA[{section}]]>".encode()) + message()).decode()
    result = read(data.encode({"UTF-8": "utf-8", "UTF-16LE": "utf-16-le"}[charset]), size=size)
    assert [item.after for item in result.plain] == [{"ID": "1"}, {"ID": value}, {"ID": "1"}]
    assert result.rejects == []


def test_bytes_that_look_like_markup_between_two_characters_are_none() -> None:
    middle = b"".join(b"\x01" + bytes([byte]) for byte in b"</operation>")  # as UTF-16: characters beyond Latin
    shifted = ("x" + middle.decode("utf-16-le") + "\u3c01\u2f00\u6f00\u7000<").replace("<", "&lt;")
    text = message().decode().replace(">1<", f">{shifted}<")
    (item, other) = read((text * 2).encode("utf-16-be"), size=64).plain
    assert item.after == other.after == {"ID": shifted.replace("&lt;", "<")}


def test_a_value_of_many_megabytes_is_read() -> None:
    value = "x" * (11 << 20)
    result = read(message().replace(b">1<", f">{value}<".encode()) + message(), [ORDERS])
    assert [len((item.after or {})["ID"] or "") for item in result.plain] == [len(value), 1]


# Nothing is expanded, nothing is fetched


@pytest.mark.parametrize(
    "subset",
    [
        "<!ENTITY a 'aaaaaaaaaa'>"
        + "".join(f"<!ENTITY {n} '{f'&{m};' * 10}'>" for m, n in zip("abcdefgh", "bcdefghi", strict=True)),
        "<!ENTITY a 'x'>",
        "<!ENTITY i SYSTEM 'file:///etc/passwd'>",
        "<!ENTITY % p SYSTEM 'http://127.0.0.1:9/'> %p;",
        "]><!DOCTYPE operation [",
    ],
)
@pytest.mark.parametrize("reference", ["&i;", "1"])
def test_a_document_type_is_refused(subset: str, reference: str) -> None:
    bad = f"<!DOCTYPE operation [{subset}]>\n".encode() + message().replace(b">1<", f">{reference}<".encode())
    result = read(message() + bad + message(), [ORDERS])
    assert result.plain == [INSERT] * (len(result.plain))
    assert "<!DOCTYPE" in b"".join(reject.record for reject in result.rejects).decode()
    assert result.reasons[0] == "GG312 the record is not an `operation` element"


@pytest.mark.parametrize("inside", ["&i;", "&lt", "<!DOCTYPE x>", "<!ENTITY i 'x'>"])
def test_an_entity_that_nobody_defines_is_refused(inside: str) -> None:
    result = read(message() + message().replace(b">1<", f">{inside}<".encode()) + message(), [ORDERS])
    assert result.plain == [INSERT, INSERT]
    (reject,) = result.rejects
    assert reject.diagnostic.code == "GG312"


# Mistakes

FINE = message()


@pytest.mark.parametrize(
    ("bad", "code", "words"),
    [
        (FINE.replace(b"</col>", b""), "GG312", "not well-formed"),
        (FINE.replace(b"operation ", b"action "), "GG312", "not an `operation` element"),
        (b"some words\n", "GG312", "not an `operation` element"),
        (FINE.replace(b">1<", b">\x00<"), "GG312", "not well-formed"),
        (FINE.replace(b">1<", b">\xff<"), "GG303", "not UTF-8"),
        (FINE.replace(b"table='GG.ORDERS'", b""), "GG305", "no `table`"),
        (FINE.replace(b"GG.ORDERS", b"GG..ORDERS"), "GG306", "an empty part"),
        (FINE.replace(b"type='I'", b""), "GG305", "no `type`"),
        (FINE.replace(b"type='I'", b"type='X'"), "GG304", "`type` cannot be `X`"),
        (FINE.replace(b"type='I'", b"type='%s'" % (b"X" * 40)), "GG304", f"`{'X' * 40}`"),
        (FINE.replace(b"type='I'", b"type='%s'" % (b"X" * 41)), "GG304", f"`{'X' * 37}...`"),
        (FINE.replace(b"type='I'", b"type='D'"), "GG307", "a delete has an after image"),
        (FINE.replace(b"type='I'", b"type='T'"), "GG307", "a truncate has an after image"),
        (FINE.replace(b" missing='true'/>", b">0</before>"), "GG307", "an insert has a before image"),
        (FINE.replace(b"name='ID' ", b""), "GG312", "has no `name`"),
        (message("<col name='ID'/><col name='ID'/>"), "GG312", "the same `name`"),
        (FINE.replace(b"pos='7'", b"pos='7' numCols='2'"), "GG312", "`numCols` is not 1"),
        (FINE.replace(b">1<", b"><x/><"), "GG312", "a value contains elements"),
        (FINE.replace(b"GG.ORDERS", b"GG.OTHERS"), "GG205", "has no definition"),
        (FINE.replace(b"'ID'", b"'IT'"), "GG204", "a column that the definition of the table lacks"),
        (FINE.replace(b"<operation", b"<operation xmlns='urn:x'"), "GG312", "not an `operation` element"),
    ],
)
@pytest.mark.parametrize("size", [64, 1 << 20])
def test_a_mistake_is_a_reject_and_what_is_around_it_is_read(bad: bytes, code: str, words: str, size: int) -> None:
    result = read(FINE + bad + FINE, [ORDERS], size=size)
    assert result.plain == [INSERT, INSERT]
    (reject,) = result.rejects
    assert reject.diagnostic.code == code
    assert words in reject.diagnostic.message
    assert reject.record == bad.rstrip(b"\n")
    assert reject.diagnostic.span.offset == len(FINE)
    if b"GG.ORDERS" in bad and code not in ("GG303", "GG312"):
        assert (reject.diagnostic.span.table, reject.diagnostic.span.position) == ("GG.ORDERS", "7")


def test_a_record_cut_by_the_end_of_the_file_is_told() -> None:
    for length in range(len("<operation "), len(FINE.rstrip())):
        result = read(FINE + FINE[:length], [ORDERS], size=50)
        assert result.plain == [INSERT]
        assert result.reasons == ["GG302 the file ends in the middle of the record"]


def test_an_unclosed_section_takes_no_more_than_its_record() -> None:
    damaged = FINE.replace(b">1<", b"><![CDATA[1<")
    for size in (64, 1 << 20):
        result = read(FINE + damaged + FINE * 2, [ORDERS], size=size)
        assert result.plain == [INSERT] * 3
        assert [reject.record for reject in result.rejects] == [damaged.rstrip()]


def test_a_definition_decides_the_order_of_columns_and_lets_some_be_missing() -> None:
    columns = "<col name='NOTE'><after>n</after></col><col name='ID'><after>1</after></col>"
    result = read(message(columns) + FINE + message(columns), [ORDERS])
    assert [item.after for item in result.plain] == [{"ID": "1", "NOTE": "n"}, {"ID": "1"}, {"ID": "1", "NOTE": "n"}]
    assert {table for table, _ in result.operations} == {ORDERS}
    assert result.definitions == []


_noise = st.one_of(
    st.binary(max_size=4),
    st.sampled_from([b"<![CDATA[", b"]]>", b"<!--", b"<?", b"</operation>", b"<operation ", b"\n", b"'", b"&", b"\0"]),
)


@examples(200)
@given(st.lists(_noise, max_size=8).map(b"".join), st.booleans())
@example(b"<operation>" * 3, False)
@example(b"<operation/>\n<operation/>", True)
@example(b"\x00<", False)
def test_any_bytes_give_operations_and_rejects(data: bytes, definitions: bool) -> None:
    read(data, [ORDERS] if definitions else ())


# Metadata change events


def table_message(*names: str, table: str = "GG.ORDERS") -> bytes:
    columns = "".join(f"<col name='{name}'><after>{name}</after></col>" for name in names)
    return message(columns).replace(b"GG.ORDERS", table.encode())


def definition(*names: str, table: str = "GG.ORDERS") -> TableDef:
    return TableDef(table, tuple(map(Column, names)))


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("size", [64, 1 << 20])
def test_another_list_of_columns_is_a_metadata_change(in_order: bool, size: int) -> None:
    parts = [
        table_message("A", "B"),
        table_message("A", "B", table="S.T"),
        table_message("A", "B", "C"),
        table_message("A", "B", "C"),
        table_message("A", "D", "C"),
        table_message("A", "B"),
    ]
    data = b"".join(parts)
    result = read(data, projection=Projection(in_order=in_order), size=size)
    assert [table.column_names for table, _ in result.operations] == [
        ("A", "B"),
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "B", "C"),
        ("A", "D", "C"),
        ("A", "B"),
    ]
    offsets = [len(b"".join(parts[:number])) for number in (2, 4, 5)]
    expected = [
        SchemaChange(definition(*names), 0, offset) for names, offset in zip(("ABC", "ADC", "AB"), offsets, strict=True)
    ]
    assert result.definitions == expected


@examples(60)
@given(st.lists(st.sampled_from([("A",), ("A", "B"), ("B",), ("B", "A")]), min_size=1, max_size=12), st.data())
def test_discovery_finds_the_events_that_readers_tell_however_files_are_shared_out(
    listed: list[tuple[str, ...]], data: st.DataObject
) -> None:
    """Each input is read by one task of several, which starts with what the events before it made."""
    files: list[list[tuple[str, ...]]] = [[]]
    for names in listed:
        if data.draw(st.booleans()):
            files.append([])
        files[-1].append(names)
    bytes_of = [b"".join(table_message(*names) for names in file) for file in files]
    findings = []
    for number, file in enumerate(bytes_of):
        discovery = XmlDiscovery(Catalog())
        for chunk in chunks_of(file):
            discovery.read(replace(chunk, input=number))
        findings.append(discovery.findings())
    found = XmlDiscovery.settle(findings, Catalog(), False)
    assert found.complete
    assert found.tables == (definition(*listed[0]),)
    told: list[SchemaChange] = []
    for number, file in enumerate(bytes_of):
        before = [event.table for event in found.events if event.input < number]
        reader = XmlReader(Catalog().with_tables([*found.tables, *before]), EVERYTHING)
        events = [event for chunk in chunks_of(file) for event in reader.read(replace(chunk, input=number))]
        told += [event for event in [*events, *reader.flush()] if isinstance(event, SchemaChange)]
    assert tuple(told) == found.events


# In the engine


XML = ("gg.handler.x.format=xml", "gg.handler.x.includeTokens=true", "gg.handler.x.format.includeProlog=true")


def test_a_run_reads_what_a_run_wrote(tmp_path: Path) -> None:
    sample = SAMPLES / "tcustord.json"
    run_ggfmt([sample], tmp_path / "once", *XML)
    result = run_ggfmt([tmp_path / "once" / "x"], tmp_path / "twice", *XML)
    assert tables(tmp_path / "twice", "x") == tables(tmp_path / "once", "x")
    assert len(list((tmp_path / "twice" / "x" / "GG.TCUSTORD").iterdir())) == 2, "the metadata change is seen"
    assert result.totals.read == 14


def test_bad_records_are_set_aside_by_a_run(tmp_path: Path) -> None:
    data = tmp_path / "in.xml"
    data.write_bytes(FINE + FINE.replace(b"</col>", b"") + FINE.replace(b">1<", b">&#9;&#65535;<") + FINE)
    result = run_ggfmt([data], tmp_path / "out", *XML, quarantine=True, current_timestamp=MOMENT)
    assert result.totals.handlers["x"].rejected == {"GG312": 2}
    assert content(tmp_path / "out", "x").count(b"</operation>") == 2


@pytest.mark.parametrize("definitions", [[], [ORDERS]])
def test_byte_order_marks_without_a_record_are_nothing(definitions: list[TableDef]) -> None:
    found = read(FINE + b"\n" + codecs.BOM_UTF8 + b"\n", definitions)
    assert (len(found.plain), found.reasons) == (1, [])
    assert read(codecs.BOM_UTF8 * 2, definitions).plain == []


def test_xml_is_recognised_and_other_inputs_are_not(tmp_path: Path) -> None:
    files: Mapping[str, bytes] = {
        "plain": FINE,
        "prolog": b"<?xml version='1.0'?>\n<!-- x -->\n" + FINE,
        "wide": FINE.decode().encode("utf-16"),
        "names": FINE.replace(b"GG.ORDERS", b"GG.A>B"),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        (file,) = list_inputs([str(tmp_path / name)])
        assert detect_format([file])[0] == "xml"
    for other in (b"", b"{}", b"<root/>", b"<operation/>", b"<operations table='x' type='y'>", b"I|GG.T|1\n"):
        assert XmlReader.sniff(other) is None
    assert reader_of("xml") is XmlReader
