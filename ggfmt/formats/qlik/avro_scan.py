"""Changes of Qlik Replicate in Avro made JSON for the native scanner, as far as they are regular.

The rows of such JSON have the texts that `avro_values` makes of values, and all else is as a decoded message has it. A
schema has a number, a part of the identity of its records: what a mask or a row is depends on it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from ggfmt.formats.api.reading import Chunk, Spans
from ggfmt.formats.avro import programs
from ggfmt.formats.avro.programs import Program, UnsupportedSchemaError
from ggfmt.formats.qlik import avro_values as texts
from ggfmt.formats.qlik.avro_values import Maker
from ggfmt.formats.qlik.envelope import MOST_BYTES, EnvelopeError, read_head
from ggfmt.formats.qlik.messages import QlikHeaders
from ggfmt.formats.records.scanner import places_of
from ggfmt.kernels import REFUSALS, native

Rows = Mapping[str, Mapping[str, Maker | None]]  # by the member, and by the column

_MASKS = ("changeMask", "columnMask")
_WORDS = frozenset({programs.NULL, programs.STRING, programs.ENUM})
_HEADER = _WORDS | {programs.LONG, programs.BOOLEAN}
_MASK = _WORDS | {programs.BYTES, programs.FIXED}
_AS_THEY_ARE = _HEADER | _MASK | {programs.DOUBLE}
_ODD = b"?"  # no JSON: in the place of a record that is for the exact reader
_TAIL = b"}"
_MOST_MARKS = 1024  # that are remembered
_FEW = 16  # records that are made JSON at once, after some that were no records


@dataclass(frozen=True, eq=False)
class Plan:
    """How messages of one schema are decoded, the schema as fastavro's `parse_schema` has it; of changes also, for each
    row, what makes texts of values."""

    decode: Any
    rows: Rows


class JsonOfChanges:
    """Makes JSON of the records of chunks. `plan_of` gives the plan of changes that start with some bytes, up to their
    message, and the id of their schema; None for records that are no changes, or none that can be decoded."""

    def __init__(self, plan_of: Callable[[bytes], tuple[Plan, str | None] | None]) -> None:
        self._plan_of = plan_of
        self._forms: dict[bytes, _Form | None] = {}  # by what the records start with
        self._writers: dict[Plan, tuple[Any, int]] = {}  # with their numbers
        self._size = 0  # of what stood before the message of the last record

    def of(self, chunk: Chunk) -> Chunk:
        """The chunk with a record of JSON, or what is none, for each of its records."""
        if len(chunk.data) > MOST_BYTES:
            return chunk
        data, places = chunk.data, places_of(chunk.spans or ())
        count = len(places) // 2
        made: list[bytes] = []
        spans = Spans()
        place = size = 0
        most = count
        while place < count:
            start, end = places[2 * place], places[2 * place + 1]
            mark, form = self._form(data, start, end)
            taken = 0
            if form is not None:
                asked = min(most, count - place)
                done, stop, text, sizes = form.writer.write(data, start, asked, mark, form.head, _TAIL)
                if done == 1 and stop == end:  # records of several tables stand in turns
                    made.append(text)
                    spans.add(size, size + len(text))
                    size += len(text)
                    place += 1
                    continue
                borders = array("q")
                borders.frombytes(sizes)
                taken = _first_other(borders[::2], places[2 * place + 1 : 2 * place + len(borders) : 2])
                most = 4 * asked if 2 * taken == len(borders) else _FEW
                if taken:
                    ends = borders[1 : 2 * taken : 2]
                    made.append(text[: ends[-1]])
                    spans.follow(size, ends)
                    size += ends[-1]
            if not taken:
                taken = 1
                made.append(_ODD)
                spans.add(size, size + len(_ODD))
                size += len(_ODD)
            place += taken
        return replace(chunk, data=b"".join(made), spans=spans)

    def _form(self, data: bytes, start: int, end: int) -> tuple[bytes, _Form | None]:
        """What stands before the message of a record, and the form of those that start so."""
        mark = data[start : start + self._size]
        if not mark or mark not in self._forms:
            try:
                *_, self._size = read_head(data[start:end], 0)
            except EnvelopeError:
                return b"", None
            mark = data[start : start + self._size]
            if mark not in self._forms:
                if len(self._forms) >= _MOST_MARKS:
                    self._forms.clear()
                self._forms[mark] = self._form_of(mark)
        return mark, self._forms[mark]

    def _form_of(self, mark: bytes) -> _Form | None:
        found = self._plan_of(mark)
        if found is None:
            return None
        plan, schema_id = found
        if plan not in self._writers:
            self._writers[plan] = _writer(plan), len(self._writers)
        writer, number = self._writers[plan]
        if writer is None:
            return None
        head = b'{"schema":%d,"messageSchemaId":%s,"message":' % (number, msgspec.json.encode(schema_id))
        return _Form(writer, head)


@dataclass(frozen=True)
class _Form:
    """What makes JSON of changes that start alike; `head` is what stands before each."""

    writer: Any
    head: bytes


def _first_other(numbers: array[int], others: array[int]) -> int:
    """How many numbers are the same, up to one that is not."""
    if numbers == others:
        return len(numbers)
    return next(place for place, pair in enumerate(zip(numbers, others, strict=True)) if pair[0] != pair[1])


def _writer(plan: Plan) -> Any:
    """What writes messages of a plan as JSON; None where the kernel cannot, and where the JSON of messages that are to
    be refused could be taken for that of others."""
    try:
        return native.AvroToJson(programs.nested_program(_program(programs.json_program(plan.decode), plan.rows)))
    except REFUSALS:
        return None


def _program(message: Program, rows: Rows) -> Program:
    made = _with_fields(message, {name: partial(_row, columns) for name, columns in rows.items()})
    members: dict[str, Callable[[Program], Program]] = {
        "headers": _headers,
        "schema": partial(_only, _WORDS),
        "table": partial(_only, _WORDS),
    }
    return _with_fields(made, members)


def _with_fields(record: Program, makers: Mapping[str, Callable[[Program], Program]]) -> Program:
    """The program of a record with some of its fields made anew."""
    if record[0] != programs.RECORD:
        raise UnsupportedSchemaError("a record that is none")
    *head, names, fields = record
    made = (
        makers[name](field) if (name := _name(text)) in makers else field
        for text, field in zip(names, fields, strict=True)
    )
    return (*head, names, tuple(made))


def _name(text: bytes) -> str:
    name: str = msgspec.json.decode(text[:-1])
    return name


def _branches(node: Program, make: Callable[[Program], Program]) -> Program:
    """A program with all that its values can be made anew, but for null."""
    if node[0] == programs.UNION:
        return (*node[:4], tuple(_branches(branch, make) for branch in node[4]))
    return node if node[0] == programs.NULL else make(node)


def _only(kinds: Iterable[int], node: Program) -> Program:
    """The program; UnsupportedSchemaError if values of other types are among those that it reads."""

    def checked(branch: Program) -> Program:
        if branch[0] not in kinds:
            raise UnsupportedSchemaError("a value of a type that JSON does not tell from another")
        return branch

    return _branches(node, checked)


def _headers(node: Program) -> Program:
    known = {name: partial(_only, _MASK if name in _MASKS else _HEADER) for name in QlikHeaders.__struct_fields__}
    return _branches(node, lambda branch: _with_fields(branch, known))


def _row(columns: Mapping[str, Maker | None], node: Program) -> Program:
    makers = {name: partial(_column, maker) for name, maker in columns.items()}

    def made(row: Program) -> Program:
        if row[0] != programs.RECORD or list(map(_name, row[3])) != list(makers):
            raise UnsupportedSchemaError("a row of other columns")
        return _with_fields(row, makers)

    return _branches(node, made)


def _column(maker: Maker | None, node: Program) -> Program:
    """The program of the texts that are made of a column's values."""
    kinds, show, size = _shown(maker)

    def made(branch: Program) -> Program:
        kind, _, own_size, names, children = branch
        if kind not in kinds:
            raise UnsupportedSchemaError("a value of a type that no column has")
        if show == programs.IN_JSON:
            return (kind, programs.AS_TEXT if kind == programs.DOUBLE else show, own_size, names, children)
        return (kind, show, size, names, children)

    return _branches(node, made)


def _shown(maker: Maker | None) -> tuple[frozenset[int], int, int | None]:
    """Values of which types a maker makes texts of, and how the kernel does that."""
    if maker is None:
        return frozenset({programs.STRING}), programs.IN_JSON, None
    if maker is texts.to_text:
        return _AS_THEY_ARE, programs.IN_JSON, None
    if maker is texts.single_text:
        return frozenset({programs.FLOAT}), programs.AS_TEXT, None
    if maker is texts.date_text:
        return frozenset({programs.LONG}), programs.DATE, None
    assert isinstance(maker, partial)
    show = {texts.time_text: programs.TIME, texts.stamp_text: programs.STAMP}.get(maker.func)
    if show is not None:
        return frozenset({programs.LONG}), show, maker.args[0]
    if maker.func is texts.unscaled_text:
        return frozenset({programs.BYTES}), programs.AS_DECIMAL, maker.args[0]
    raise UnsupportedSchemaError("a value that the kernel makes no text of")
