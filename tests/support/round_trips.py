"""What a reader gets of operations that a format has written, by the losses that it declares: the meaning of each loss,
done to plain operations. A story has what there is to lose; engines write and read it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from fidelity import FidelityLevel
from runs import output_files, run_ggfmt, write_lines

from ggfmt.config.handlers import read_configuration
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Context, WriterSettings
from ggfmt.formats.api.losses import Aspect, Loss, active_losses
from ggfmt.model.change import OpType
from ggfmt.model.table import Column, Kind, SqlType, TableDef

STORY_FORMAT = "goldengate_streams_json"  # in which a story is written
WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None]
READ = [name for name in WRITTEN if FORMATS[name].reads is not None]

Row = dict[str, str | None]


@dataclass(frozen=True)
class Operation:
    """One operation; `table` is the name of its table."""

    op: str
    before: Row | None = None
    after: Row | None = None
    op_ts: str | None = "2013-06-02 22:14:36.123456"
    pos: str | None = None
    tokens: dict[str, str] = field(default_factory=dict)
    table: str = "GG.ORDERS"


COLUMNS = (
    Column("ID", key=1),
    Column("NAME"),
    Column("NOTE"),
    Column("AMOUNT", SqlType(Kind.DECIMAL, precision=12, scale=2)),
    Column("RATE", SqlType(Kind.DOUBLE)),
    Column("COUNT", SqlType(Kind.INTEGER)),
    Column("AT", SqlType(Kind.TIMESTAMP)),
)
KINDS = {column.name: column.type.kind for column in COLUMNS}
TABLES = {name: TableDef(name, COLUMNS) for name in ("GG.ORDERS", "LONE", "CAT.GG.ORDERS")}

OF_SOURCE_BLOCKS = ("gtid",)  # the tokens of the story that Debezium has members for

# The words that stand for NULL and for a missing column, where these are texts.
NULL_WORD, MISSING_WORD, PLACEHOLDER = "null", "missing", "__debezium_unavailable_value"

_STORY = [
    Operation("I", None, {"ID": "1", "NAME": "Ä表😀", "NOTE": None}, tokens={"R": "AAA", "L": "1", "xid": "42"}),
    Operation(
        "U",
        {"ID": "1", "NAME": "Ä表😀", "NOTE": None},
        {"ID": "1", "NAME": None, "NOTE": "]]>&<'\""},
        tokens={"xid": "42"},
    ),
    Operation("U", {"ID": "1"}, {"ID": "1", "NOTE": "only what changed"}, tokens={"W": "a,b=c", "gtid": "u:1"}),
    Operation("U", {"ID": "1", "NAME": "gone", "NOTE": None}, {"ID": "1", "NAME": "NULL without an after image of it"}),
    Operation("U", None, {"ID": "1", "NAME": "without a before image"}, tokens={"trans": "T", "transactionId": "x"}),
    Operation("U", {}, {"ID": "1", "NAME": "a before image without columns"}),
    Operation("U", {"ID": "1", "NAME": "x"}, {"ID": "1", "NAME": "y", "NOTE": "that the before image lacks"}),
    Operation("U", {"ID": "1", "NAME": "same"}, {"ID": "2", "NAME": "same"}),
    Operation("D", {"ID": "2"}, None, tokens={"R": "BBB", "timestamp": "t", "pk_uk_info": "k"}),
    Operation("T"),
    Operation("I", None, {"ID": "3", "NAME": "", "NOTE": "0123456789" * 5}),
    Operation("I", None, {"ID": "4", "AMOUNT": "17520.00", "RATE": "0.10"}),
    Operation("I", None, {"ID": "5", "AMOUNT": "+1.50", "RATE": "+0.25"}),
    Operation("I", None, {"ID": "6", "AT": "2013-06-02 22:14:36.123456"}),
    Operation("I", None, {"ID": "7", "AT": "2013-06-02 22:14:36.5"}),
    Operation("I", None, {"ID": "8", "NAME": NULL_WORD, "NOTE": MISSING_WORD}),
    Operation("I", None, {"ID": "9", "NAME": PLACEHOLDER}),
    Operation("I", None, {"ID": "10", "AMOUNT": "12.5"}, pos="0x1F:2"),
    Operation("I", None, {"ID": "11"}, pos="77"),
]
# Operations of which the source has less than others: neither time nor position, or one of them.
_UNTIMED = [
    Operation("I", None, {"ID": "20", "NAME": "a"}, op_ts=None),
    Operation("U", {"ID": "20", "NAME": "a"}, {"ID": "20", "NAME": "b"}, op_ts=None),
    Operation("U", None, {"ID": "20", "NAME": "c"}, op_ts=None),
    Operation("D", {"ID": "20", "NAME": "c"}, None, op_ts=None),
    Operation("I", None, {"ID": "21"}, op_ts=None, pos="98"),
    Operation("U", None, {"ID": "21", "NAME": "d"}, op_ts=None, pos="99"),
    Operation("U", None, {"ID": "21", "NAME": "e"}),
]
STORY = [replace(item, pos=item.pos or f"{number:020d}") for number, item in enumerate(_STORY)] + _UNTIMED
# What a format that reads it may refuse after another has changed it: 7.0 is no whole number.
WHOLE_STORY = [
    *STORY,
    Operation("I", None, {"ID": "12", "COUNT": "7"}, pos="78"),
    Operation("I", None, {"ID": "13", "COUNT": "+8"}, pos="79"),
    Operation("I", None, {"ID": "14", "RATE": "0.1234567890123456789"}, pos="80"),
]


# What losses do


def _images(item: Operation, change: Callable[[str, str | None], tuple[str, str | None] | None]) -> Operation:
    """The operation with the values of both images changed, less those that `change` gives None for."""

    def row(image: Row | None) -> Row | None:
        if image is None:
            return None
        made = (change(name, value) for name, value in image.items())
        return dict(pair for pair in made if pair is not None)

    return replace(item, before=row(item.before), after=row(item.after))


def _values(loss: Loss, item: Operation, change: Callable[[str], str | None]) -> Operation:
    """The operation with the values of the columns that a loss is of changed."""

    def other(name: str, value: str | None) -> tuple[str, str | None]:
        wanted = value is not None and (not loss.kinds or KINDS[name] in loss.kinds)
        return name, change(value) if wanted and value is not None else value

    return _images(item, other)


def _missing_as_null(loss: Loss, item: Operation) -> Operation:
    def filled(image: Row | None) -> Row | None:
        names = [name for name, kind in KINDS.items() if not loss.kinds or kind in loss.kinds]
        return None if image is None else {**dict.fromkeys(names), **image}

    before = item.before if "whole row" in loss.detail and item.op == "U" else filled(item.before)
    return replace(item, before=before, after=filled(item.after))


def _after_missing_as_null(loss: Loss, item: Operation) -> Operation:
    if item.op != "U" or item.before is None or item.after is None:
        return item
    return replace(item, after={**dict.fromkeys(item.before), **item.after})


def _null_as_missing(loss: Loss, item: Operation) -> Operation:
    def less(image: Row | None) -> Row | None:
        return None if image is None else {name: value for name, value in image.items() if value is not None}

    before = less(item.before)
    if loss.detail and item.op == "U" and item.before is not None:  # which has what changed alone
        same = {name for name, value in (item.after or {}).items() if value is None}
        before = {name: value for name, value in item.before.items() if value is not None or name not in same}
    return replace(item, before=before, after=less(item.after))


def _of_update(change: Callable[[Row, Row], Row | None]) -> Callable[[Loss, Operation], Operation]:
    """Changes the before image of an update that has one, by both images."""

    def done(loss: Loss, item: Operation) -> Operation:
        if item.op != "U" or item.before is None or item.after is None:
            return item
        return replace(item, before=change(item.before, item.after))

    return done


def _no_before_as_empty(loss: Loss, item: Operation) -> Operation:
    return replace(item, before={}) if item.op == "U" and item.before is None else item


def _after_changes_only(loss: Loss, item: Operation) -> Operation:
    if item.op != "U" or item.before is None or item.after is None:
        return item
    old = item.before
    after = {name: value for name, value in item.after.items() if name not in old or old[name] != value}
    return replace(item, after=after)


def _digits_of_double(loss: Loss, item: Operation) -> Operation:
    return _values(loss, item, lambda text: repr(float(text)))


def _number_spelling(loss: Loss, item: Operation) -> Operation:
    return _values(loss, item, lambda text: text.removeprefix("+"))


def _scale_of_column(loss: Loss, item: Operation) -> Operation:
    return _images(
        item,
        lambda name, value: (name, f"{float(value):.2f}" if value and KINDS[name] is Kind.DECIMAL else value),
    )


def _times(change: Callable[[str, int], str]) -> Callable[[Loss, Operation], Operation]:
    """Changes the times in columns."""

    def done(loss: Loss, item: Operation) -> Operation:
        def other(name: str, value: str | None) -> tuple[str, str | None]:
            return name, change(value, loss.digits) if value and KINDS[name] is Kind.TIMESTAMP else value

        return _images(item, other)

    return done


def _cut(text: str, digits: int) -> str:
    whole, dot, rest = text.partition(".")
    return f"{whole}{dot}{rest[:digits]}"


def _filled(text: str, digits: int) -> str:
    whole, _, rest = text.partition(".")
    return f"{whole}.{rest:0<{digits}}"


def _text_as_state(loss: Loss, item: Operation) -> Operation:
    def other(name: str, value: str | None) -> tuple[str, str | None] | None:
        if value == MISSING_WORD and "missing" in loss.detail:
            return None
        return name, None if value == NULL_WORD else value

    return _images(item, other)


def _placeholder(loss: Loss, item: Operation) -> Operation:
    return _images(item, lambda name, value: None if value == PLACEHOLDER else (name, value))


def _tokens(keep: Callable[[Loss, str, str], bool]) -> Callable[[Loss, Operation], Operation]:
    def done(loss: Loss, item: Operation) -> Operation:
        kept = {name: text for name, text in item.tokens.items() if keep(loss, name, text)}
        return replace(item, tokens=kept)

    return done


def _is_whole(text: str) -> bool:
    return re.fullmatch("-?(0|[1-9][0-9]*)", text) is not None


def _token_delimiters(loss: Loss, item: Operation) -> Operation:
    joined = ",".join(f"{name}={text}" for name, text in item.tokens.items())
    pairs = (pair.partition("=") for pair in joined.split(",") if pair)
    return replace(item, tokens={name: text for name, _, text in pairs})


def _position_whole_number(loss: Loss, item: Operation) -> Operation:
    return replace(item, pos=str(int(item.pos)) if item.pos and item.pos.isdecimal() else None)


def _position_by_gtid(loss: Loss, item: Operation) -> Operation:
    return replace(item, pos=item.tokens.get("gtid", item.pos))


def _token_from_position(loss: Loss, item: Operation) -> Operation:
    return replace(item, tokens={"gtid": item.pos, **item.tokens} if item.pos else item.tokens)


def _tokens_added(loss: Loss, item: Operation) -> Operation:
    return replace(item, tokens={**item.tokens, "source.sourceType": "MySQL"}) if "sourceType" in loss.detail else item


def _same(loss: Loss, item: Operation) -> Operation:
    """What concerns tables, or values that the story has not: `test_fidelity` shows these."""
    return item


_DONE: dict[str, Callable[[Loss, Operation], Operation]] = {
    "missing_as_null": _missing_as_null,
    "null_as_missing": _null_as_missing,
    "before_not_shown": lambda loss, item: replace(item, before=item.before if item.op == "D" else None),
    "unchanged_before_as_none": _of_update(
        lambda old, new: None if all(name in new and new[name] == value for name, value in old.items()) else old
    ),
    "no_before_as_empty": _no_before_as_empty,
    "empty_before_as_none": lambda loss, item: replace(item, before=item.before or None),
    "before_overlaid": _of_update(lambda old, new: {**new, **old}),
    "after_missing_as_null": _after_missing_as_null,
    "before_missing_as_null": _of_update(lambda old, new: {**dict.fromkeys(new), **old}),
    "before_null_as_missing": _of_update(
        lambda old, new: {name: value for name, value in old.items() if value is not None or name in new}
    ),
    "after_changes_only": _after_changes_only,
    "digits_of_double": _digits_of_double,
    "number_spelling": _number_spelling,
    "scale_of_column": _scale_of_column,
    "time_cut": _times(_cut),
    "time_filled": _times(_filled),
    "zone_cut": _same,
    "time_spelling": _times(lambda text, digits: text.replace(" ", "T") + "Z"),
    "text_as_state": _text_as_state,
    "placeholder_as_missing": _placeholder,
    "delimiter_inside": _same,
    "nested_as_text": _same,
    "character_replaced": _same,
    "time_digits": lambda loss, item: replace(item, op_ts=item.op_ts and _filled(_cut(item.op_ts, loss.digits), 6)),
    "time_not_shown": lambda loss, item: replace(item, op_ts=None),
    "position_not_shown": lambda loss, item: replace(
        item, pos=item.tokens.get("gtid") if "`gtid`" in loss.detail else None
    ),
    "position_whole_number": _position_whole_number,
    "position_by_gtid": _position_by_gtid,
    "token_from_position": _token_from_position,
    "nothing_for_zero": _same,
    "tokens_not_shown": _tokens(lambda loss, name, text: loss.part and name in OF_SOURCE_BLOCKS),
    "tokens_by_name": _tokens(lambda loss, name, text: name in loss.names),
    "tokens_whole_numbers": _tokens(lambda loss, name, text: name in loss.names or _is_whole(text)),
    "tokens_added": _tokens_added,
    "tokens_reserved": _tokens(lambda loss, name, text: name not in loss.names),
    "token_delimiters": _token_delimiters,
    "keys_not_shown": _same,
    "key_in_table_order": _same,
    "types_not_shown": _same,
    "types_by_encoding": _same,
    "types_by_value": _same,
    "types_nearest": _same,
    "sizes_not_shown": _same,
    "catalog_not_shown": _same,
}


def survives(story: Iterable[Operation], losses: Iterable[Loss]) -> list[Operation]:
    """What comes back of a story that was written with some losses."""
    found = list(story)
    for loss in losses:
        found = [made for item in found for made in _after(loss, item)]
    return found


def _after(loss: Loss, item: Operation) -> list[Operation]:
    """The operations that one becomes."""
    if loss.id in _REFUSED:
        return [] if _REFUSED[loss.id](loss, item) else [item]
    if loss.id == "key_update_split":
        if not _changes_key(item):
            return [item]
        return [replace(item, op="D", after=None), replace(item, op="I", before=None)]
    if loss.id == "time_filled" and "reject" in loss.detail and (_is_finer(loss, item) or _is_unlike_mask(loss, item)):
        return []
    return [_DONE[loss.id](loss, item)]


def _is_unlike_mask(loss: Loss, item: Operation) -> bool:
    """Whether the time of an operation has not the six digits that the mask of the handlers has."""
    stamp = (item.after or {}).get("AT")
    return "mask" in loss.detail and stamp is not None and len(stamp.partition(".")[2]) != 6


_REFUSED: dict[str, Callable[[Loss, Operation], bool]] = {
    "truncate_refused": lambda loss, item: item.op == "T" and not loss.part,
    "inserts_only": lambda loss, item: item.op != "I",
    "key_update_refused": lambda loss, item: _changes_key(item),
}


def _is_finer(loss: Loss, item: Operation) -> bool:
    stamp = (item.after or {}).get("AT")
    return stamp is not None and len(stamp.partition(".")[2]) > loss.digits


def _changes_key(item: Operation) -> bool:
    both = item.before is not None and item.after is not None
    return both and (item.before or {}).get("ID", "") not in ("", (item.after or {}).get("ID"))


def by_value(item: Operation) -> Operation:
    """The operation by what it means: numbers by value, times as instants, an image without columns as none."""

    def number(text: str) -> str:
        return f"{Decimal(text).normalize():f}"

    def row(image: Row | None) -> Row | None:
        values = {}
        for name, text in (image or {}).items():
            if text is not None and KINDS[name] in (Kind.DECIMAL, Kind.DOUBLE, Kind.INTEGER):
                text = number(text)
            if text is not None and KINDS[name] is Kind.TIMESTAMP:
                text = _filled(text.replace("T", " ").removesuffix("Z"), 9)
            values[name] = text
        return values or None

    return replace(item, before=row(item.before), after=row(item.after))


# How much is left


def levels(story: Sequence[Operation], found: Sequence[Operation], before: bool) -> dict[Aspect, FidelityLevel]:
    """How much of each aspect of messages came back: all, some or none of what the story has of it; of updates without
    the before images if these are said to be lost (`before`)."""
    rest = [item for item in story if item.op != "T"]
    pairs = list(zip(rest, [item for item in found if item.op != "T"], strict=True))
    images = [
        (old, new)
        for item, back in pairs
        for old, new in ((item.before if before or item.op == "D" else None, back.before), (item.after, back.after))
        if old is not None and new is not None
    ]
    left: dict[Aspect, list[bool]] = {
        Aspect.MISSING: [
            name not in old and name not in new
            for old, new in images
            for name in KINDS
            if name not in old or (name not in new and old[name] not in _MISTAKEN)
        ],
        Aspect.NULL: [name in new and new[name] is None for old, new in images for name in old if old[name] is None],
        Aspect.DIGITS: [
            all(new.get(name) == text for old, new in images for text in texts if old.get(name) == text)
            for name, texts in _DIGITS.items()
        ],
        Aspect.MICROSECONDS: [item.op_ts == back.op_ts for item, back in pairs if item.op_ts],
        Aspect.TOKENS: [back.tokens.get(name) == text for item, back in pairs for name, text in item.tokens.items()],
        Aspect.POSITION: [item.pos == back.pos for item, back in pairs if item.pos],
    }
    return {aspect: share(shares) for aspect, shares in left.items()}


def share(left: Iterable[bool]) -> FidelityLevel:
    shares = set(left)
    assert shares, "the story has nothing of this to lose"
    return FidelityLevel.PART if len(shares) == 2 else FidelityLevel.KEPT if True in shares else FidelityLevel.LOST


_MISTAKEN = (None, NULL_WORD, MISSING_WORD, PLACEHOLDER)  # what may become missing by a loss of its own
_DIGITS = {"AMOUNT": ("17520.00", "12.5"), "RATE": ("0.10",)}


# Engines


def handler(name: str, folder: Path, *settings: str) -> list[str]:
    """A handler `h` of a format that can be read again, with `settings` such as `includeTokens=true`; the properties
    of formats among them have their names alone."""
    specs = {spec.name for spec in FORMATS[name].options.specs()}
    lines = {
        "includeTokens": "true",
        "schemaDirectory": str(folder),
        "pkUpdateHandling": "update",
        "encoding": "UTF-8",
        "nullValueRepresentation": NULL_WORD,
        "missingValueRepresentation": MISSING_WORD,
        "fieldDelimiter": "|",
        "jsonDelimiter": "CDATA[\\n]",
        "includeHeader": "true",
        "updateData": "all",
    }
    lines |= {name: value for name, _, value in (setting.partition("=") for setting in settings)}
    below = "" if FORMATS[name].handler_type else "format."
    release = "ggfmt.compatibility=12.2"  # a property of a later release would change the metadata
    return [f"gg.handler.h.format={name}", release, "gg.format.timestamp=yyyy-MM-dd HH:mm:ss.SSSSSS"] + [
        f"gg.handler.h.{below if key in specs else ''}{key}={value}"
        for key, value in lines.items()
        if key in specs or key in ("includeTokens", "partitionByTable")
    ]


def written_by(lines: Iterable[str]) -> WriterSettings:
    """The options of a reader, from the handler that wrote its input."""
    (configured,) = read_configuration([], list(lines)).handlers
    return WriterSettings(configured.options, Context(include_tokens=configured.handler.include_tokens))


def losses_of(name: str, lines: Iterable[str]) -> tuple[Loss, ...]:
    """The losses that a handler of a format declares."""
    told = written_by(lines)
    return active_losses(FORMATS[name].losses, told.options, told.context)


_VIEW = (
    "treatAllColumnsAsStrings=true",
    "includeObjectMetadataRecords=false",
    *(f"{word}OpKey={word[0].upper()}" for word in ("insert", "update", "delete", "truncate")),
)


def view(source: Path, out: Path, input_format: str, told: WriterSettings | None = None) -> list[Operation]:
    """The operations of an input, through a format that has a place for each part of them."""
    lines = handler("goldengate_streams_json", out, *_VIEW)
    told = told or DEFAULT_SETTINGS
    run_ggfmt([source], out, *lines, input_format=input_format, definitions=TABLES, source=told)
    found = []
    for path in output_files(out, "h"):
        for line in path.read_bytes().splitlines():
            record: dict[str, Any] = json.loads(line)
            tokens = {**record["tokens"], **{name: record[name] for name in ("xid",) if name in record}}
            found.append(
                Operation(
                    record["op_type"],
                    record.get("before"),
                    record.get("after"),
                    record.get("op_ts"),
                    record.get("pos"),
                    tokens,
                    record["qual_table"],
                )
            )
    return found


def write_story(path: Path, story: Iterable[Operation]) -> Path:
    """The story in JSON of Data Streams, which has a place for all of it."""
    records = []
    for item in story:
        head = {"qual_table": item.table, "op_type": OpType(item.op).name, "op_ts": item.op_ts, "pos": item.pos}
        record: dict[str, Any] = head
        record |= {"tokens": item.tokens, "before": item.before, "after": item.after}
        records.append({name: value for name, value in record.items() if value is not None})
    return write_lines(path, records)


def write_as(
    source: Path,
    name: str,
    out: Path,
    *settings: str,
    input_format: str = STORY_FORMAT,
    told: WriterSettings | None = None,
    strict: bool = False,
) -> tuple[Path, WriterSettings]:
    """Writes an input as a format. Where the output is, without what was set aside, and the options of its reader."""
    lines = handler(name, out / "dirdef", *settings)
    told = told or DEFAULT_SETTINGS
    run_ggfmt(
        [source],
        out,
        *lines,
        input_format=input_format,
        source=told,
        definitions=TABLES,
        quarantine=True,
        strict=strict,
    )
    shutil.rmtree(out / "h" / "_rejects", ignore_errors=True)
    return out / "h", written_by(lines)


def of_story(found: Iterable[Operation]) -> list[Operation]:
    """Operations with tokens of the story alone: systems add some of their own."""
    names = {name for item in STORY for name in item.tokens} | {"b"}
    return [replace(item, tokens={k: v for k, v in item.tokens.items() if k in names}) for item in found]
