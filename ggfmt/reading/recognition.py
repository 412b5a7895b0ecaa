"""The inputs of a run: which format they have, how they were written, and how their records follow each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError, suggestion
from ggfmt.formats import ENTRIES, FORMATS, READ
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Context, WriterSettings
from ggfmt.formats.api.reading import MAX_RECORD_BYTES, Chunk, Layout, Reader, Reject, record_size_error
from ggfmt.formats.json.cut import RecordBoundaries
from ggfmt.formats.json.dumps import plain_head
from ggfmt.formats.json.files import find_layout, preamble, record_spans
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.location import retried
from ggfmt.options.value_types import OpKey
from ggfmt.reading.files import InputFile, open_input, unreadable_stops
from ggfmt.reading.kinds import identify_unsupported

if TYPE_CHECKING:
    from ggfmt.config.handlers import Configuration  # loads the readers of handler files, which workers do not need

INSERTS = "inserts"  # in place of a format: rows of CSV or JSON, as the first bytes show
SCHEMA_REGISTRY = "schemaRegistry"  # which has an option of its own
HEAD_BYTES = 256 << 10
ENOUGH_HEAD_BYTES = 1 << 20  # of the head in which a record is looked for that shows the format
LONGEST_HEAD_BYTES = 64 << 20  # of the head in which the end of the first record is looked for
_OF_HEADERS = (b"<", b"Obj\x01")  # files whose first bytes show the format, though the first record is not whole


@dataclass(frozen=True)
class PlannedInput:
    """A file of the run: its place among inputs and its layout. `whole`: it is not cut, whatever its layout says."""

    file: InputFile
    index: int
    layout: Layout
    whole: bool = False


@dataclass(frozen=True)
class Recognition:
    """What the first bytes of a file show.

    stored    the bytes, decompressed
    head      the bytes of records, without the messages of Kafka around them
    envelope  what these messages are; None if there are none
    reasons   the formats that the records fit, and why
    """

    stored: bytes
    head: bytes
    envelope: str | None
    reasons: Mapping[str, str]


def recognize(file: InputFile, max_record: int = MAX_RECORD_BYTES) -> Recognition:
    """Return the formats that a file fits. Raises: Abend GG309 if its first bytes are of no text and no messages."""
    most = max(LONGEST_HEAD_BYTES, max_record + HEAD_BYTES)
    size = HEAD_BYTES
    while True:
        stored = read_head(file, size)
        refuse_unsupported(file, stored)
        is_cut = len(stored) == size and _is_cut(stored)
        if is_cut and size < most and not stored.startswith(_OF_HEADERS):
            size = min(4 * size, most)
            continue
        head, envelope = (stored, None) if _topic_layout(file) is not None else plain_head(stored)
        names = _candidates(head) if envelope is None else _of_messages(_candidates(head), stored)
        reasons = {name: reason for name in names if (reason := reader_of(name).sniff(head))}
        if reasons or len(stored) < size or size >= (most if is_cut else min(most, ENOUGH_HEAD_BYTES)):
            return Recognition(stored, head, envelope, reasons)
        size = min(4 * size, most)


def choose_format(files: Sequence[InputFile], given: str, max_record: int = MAX_RECORD_BYTES) -> tuple[str, str]:
    """Return the input format, and why: the given one, which may be `auto` or `INSERTS`.

    Raises: UsageError GG309 for an unknown format, and for rows that are changes in another format; otherwise as
    `detect_format`.
    """
    if given == "auto":
        return detect_format(files, max_record)
    if given != INSERTS:
        reader_of(given)  # which refuses an unknown format
        if not FORMATS[given].any_text:
            return given, "set by `--input-format` or `--input-config`"
    for file in files:
        found = recognize(file, max_record)
        if found.head.strip():
            for name, reason in found.reasons.items():
                message = f"the input has changes in the format `{name}`, and no rows: {reason}"
                help = f"use `--input-format {name}`, without `--csv` and `--as`"
                raise Abend("GG309", message, file.shown, help)
            name = given if given != INSERTS else "jsonl" if found.head.lstrip()[:1] in (b"{", b"[") else "csv"
            return name, "set by `--input-format`, `--csv` or `--as`"
    return ("csv" if given == INSERTS else given), "no input"


def detect_format(files: Sequence[InputFile], max_record: int = MAX_RECORD_BYTES) -> tuple[str, str]:
    """Return the input format by the first input that holds anything, and why. Raises: Abend GG309 if none or two fit,
    GG316 if its first record is longer than `max_record` bytes."""
    for file in files:
        found = recognize(file, max_record)
        stored, head, envelope, reasons = found.stored, found.head, found.envelope, found.reasons
        if not head.strip():
            continue
        if len(reasons) == 1:
            ((name, reason),) = reasons.items()
            of = "" if envelope is None else f"of {envelope}, "
            return name, f"in {file.shown}, {of}{reason}"
        if reasons:
            raise Abend.of(_of_several(file.shown, head, reasons, envelope))
        if len(stored) > max_record and _has_long_record(stored, max_record):
            raise Abend.of(record_size_error(max_record, max_record, "more than ").at(file=file.shown, offset=0))
        verdict = "fits no input format"
        help = (
            "name only change files; correct a damaged record; for CSV, add `--csv`; if the properties are not the "
            "default, use `--input-config`, or `--input-format` and `--input-option`"
        )
        if envelope is not None:
            verdict = f"is one of {envelope}, and its content fits no JSON format"
            help = (
                "ggfmt reads only messages in JSON: for other messages, read the files of a sink; for JSON, give "
                "`--input-format`"
            )
        from ggfmt.reading.row_files import describe_unrecognized

        verdict, help = describe_unrecognized(file.shown, stored, head, envelope) or (verdict, help)
        raise Abend("GG309", f"the first record {verdict}", file.shown, help)
    return "json", "no input"


def _is_cut(head: bytes) -> bool:
    """Return whether the first record of a file goes on after its first bytes."""
    start = head[preamble(head) :].lstrip()[:1]
    if start not in (b"{", b"["):
        return head.startswith(_OF_HEADERS) or b"\n" not in head
    layout = replace(find_layout(head, False), max_record=len(head))
    return not len(RecordBoundaries(head[layout.skipped :], layout, more=True).spans)


def _has_long_record(head: bytes, limit: int) -> bool:
    """Return whether the first bytes of a file are the start of one record in JSON that is longer than a limit."""
    layout = replace(find_layout(head, False), max_record=limit)
    records = RecordBoundaries(head[layout.skipped :], layout, more=True)
    return records.open and records.long and not len(records.spans)


def _of_several(shown: str, head: bytes, reasons: Mapping[str, str], envelope: str | None) -> Diagnostic:
    """GG309 for an input whose first records fit several formats: each with the first record that fits it. Within
    messages of Kafka, `head` has the records without what is around them, so that bytes are no place in a file."""
    layout = find_layout(head, False)
    inner = head[layout.skipped :]
    spans = record_spans(Chunk(shown, layout.skipped, inner, layout))
    firsts: dict[str, tuple[int, int]] = {}
    for number, (start, end) in enumerate(spans, 1):
        for name in reasons.keys() - firsts.keys():
            if reader_of(name).sniff(inner[start:end]) is not None:
                firsts[name] = number, layout.skipped + start
        if len(firsts) == len(reasons):
            break
    if len(firsts) < len(reasons) or len(set(firsts.values())) == 1:
        listed = " and ".join(f"`{name}`" for name in reasons)
        help = "choose one of these formats with `--input-format`"
        return Diagnostic("GG309", f"the first records fit {listed}", shown, help)
    ordered = sorted(firsts.items(), key=lambda item: item[1])
    places = [
        f"record {number:,} {'' if envelope else f'at byte {start:,} '}fits `{name}` ({reasons[name]})"
        for name, (number, start) in ordered
    ]
    help = "put the records of each format into separate files, and read each format in a separate run"
    where = Span(file=shown, offset=None if envelope else ordered[1][1][1])
    return Diagnostic("GG309", f"the input has records of several formats: {', '.join(places)}", where, help)


def other_format(record: bytes, input_format: str) -> tuple[str, str] | None:
    """Return the format of a record that is none of the input's format, and why; None if it is of no other."""
    head, _ = plain_head(record)
    if input_format not in READ or reader_of(input_format).sniff(head) is not None:
        return None
    names = (name for name in _candidates(head) if name != input_format)
    reasons = {name: reason for name in names if (reason := reader_of(name).sniff(head))}
    return reasons.popitem() if len(reasons) == 1 else None


