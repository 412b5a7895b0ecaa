"""Values of columns as bytes in a DTS image: a branch of a union, and a record.

ggfmt encodes a whole column at once. `EncodedColumn` lists the rows that it cannot encode, and counts the fractions
that it shortened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar.avro import NULL, VALUE, doubles, longs, rows_unlike, strings, text_bytes
from ggfmt.columnar.pieces import Piece, join_binary, zigzag_varint
from ggfmt.columnar.strings import bytes_of, rows_where
from ggfmt.dataclasses import dataclass
from ggfmt.formats.dts.schema import BRANCHES, EMPTY_OBJECTS
from ggfmt.formats.dts.types import MYSQL, ORACLE, POSTGRESQL
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Kind, SqlType

_BINARY = pa.binary()
_BRANCH = {name: zigzag_varint(place) for place, name in enumerate(BRANCHES)}
_NULL = pa.scalar(_BRANCH["null"], _BINARY)
_MISSING = pa.scalar(_BRANCH["EmptyObject"] + zigzag_varint(EMPTY_OBJECTS.index("NONE")), _BINARY)
_NOTHING = pa.scalar(b"", _BINARY)
_INTEGER_BYTES = 8


@dataclass(frozen=True)
class EncodedColumn:
    """The bytes of n values, the rows of wrong texts, and the number of fractions of a second that lost digits."""

    pieces: list[Piece]
    bad: list[int]
    cut: int = 0


CellEncoder = Callable[[pa.StringArray], EncodedColumn]  # from n texts without NULLs


@dataclass(frozen=True)
class Cells:
    """The encoding of one column; `filler` is a text that is valid for its type."""

    encode: CellEncoder
    filler: str

    def pieces(self, column: ImageColumn, rows: int) -> EncodedColumn:
        values, present = column.values, column.present
        valued = values.is_valid() if present is None else pc.and_(present, values.is_valid())
        if valued.true_count == rows:
            return self.encode(values)
        state = _NULL if present is None else pc.if_else(present, _NULL, _MISSING)
        if not valued.true_count:
            return EncodedColumn([state], [])
        encoded = self.encode(pc.if_else(valued, values, self.filler))
        cells = join_binary(encoded.pieces, rows)
        bad = [row for row in encoded.bad if valued[row].as_py()]
        return EncodedColumn([pc.if_else(valued, cells, state)], bad, encoded.cut)


FLOATS = (Kind.FLOAT, Kind.DOUBLE)  # kinds that messages have as doubles


def cells_of(type: SqlType, source_type: str) -> Cells:
    kind = type.kind
    if kind is Kind.BOOLEAN:
        return Cells(_booleans(source_type), "true")
    if source_type == ORACLE:
        if kind is Kind.INTEGER:
            return Cells(_decimals(type), "0")
        if kind is Kind.TIME:
            kind = Kind.STRING
    if kind is Kind.INTEGER:
        return Cells(_integers, "0")
    if kind in (Kind.DECIMAL, Kind.NUMBER):
        return Cells(_decimals(type), "0")
    if kind in FLOATS:
        return Cells(_floats(type), "0")
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        digits = 9 if source_type == ORACLE else 6
        return Cells(_dates(digits, midnight=source_type == ORACLE and kind is Kind.DATE), "1970-01-01")
    if kind is Kind.TIME:
        return Cells(_times, "00:00:00")
    if kind is Kind.BINARY:
        return Cells(_bytes("bytea" if source_type == POSTGRESQL else "blob"), "")
    if kind is Kind.INTERVAL and source_type == POSTGRESQL:
        return Cells(_texts("TextObject", "xtype"), "")
    return Cells(_texts("Character", "utf8mb4" if source_type == MYSQL else "utf8"), "")


def _texts(branch: str, word: str) -> CellEncoder:
    head = _BRANCH[branch] + text_bytes(word)
    return lambda values: EncodedColumn([head, *strings(values)], [])


def _integers(values: pa.StringArray) -> EncodedColumn:
    head = _BRANCH["Integer"] + zigzag_varint(_INTEGER_BYTES)
    return EncodedColumn([head, *strings(values)], rows_unlike(values, "^[+-]?[0-9]+$"))


_PLAIN_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$"
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?$"


def _decimals(type: SqlType) -> CellEncoder:
    """Encode decimals with the precision and scale of the type; if the type has none, with those of each value."""
    if type.precision is not None:
        sizes = zigzag_varint(type.precision) + zigzag_varint(type.scale or 0)
        return lambda values: EncodedColumn([_BRANCH["Decimal"], *strings(values), sizes], rows_unlike(values, _NUMBER))
    return _sized_decimals


def _sized_decimals(values: pa.StringArray) -> EncodedColumn:
    bad = rows_unlike(values, _NUMBER)
    precision = pc.cast(pc.utf8_length(pc.replace_substring_regex(values, "[^0-9]", "")), pa.int64())
    scale = pc.cast(pc.utf8_length(pc.replace_substring_regex(values, r"^[^.]*\.?", "")), pa.int64())
    with_exponent = rows_unlike(values, _PLAIN_NUMBER)
    if with_exponent:
        mask = pc.is_in(pa.array(range(len(values)), pa.int64()), pa.array(with_exponent, pa.int64()))
        sizes = [(0, 0) if row in bad else _sizes(values[row].as_py()) for row in with_exponent]
        precision = pc.replace_with_mask(precision, mask, pa.array([size for size, _ in sizes], pa.int64()))
        scale = pc.replace_with_mask(scale, mask, pa.array([digits for _, digits in sizes], pa.int64()))
    return EncodedColumn([_BRANCH["Decimal"], *strings(values), *longs(precision), *longs(scale)], bad)


def _sizes(text: str) -> tuple[int, int]:
    _, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    return len(digits), -exponent


def _floats(type: SqlType) -> CellEncoder:
    tail = zigzag_varint(type.precision or 0) + zigzag_varint(type.scale or 0)

    def encode(values: pa.StringArray) -> EncodedColumn:
        pieces, bad = doubles(values)
        return EncodedColumn([_BRANCH["Float"], *pieces, tail], bad)

    return encode


_BOOLEAN_TEXTS = pa.array(["false", "true"], pa.string())


def _booleans(source_type: str) -> CellEncoder:
    """Encode booleans as the source does: PostgreSQL as texts, other sources as the numbers 0 and 1."""
    if source_type == POSTGRESQL:
        cells = [_BRANCH["TextObject"] + text_bytes("bool") + text_bytes(text) for text in ("f", "t")]
    elif source_type == ORACLE:
        sizes = zigzag_varint(1) + zigzag_varint(0)
        cells = [_BRANCH["Decimal"] + text_bytes(text) + sizes for text in "01"]
    else:
        cells = [_BRANCH["Integer"] + zigzag_varint(1) + text_bytes(text) for text in "01"]
    encoded = pa.array(cells, _BINARY)

    def encode(values: pa.StringArray) -> EncodedColumn:
        places = pc.index_in(values, _BOOLEAN_TEXTS)
        bad = rows_where(places.is_null())
        return EncodedColumn([pc.fill_null(encoded.take(places), _NOTHING)], bad)

    return encode


def _bytes(type: str) -> CellEncoder:
    head = _BRANCH["BinaryObject"] + text_bytes(type)

    def encode(values: pa.StringArray) -> EncodedColumn:
        decoded = [bytes_of(text) for text in non_null_values(values)]
        bad = [row for row, data in enumerate(decoded) if data is None]
        return EncodedColumn([head, *strings(pc.fill_null(pa.array(decoded, _BINARY), _NOTHING))], bad)

    return encode


# Times. A regular expression finds the parts by name; a part that is absent is an empty text.

_DATE = "(?P<era>-?)(?P<year>[0-9]{4,6})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_CLOCK = r"(?P<hour>[0-9]{2,4}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,12}))?"
_ZONE = "(?: ?(?P<zone>Z|[+-][0-9]{1,2}(?::?[0-9]{2})?|[A-Z][A-Za-z0-9/_+-]*))?"
_TIMESTAMP = f"^{_DATE}(?:[ T:]{_CLOCK}{_ZONE})?$"
_TIME = f"^(?P<minus>-?){_CLOCK}$"
_SMALL = 100
_VARINTS = {sign: pa.array([VALUE + zigzag_varint(sign * n) for n in range(_SMALL)], _BINARY) for sign in (1, -1)}
_ABSENT = pa.scalar(NULL, _BINARY)


def _dates(digits: int, midnight: bool) -> CellEncoder:
    """Encode dates with or without a time of day; `midnight`: add 00:00:00 to a date without one."""

    def encode(values: pa.StringArray) -> EncodedColumn:
        parts = pc.extract_regex(values, _TIMESTAMP)
        bad = rows_where(parts.is_null())
        if bad:
            return EncodedColumn([b""], bad)
        part = _parts(parts)
        has_time = pc.not_equal(part["hour"], "")
        if midnight:
            part = {**part, **{name: pc.if_else(has_time, part[name], "00") for name in ("hour", "minute", "second")}}
            has_time = pa.repeat(pa.scalar(True), len(values))
        year = pc.if_else(pc.equal(part["era"], "-"), pc.binary_join_element_wise("-", part["year"], ""), part["year"])
        fraction, cut = _fraction(part["fraction"], digits, None)
        pieces = [
            VALUE, *longs(pc.cast(year, pa.int64())), _small(part["month"]), _small(part["day"]),
            *(pc.if_else(has_time, _small(part[name]), _ABSENT) for name in ("hour", "minute", "second")),
            *fraction,
        ]  # fmt: skip
        zone = part["zone"]
        zoned = pc.not_equal(zone, "")
        if not zoned.true_count:
            return EncodedColumn([_BRANCH["DateTime"], *pieces], [], cut)
        branch = pc.if_else(
            zoned, pa.scalar(_BRANCH["TimestampWithTimeZone"], _BINARY), pa.scalar(_BRANCH["DateTime"], _BINARY)
        )
        zones = pc.if_else(zoned, join_binary(strings(zone), len(zone)), _NOTHING)
        return EncodedColumn([branch, *pieces, zones], [], cut)

    return encode


def _times(values: pa.StringArray) -> EncodedColumn:
    parts = pc.extract_regex(values, _TIME)
    bad = rows_where(parts.is_null())
    if bad:
        return EncodedColumn([b""], bad)
    part = _parts(parts)
    minus = pc.equal(part["minus"], "-")
    hour = pc.cast(part["hour"], pa.int64())
    if minus.true_count:
        hour = pc.if_else(minus, pc.negate(hour), hour)
    fraction, cut = _fraction(part["fraction"], 6, minus)
    return EncodedColumn(
        [
            _BRANCH["DateTime"] + NULL * 3 + VALUE, *longs(hour), _small(part["minute"], minus),
            _small(part["second"], minus), *fraction,
        ],
        [],
        cut,
    )  # fmt: skip


def _parts(parts: pa.StructArray) -> Mapping[str, pa.StringArray]:
    names = (parts.type.field(i).name for i in range(parts.type.num_fields))
    return dict(zip(names, map(as_strings, parts.flatten()), strict=True))


def _small(texts: pa.StringArray, minus: pa.BooleanArray | None = None) -> pa.BinaryArray:
    """Return numbers of at most two digits, negative for negative times; null for an empty text."""
    numbers = pc.if_else(pc.equal(texts, ""), "0", texts).cast(pa.int32())
    encoded = _VARINTS[1].take(numbers)
    if minus is None or not minus.true_count:
        return encoded
    return pc.if_else(minus, _VARINTS[-1].take(numbers), encoded)


def _fraction(texts: pa.StringArray, digits: int, minus: pa.BooleanArray | None) -> tuple[list[Piece], int]:
    """Return fractions of a second as numbers with `digits` digits, and how many of them lost a digit that is not 0."""
    there = pc.not_equal(texts, "")
    if not there.true_count:
        return [NULL], 0
    cut = pc.match_substring_regex(texts, f"^[0-9]{{{digits}}}0*[1-9]").true_count
    numbers = pc.cast(pc.utf8_slice_codeunits(pc.utf8_rpad(texts, digits, "0"), 0, digits), pa.int64())
    if minus is not None and minus.true_count:
        numbers = pc.if_else(minus, pc.negate(numbers), numbers)
    encoded = pc.if_else(there, join_binary([VALUE, *longs(numbers)], len(texts)), _ABSENT)
    return [encoded], cut
