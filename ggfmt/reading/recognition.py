"""The inputs of a run: which format they have, how they were written, and how their records follow each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError, suggestion
from ggfmt.formats import ENTRIES, FORMATS, READ
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Context, WriterSettings
from ggfmt.formats.api.reading import MAX_RECORD_BYTES, Chunk, Layout, Reader, Reject, record_size_error
from ggfmt.formats.json.cut import RecordBoundaries
from ggfmt.formats.json.dumps import plain_head
from ggfmt.formats.json.files import UnsupportedMessages, find_layout, preamble, record_spans, unread
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.lazy import lazy_regex
from ggfmt.location import retried
from ggfmt.options.value_types import OpKey
from ggfmt.reading.files import InputFile, open_input, unreadable_stops

if TYPE_CHECKING:
    from ggfmt.config.handlers import Configuration  # loads the readers of handler files, which workers do not need

SCHEMA_REGISTRY = "schemaRegistry"  # which has an option of its own
HEAD_BYTES = 256 << 10
ENOUGH_HEAD_BYTES = 1 << 20  # of the head in which a record is looked for that shows the format
LONGEST_HEAD_BYTES = 64 << 20  # of the head in which the end of the first record is looked for
_OF_HEADERS = (b"<", b"Obj\x01")  # files whose first bytes show the format, though the first record is not whole

# Files that ggfmt does not read and that their first bytes name: archives, tables of other systems, trail files.

_UNPACK = "unpack it, and read the files in it"
_EXPORT = "export changes in a format that `ggfmt formats` lists; a table has no operations"
_TRAIL = (
    "let a Replicat of GoldenGate for Big Data write the trail as `json`, for example with a File Writer handler, "
    "and read those files"
)
_AGAIN = "add `%s` to the file name"

# How such files start; the first that fits counts. None of these can be the start of a text, or of messages in Avro.
# The header record of a trail begins with `F`, and in it the first token of the first group has a signature, as dumps
# of headers by Logdump show it: http://oracle-help.com/goldengate/logdump-utility-in-golden-gate/.
_STARTS = tuple(
    (lazy_regex(start, re.DOTALL), UnsupportedMessages(what, help))
    for start, what, help in (
        (rb".{0,56}GG\r\nTL\n\r", "a GoldenGate trail file", _TRAIL),
        (rb"PK(?:\x03\x04|\x05\x06|\x07\x08)(?=.*\[Content_Types\]\.xml)(?=.*xl/)", "an Excel workbook", _EXPORT),
        (rb"PK(?:\x03\x04|\x05\x06|\x07\x08)", "a ZIP archive", _UNPACK),
        (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
        (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
        (rb"\x1f\x8b\x08", "a gzip file without the extension `.gz`", _AGAIN % ".gz"),
        (rb"\xfd7zXZ\0", "an xz file without the extension `.xz`", _AGAIN % ".xz"),
        (rb"\x28\xb5\x2f\xfd", "a zstd file without the extension `.zst`", _AGAIN % ".zst"),
        (rb"BZh.(?:1AY&SY|\x17rE8P\x90)", "a bzip2 file without the extension `.bz2`", _AGAIN % ".bz2"),
        (rb"\x04\x22\x4d\x18", "an LZ4 file", "decompress it, or compress it with gzip, bzip2, xz or zstd"),
        (rb"\xff\x06\0\0sNaPpY", "a Snappy file", "decompress it, or compress it with gzip, bzip2, xz or zstd"),
        (rb"PAR1\x15", "a Parquet file", _EXPORT),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a Microsoft Office document, such as an Excel workbook", _EXPORT),
        (rb"SQLite format 3\0", "a SQLite database", _EXPORT),
        (rb"ORC.{0,60}[\0-\x08]", "an ORC file", _EXPORT),
        (rb"(?=.{0,256}\0).{257}ustar", "a tar archive", _UNPACK),
    )
)


def identify_unsupported(head: bytes) -> UnsupportedMessages | None:
    """Return the kind of a file that ggfmt does not read, by its first bytes, decompressed; None for others."""
    return next((known for start, known in _STARTS if start.match(head)), None)


@dataclass(frozen=True)
class PlannedInput:
    """A file of the run: its place among inputs and its layout. `whole`: it is not cut, whatever its layout says."""

    file: InputFile
    index: int
    layout: Layout
    whole: bool = False


def detect_format(files: Sequence[InputFile], max_record: int = MAX_RECORD_BYTES) -> tuple[str, str]:
    """Return the input format by the first input that holds anything, and why. Raises: Abend GG309 if none or two fit,
    GG316 if its first record is longer than `max_record` bytes."""
    most = max(LONGEST_HEAD_BYTES, max_record + HEAD_BYTES)
    for file in files:
        size = HEAD_BYTES
        while True:
            stored = read_head(file, size)
            refuse_unsupported(file, stored)
            is_cut = len(stored) == size and _is_cut(stored)
            if is_cut and size < most and not stored.startswith(_OF_HEADERS):
                size = min(4 * size, most)
                continue
            head, envelope = plain_head(stored)
            names = _candidates(head) if envelope is None else _of_messages(_candidates(head), stored)
            reasons = {name: reason for name in names if (reason := reader_of(name).sniff(head))}
            if reasons or len(stored) < size or size >= (most if is_cut else min(most, ENOUGH_HEAD_BYTES)):
                break
            size = min(4 * size, most)
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
            "name only change files; correct a damaged record; if the properties are not the default, give the handler "
            "file with `--input-config`, or `--input-format` and `--input-option`"
        )
        if envelope is not None:
            verdict = f"is one of {envelope}, and its content fits no JSON format"
            help = (
                "ggfmt reads only messages in JSON: for other messages, read the files of a sink; for JSON, give "
                "`--input-format`"
            )
        from ggfmt.formats.goldengate.delimited.guess import guessed_command
        from ggfmt.reading.foreign_files import identify_foreign

        command = guessed_command(file.shown, head[:HEAD_BYTES]) if envelope is None else None
        if command is not None:
            verdict = "looks like delimited text, whose settings no file shows"
            help = f"give the handler file that wrote it with `--input-config`, or try `{command}`"
        known = unread(head)
        foreign = None if known or envelope or command else identify_foreign(stored)
        if foreign is not None:
            verdict, help = f"fits no input format; the file looks like {foreign.what}", foreign.help
        if known is not None:
            verdict, help = f"is {known.what}, which ggfmt does not read", known.help
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
    refuse_unsupported(file, head)
    layout = reader.layout(head, len(head) < HEAD_BYTES, source)
    keys = file.keys
    if file.key_schema is not None:
        from ggfmt.formats.avro.confluent import Registry

        keys = Registry(getattr(source.options, "schema_registry", "")).field_names(file.key_schema)
    return replace(layout, keys=keys, messages=file.messages)