def explained(reject: Reject, input_format: str, why: str) -> Diagnostic:
    """Return why a record was rejected; if it is of another format, that too. `why`: the input has the format."""
    found = other_format(reject.record, input_format)
    if found is None:
        return reject.diagnostic
    name, reason = found
    help = f"this record has the format `{name}`: {reason}; ggfmt reads the input as `{input_format}`"
    help += f": {why}" * bool(why)
    last = "put the records of each format into separate files, and read each format in a separate run"
    return replace(reject.diagnostic, help=f"{help}; {last}")


def _candidates(head: bytes) -> list[str]:
    """Return the formats whose readers are worth loading for an input that starts like this."""
    return [name for name in READ if any(mark in head for mark in ENTRIES[name].marks)]


def _of_messages(names: Sequence[str], head: bytes) -> list[str]:
    layouts = {name: reader_of(name).layout(head, False, with_defaults(DEFAULT_SETTINGS, name)) for name in names}
    return [name for name, layout in layouts.items() if layout.envelope is not None]


def source_of_handler(configuration: Configuration) -> tuple[str, WriterSettings]:
    """Return format and settings of input that a configured handler wrote. Raises: UsageError GG105 for several
    handlers."""
    handlers = configuration.handlers
    if len(handlers) != 1:
        names = ", ".join(f"`{handler.name}`" for handler in handlers)
        message = f"the handler file of the input has more than one handler: {names}"
        raise UsageError("GG105", message, help="keep only one handler in its `gg.handlerlist`")
    (handler,) = handlers
    return handler.format, WriterSettings(
        handler.options, Context(handler.handler.include_tokens, configuration.run.compatibility)
    )


