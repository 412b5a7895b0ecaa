"""The effect of a property on messages: a few built-in operations, formatted without it and with it."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.config.handlers import Configuration, read_configuration
from ggfmt.config.property_table import OwnerKind
from ggfmt.config.symbols import PropertySymbol
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import ConfigurationError, Span
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection
from ggfmt.formats.api.reading import Event
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, Column, Kind, SqlType, TableDef
from ggfmt.options.releases import DEFAULT_RELEASE
from ggfmt.options.templates import HexBytes, PathTemplate
from ggfmt.options.value_types import Bool, NamePart, Path, Size
from ggfmt.sinks.messages.pipeline import HandlerSettings, Pipeline

_HANDLER = "out"
_NAME = lazy_regex(r"[A-Za-z0-9][\w-]*")  # of a handler that a run can have
_KINDS_BESIDE_MESSAGES = (Path, NamePart, Size, PathTemplate, HexBytes)
_MOMENT = datetime(2015, 9, 18, 13, 39, 35, 447000)
_TABLE = TableDef(
    "GG.TCUSTORD",
    (
        Column("CUST_CODE", SqlType(Kind.STRING, length=4), nullable=False, key=1),
        Column("PRODUCT", SqlType(Kind.STRING, length=8)),
        Column("AMOUNT", SqlType(Kind.DECIMAL, precision=6, scale=0)),
    ),
)
_RECORDS = {
    "an insert": '"op_type":"I","after":{"CUST_CODE":"WILL","PRODUCT":"CAR","AMOUNT":3}',
    "an update": '"op_type":"U","before":{"CUST_CODE":"WILL","PRODUCT":"CAR","AMOUNT":3},'
    '"after":{"CUST_CODE":"WILL","PRODUCT":null,"AMOUNT":3}',
    "a delete": '"op_type":"D","before":{"CUST_CODE":"WILL"}',
    "an update of the primary key": '"op_type":"U","before":{"CUST_CODE":"DAVE","PRODUCT":"PLANE","AMOUNT":1},'
    '"after":{"CUST_CODE":"JANE","PRODUCT":"PLANE","AMOUNT":1}',
    "a truncate": '"op_type":"T"',
}
_ENVELOPE = (
    '{{"table":"GG.TCUSTORD","op_ts":"2013-06-02 22:14:36.000000","pos":"{position:020d}",'
    '"tokens":{{"L":"206080450","R":"AADPkvAAEAAEqL2AAA"}},{rest}}}\n'
)


@dataclass(frozen=True)
class ExampleLines:
    """`lines` of a handler file; the last gives the property an example value.

    `before`, `after`: what becomes of `operation` without and with it; empty where messages are the same.
    """

    lines: tuple[str, ...]
    operation: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def example(word: PropertySymbol) -> ExampleLines:
    spec = word.variants[0].spec
    name = word.handler if word.handler and _NAME.fullmatch(word.handler) else _HANDLER
    handler = f"gg.handler.{name}."
    line = f"{word.key.replace('<name>', name)}={spec.example_text}"
    if spec.name == "format":
        return _difference((), line, (f"{handler}mode=op",)) or ExampleLines((line,))
    formats = [own for variant in word.variants for own in variant.formats]
    written = [own for own in formats or FORMATS if FORMATS[own].writes is not None]
    settings = [(f"{handler}format={own}",) for own in written]
    needs_handler = formats or word.key.startswith("ggfmt.")
    alone = ExampleLines((*settings[0], line) if needs_handler and settings else (line,))
    if word.kind in (OwnerKind.PROCESS, OwnerKind.EVENT_HANDLER) or isinstance(spec.kind, _KINDS_BESIDE_MESSAGES):
        return alone
    switched = _with_switches(settings, handler, line) if formats else ()
    for given in (*settings, *switched):
        difference = _difference(given, line)
        if difference is not None:
            return difference
    return alone


def _with_switches(settings: Sequence[tuple[str, ...]], handler: str, line: str) -> Iterator[tuple[str, ...]]:
    """Yield the settings, each with one more switch on: some properties work only together with another."""
    for given in settings:
        (config,) = _configuration(given).handlers
        for prefix, options in ((handler, config.handler), (f"{handler}format.", config.options)):
            for spec in options.specs():
                if isinstance(spec.kind, Bool) and not spec.default and not line.startswith(f"{prefix}{spec.name}="):
                    yield (*given, f"{prefix}{spec.name}=true")


def _difference(given: tuple[str, ...], line: str, stand_in: tuple[str, ...] = ()) -> ExampleLines | None:
    """Return the first operation that the line changes, if any. `stand_in`: for no settings."""
    try:
        before, after = _messages(given or stand_in), _messages((*given, line))
    except ConfigurationError:
        return None
    for old, new in zip(before, after, strict=True):  # what can be read is compared first
        for operation in _RECORDS:
            if old[operation] != new[operation]:
                return ExampleLines((*given, line), operation, old[operation], new[operation])
    return None


def _configuration(settings: tuple[str, ...]) -> Configuration:
    """Read settings, by default for the default release: a later one would change all that is new in it."""
    named = any(line.startswith("ggfmt.compatibility=") for line in settings)
    return read_configuration([], settings if named else (*settings, f"ggfmt.compatibility={DEFAULT_RELEASE}"))


@cache
def _messages(settings: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return the messages of each operation, or the reason for none, in a form to read and as they are written."""
    configuration = _configuration(settings)
    (config,) = configuration.handlers
    run = configuration.run
    handler = HandlerSettings.of(config, run, native="UTF-8")
    pipeline = Pipeline(handler, Clock(_MOMENT))
    read, written = {}, {}
    for operation, batch in zip(_RECORDS, _batches(), strict=True):
        refused, formatted = pipeline.format(batch)
        if formatted is None:
            read[operation] = written[operation] = tuple(
                str(replace(diagnostic, span=Span())) for _, diagnostic in refused
            )
            continue
        written[operation] = tuple(line for message in non_null_values(formatted.messages) for line in _lines(message))
        read[operation] = tuple(formatted.traced()) or written[operation]
    return read, written


@cache
def _batches() -> tuple[ChangeBatch, ...]:
    reader = FORMATS["json"].read_support.reader
    batches = []
    for number, record in enumerate(_RECORDS.values()):
        data = _ENVELOPE.format(position=1444 + number, rest=record).encode()
        reading = reader(Catalog({_TABLE.full_name: _TABLE}), Projection(tokens=True))
        layout = reader.layout(data, True, DEFAULT_SETTINGS)
        events: list[Event] = []
        for chunk in reader.chunks(io.BytesIO(data), "", 0, None, layout):
            events += reading.read(chunk)
        events += reading.flush()
        batches += [event for event in events if isinstance(event, ChangeBatch)]
    return tuple(batches)


def _lines(message: str | bytes) -> Iterator[str]:
    if isinstance(message, bytes):
        yield "".join(chr(code) if 0x20 <= code < 0x7F else f"\\x{code:02x}" for code in message)
        return
    head, end = (message[:-1], "\\n") if message.endswith("\n") else (message, "")
    *lines, last = head.split("\n")
    yield from map(visible, lines)
    yield visible(last) + end
