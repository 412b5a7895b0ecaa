"""Avro is read back, from streams and containers: all that the format shows, and rejects for what is damaged."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainImage, PlainOperation, PlainTable, row_image
from runs import metadata, operation, run_ggfmt, snapshot, tables, write_lines
from strategies import Changes, examples, make_batch, plain_operations, table_def

from ggfmt.columnar.clock import Clock
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import Context, Projection, WriterSettings
from ggfmt.formats.api.reading import Event, Reject, SchemaChange
from ggfmt.formats.goldengate.avro import read as avro_read
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef

STREAMS, CONTAINERS = ("avro_row", "avro_op"), ("avro_row_ocf", "avro_op_ocf")
CODECS = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@st.composite
def stories(draw: st.DrawFn) -> Changes:
    kinds = draw(st.lists(st.sampled_from(["string", "boolean", "double", "number"]), min_size=1, max_size=5))
    table = PlainTable("S.T", tuple(PlainColumn(f"C{n}", kind, n == 0) for n, kind in enumerate(kinds)))
    values = {
        "string": texts,
        "number": texts,  # without precision: text in release 12.2
        "boolean": st.sampled_from(["true", "false"]),
        "double": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    }

    def image() -> PlainImage:
        cells = {c.name: draw(st.one_of(st.none(), st.just(...), values[c.kind])) for c in table.columns}
        return {name: value for name, value in cells.items() if value is not ...}

    operations = []
    for kind in draw(st.lists(st.sampled_from("IUDT"), max_size=6)):
        before = image() if kind == "D" or (kind == "U" and draw(st.booleans())) else None
        after = image() if kind in "IU" else None
        tokens = draw(st.dictionaries(texts, texts, max_size=2))
        operations.append(PlainOperation(kind, draw(texts), draw(texts), before, after, tokens))
    return Changes(table, operations, False)


def shown(operation: PlainOperation, table: PlainTable, by_image: bool) -> PlainOperation:
    """What the format shows of an operation."""
    if by_image:
        return operation
    image: dict[str, str | None] = {c.name: row_image(operation).get(c.name) for c in table.columns}
    return replace(
        operation,
        before=image if operation.op == "D" else None,
        after=image if operation.op in "IU" else None,
    )


def write(name: str, made: Changes, options: Any, context: Context) -> bytes:
    format, table = FORMATS[name], table_def(made.table)
    formatter = format.write_side.formatter(table, options, context, Clock())
    framing = format.write_side.framing(table, options, context)
    return framing.header + bytes(framing.frame(formatter.format(make_batch(made)))[0])


def read(name: str, data: bytes, source: WriterSettings, catalog: Catalog) -> list[Event]:
    make = FORMATS[name].read_side.reader
    assert make is not None
    reader = make(catalog, Projection(tokens=True), source)
    layout = make.layout(data, True, source)
    events: list[Event] = []
    for chunk in make.chunks(io.BytesIO(data), "f", 0, None, layout):
        events += reader.read(chunk)
    return [*events, *reader.flush()]


def operations(events: list[Event]) -> list[PlainOperation]:
    return [item for event in events if isinstance(event, ChangeBatch) for item in plain_operations(event)]


@examples(60)
@given(stories(), st.sampled_from(STREAMS), st.booleans(), st.booleans(), st.sampled_from(["", "\n", "#END#"]))
def test_streams_are_read_back(made: Changes, name: str, wrapped: bool, fingerprint: bool, delimiter: str) -> None:
    options = FORMATS[name].options.parse({"lineDelimiter": f"CDATA[{delimiter}]"})
    options = replace(
        options,
        wrap_message_in_generic_avro_message=wrapped,  # type: ignore[call-arg]
        generic_wrapper_use_fingerprint=fingerprint,
    )
    source = WriterSettings(options, Context(include_tokens=True))
    catalog = Catalog({made.table.name: table_def(made.table)})
    events = read(name, write(name, made, options, source.context), source, catalog)
    assert not [event for event in events if isinstance(event, Reject)]
    assert operations(events) == [shown(item, made.table, name == "avro_op") for item in made.operations]


@examples(60)
@given(stories(), st.sampled_from(CONTAINERS), st.sampled_from(CODECS), st.sampled_from([1, 100, 1 << 20]))
def test_containers_are_read_back_and_tell_their_tables(made: Changes, name: str, codec: str, blocks: int) -> None:
    options = FORMATS[name].options()
    source = WriterSettings(options, Context(include_tokens=True, codec=codec))
    data = write(name, made, options, source.context)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(avro_read, "BLOCKS_BYTES", max(blocks, 4096))
        events = read(name, data, source, Catalog())
    assert operations(events) == [shown(item, made.table, name == "avro_op_ocf") for item in made.operations]
    (definition,) = [event.table for event in events if isinstance(event, SchemaChange)]
    assert definition.column_names == table_def(made.table).column_names
    if made.operations:
        assert definition.primary_keys == table_def(made.table).primary_keys


@pytest.mark.parametrize("name", [*STREAMS, *CONTAINERS])
@examples(150)
@given(st.data())
def test_damaged_files_give_operations_and_rejects_with_places(name: str, data: st.DataObject) -> None:
    table = PlainTable("S.T", (PlainColumn("A", "string"), PlainColumn("B", "double")))
    story = [PlainOperation("I", "t", "p", None, {"A": "x" * n, "B": "1.5"}, {}) for n in range(5)]
    options = FORMATS[name].options()
    source = WriterSettings(options)
    good = bytearray(write(name, Changes(table, story, False), options, source.context))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(good) - 1))
        if data.draw(st.booleans()):
            good[place] = data.draw(st.integers(0, 255))
        else:
            del good[place : place + data.draw(st.integers(1, 20))]
        if not good:
            break
    events = read(name, bytes(good), source, Catalog({"S.T": table_def(table)}))
    for event in events:
        if isinstance(event, Reject):
            assert event.diagnostic.span.file == "f"
            assert 0 <= (event.diagnostic.span.offset or 0) <= len(good)
            assert event.diagnostic.code in {"GG204", "GG205", "GG304", "GG313"}


def story(count: int = 40) -> list[dict[str, Any]]:
    items = [operation(n, f"GG.T{n % 2}", "IUD"[n % 3], AMOUNT=None) for n in range(count)]
    change = metadata("GG.T0", ID="string", NAME="string", AMOUNT="string", ADDED="string")
    return [*items, change, {**operation(count, "GG.T0"), "after": {"ID": "1", "NAME": "x", "ADDED": None}}]


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_run_turns_containers_into_the_same_containers(name: str, tmp_path: Path) -> None:
    """Through a metadata change, without any definition given."""
    source = write_lines(tmp_path / "in.json", story())
    settings = (f"gg.handler.a.format={name}", "gg.handler.a.format.generateSchema=false")
    run_ggfmt([source], tmp_path / "one", *settings)
    for split_size in (None, 500):
        out = tmp_path / f"two{split_size}"
        run_ggfmt(
            [tmp_path / "one" / "a" / table for table in ("GG.T0", "GG.T1")], out, *settings, split_size=split_size
        )
        assert snapshot(out / "a") == snapshot(tmp_path / "one" / "a")


def test_streams_need_definitions(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", story(10)[:10])
    settings = ("gg.handler.a.format=avro_op", "gg.handler.a.format.generateSchema=false")
    result = run_ggfmt([source], tmp_path / "one", *settings)
    assert result.totals.read == 10
    names = ("GG.T0", "GG.T1")
    from ggfmt.model.table import Column

    definitions = {name: TableDef(name, tuple(Column(c) for c in ("ID", "NAME", "AMOUNT"))) for name in names}
    run_ggfmt([tmp_path / "one" / "a"], tmp_path / "two", *settings, input_format="avro_op", definitions=definitions)
    assert tables(tmp_path / "two", "a") == tables(tmp_path / "one", "a")
    result = run_ggfmt([tmp_path / "one" / "a"], tmp_path / "none", *settings, input_format="avro_op", quarantine=True)
    assert (result.totals.read, result.totals.rejects) == (0, 2)


@pytest.mark.parametrize("wrapped", ["true", "false"])
@pytest.mark.parametrize("name", ["avro_row", "avro_op"])
def test_at_level_trace_every_message_is_logged_decoded(
    name: str, wrapped: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n) for n in range(3)])
    settings = (
        f"gg.handler.a.format={name}",
        "gg.handler.a.format.generateSchema=false",
        "gg.handler.a.format.lineDelimiter=CDATA[\\n]",
        f"gg.handler.a.format.wrapMessageInGenericAvroMessage={wrapped}",
    )
    with caplog.at_level(5, "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *settings)
    traced = [json.loads(r.getMessage().removeprefix("handler a: ")) for r in caplog.records if r.levelno == 5]
    images = [message["after"] if name == "avro_op" else message for message in traced]
    assert [(message["pos"], image["NAME"]) for message, image in zip(traced, images, strict=True)] == [
        (f"{n:020d}", f"name {n}") for n in range(3)
    ]
    caplog.clear()
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([source], tmp_path / "again", *settings)
    assert not [record for record in caplog.records if record.levelno == 5]