def reader_of(name: str, source: WriterSettings = DEFAULT_SETTINGS) -> type[Reader]:
    """Return the reader of an input format by its id, for messages of a source. Raises: UsageError GG309 for an unknown
    one."""
    if name not in READ:
        near = suggestion(name, READ)
        legal = f"legal values are `auto`, {', '.join(f'`{known}`' for known in READ)}"
        raise UsageError("GG309", f"`--input-format` cannot be `{name}`", help=f"{legal}; {near}" if near else legal)
    return FORMATS[name].read_support.by(source).reader


def with_defaults(source: WriterSettings, input_format: str) -> WriterSettings:
    """Return the source with the default options of the format where none are set. Raises: UsageError for illegal
    values."""
    make = FORMATS[input_format].options
    options, specs = source.options or make(), {spec.name: spec for spec in make.specs()}
    values = {}
    for name, text in source.given.items():
        if name not in specs and name == SCHEMA_REGISTRY:
            message = f"the input is `{input_format}`, whose messages name no schemas of a registry"
            help = "leave the schema registry out, or name an Avro format with `--input-format`"
            raise UsageError("GG103", message, help=help, topic=input_format)
        if name not in specs:
            help = suggestion(name, specs) or f"to list its properties, run `ggfmt options {input_format}`"
            message = f"`--input-option` names `{name}`, which is not a property of `{input_format}`"
            raise UsageError("GG103", message, help=help, topic=input_format)
        try:
            values[specs[name].attr] = specs[name].value(text)
        except InvalidValueError as error:
            raise UsageError("GG103", f"`--input-option {name}` {error}", help=error.help, topic=input_format) from None
    source = replace(source, options=replace(options, **values), given={})
    problem = _ambiguity(source, input_format)
    if problem is not None:
        raise UsageError.of(problem)
    return source


def _ambiguity(source: WriterSettings, input_format: str) -> Diagnostic | None:
    named = FORMATS[input_format].name_problem(source.options, source.context)
    if named is not None:
        return named.diagnostic
    words: dict[str, str] = {}
    for spec in source.options.specs():
        word = getattr(source.options, spec.attr)
        if isinstance(spec.kind, OpKey) and (other := words.setdefault(word, spec.name)) != spec.name:
            message = f"`{other}` and `{spec.name}` of the input are both `{visible(word)}`"
            help = "no reader can distinguish these operations; give each type of operation a different word"
            return Diagnostic("GG103", message, help=help, topic=input_format)
    return None


def read_head(file: InputFile, size: int = HEAD_BYTES) -> bytes:
    def head() -> bytes:
        with open_input(file) as stream:
            return stream.read(size)

    with unreadable_stops(file.shown):
        return retried(head)


def refuse_unsupported(file: InputFile, head: bytes) -> None:
    """Raise Abend GG309 for a file whose first bytes say that it is no text and no messages at all."""
    known = identify_unsupported(head)
    if known is not None:
        message, help = f"the input is {known.what}, which ggfmt does not read", known.help
        kind, _, misnamed = known.what.partition(" without")
        if misnamed and file.compression is not None:
            message = f"the input is compressed twice: decompressed once, it is {kind}"
            help = "decompress it, and read the result under a name with the right extension"
        if file.offsets is not None:
            message = f"the first value is {kind}, which ggfmt does not read"
            help = "name topics of changes alone; ggfmt reads what Kafka compresses, but no values that a program did"
        raise Abend("GG309", message, file.shown, help)


def layout_of(file: InputFile, reader: type[Reader], source: WriterSettings) -> Layout:
    head = read_head(file)
    if not reader.start or not head.startswith(reader.start):
        refuse_unsupported(file, head)
    layout = _topic_layout(file) or reader.layout(head, len(head) < HEAD_BYTES, source)
    keys = file.keys
    if file.key_schema is not None:
        from ggfmt.formats.avro.confluent import Registry

        keys = Registry(getattr(source.options, "schema_registry", "")).field_names(file.key_schema)
    return replace(layout, keys=keys, messages=file.messages)


def _topic_layout(file: InputFile) -> Layout | None:
    """Return the layout of a file with the JSON values of a topic, whose first bytes were read; None for another."""
    if file.messages is None:
        return None
    from ggfmt.formats.api.topic_index import TopicIndex
    from ggfmt.formats.json import topic_values

    return topic_values.layout_of(TopicIndex.of(file.messages))
