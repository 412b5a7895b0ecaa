"""The native scan of GoldenGate's Avro messages, which takes regular messages into columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import fastavro

from ggfmt.formats.avro import programs
from ggfmt.formats.avro.programs import Program, UnsupportedSchemaError, Use
from ggfmt.formats.avro.schemas import is_decimal, is_timestamp
from ggfmt.formats.goldengate.avro.plan import AvroPlan
from ggfmt.formats.goldengate.avro.schema import metadata_schema
from ggfmt.formats.goldengate.metacolumns import MetaColumn, Roles
from ggfmt.formats.goldengate.reading import row_images, times
from ggfmt.formats.records.scanner import Scanner, SourceBatch
from ggfmt.kernels import REFUSALS, kernel
from ggfmt.model.change import ChangeBatch, Image

_TIME, _POSITION, _SLOTS = 0, 1, 2


class MessageScanner(Scanner):
    def __init__(
        self,
        native: Any,
        by_image: bool,
        kinds: Mapping[str, str],
        tokens: bool,
        head: tuple[Program, int],
        wrapped: bool,
        end: bytes,
    ) -> None:
        """`head` has the fields at the start of all messages, up to the last part of the table name, and the number of
        these parts. `end` follows each message."""
        self._tokens = tokens
        letters = {key.encode("utf-8", "surrogatepass"): kind.encode() for key, kind in kinds.items()}
        super().__init__(native.AvroScanner(*head, wrapped, letters, not by_image, end), tokens)
        self._asked: set[str] = set()
        self._tables: list[str] = []  # by the numbers of the kernel

    def bind(self, identity: bytes, plan: AvroPlan) -> bool:
        """Take messages of tables with this name according to the plan. Return False if that is impossible, or if this
        is not the first call for the table: the kernel refused its plan, or binds another spelling of its name."""
        table = plan.table.full_name
        if table in self._asked:
            return False
        self._asked.add(table)
        try:
            made = programs.program(plan.decode, {} if self.routes else _uses(plan, self._tokens))
        except REFUSALS:  # the exact reader reads this schema
            return False
        if self.bind_table(table, identity, made, 0 if self.routes else len(plan.table.columns), _SLOTS):
            self._tables.append(table)
        return self.binds(table)

    def table(self, number: int) -> str:
        return self._tables[number]

    def limit(self, table: str, rows: int) -> None:
        if self.binds(table):
            self.native.limit(self._numbers[table], rows)


def scanned_batch(plan: AvroPlan, taken: SourceBatch, tokens: bool) -> ChangeBatch:
    roles = plan.roles
    key_update = None
    if plan.by_image:
        before, after = Image(taken.before, taken.has_before), Image(taken.after, taken.has_after)
    else:
        before, after, key_update = row_images(taken.after, taken.op)
    time, position = times(roles, lambda place: taken.slots[_TIME].values), taken.slots[_POSITION].values
    own = taken.tokens if tokens and (roles.tokens is not None or roles.single) else None
    return ChangeBatch(plan.table, taken.op, time, position, before, after, taken.ordinal, own, key_update)


def stream_scanner(
    by_image: bool, kinds: Mapping[str, str], tokens: bool, metadata: Sequence[MetaColumn], wrapped: bool, end: bytes
) -> MessageScanner | None:
    """Return the scanner for the messages of a stream; None if the kernel can take none of them."""

    def make(native: Any) -> MessageScanner:
        head = (programs.record(()), 1) if wrapped else _name_head(metadata, Roles.of(metadata).name)
        return MessageScanner(native, by_image, kinds, tokens, head, wrapped, end)

    return kernel(make)


def _name_head(metadata: Sequence[MetaColumn], name: Sequence[int]) -> tuple[Program, int]:
    """Return the fields at the start of messages, up to the last metadata column with a part of the table name."""
    schema = fastavro.parse_schema(dict(metadata_schema(metadata[: max(name, default=-1) + 1])))
    uses: dict[programs.Path, Use] = {
        (metadata[place].name,): Use(programs.NAME, part) for part, place in enumerate(name)
    }
    return programs.program(schema, uses), len(name)


def container_scanner(plan: AvroPlan, tokens: bool) -> MessageScanner | None:
    """Return the scanner for the messages of a container file; None if the kernel can take none of them."""
    scanner = kernel(
        lambda native: MessageScanner(native, plan.by_image, plan.kinds, tokens, (programs.record(()), 0), False, b"")
    )
    return scanner if scanner is not None and scanner.bind(b"", plan) else None


def _uses(plan: AvroPlan, tokens: bool) -> dict[programs.Path, Use]:
    """Return what the kernel does with each field of a message. Raises: UnsupportedSchemaError if it cannot."""
    if plan.unknown:
        raise UnsupportedSchemaError("the schema has a column that the definition lacks")
    metadata = list(_metadata(plan, tokens))
    uses = dict(metadata)
    if len(uses) < len(metadata):
        raise UnsupportedSchemaError("a field has two meanings")
    places = {name: place for place, name in enumerate(plan.table.column_names)}
    images: list[tuple[programs.Path, int]] = [((), len(places))]
    if plan.by_image:
        images = [(("before",), 0), (("after",), len(places))]
        uses |= {("before",): Use(programs.IMAGE, 1), ("after",): Use(programs.IMAGE, 2)}
    elif any((name,) in uses for name in places):
        raise UnsupportedSchemaError("a column has the name of a metadata field")
    for path, first in images:
        for name, kind in plan.types.items():
            field = (*path, name)
            uses[field] = _cell(kind, first + places[name])
        for name, flag in plan.flags.items():
            field = (*path, flag)
            uses[field] = Use(programs.FLAG, first + places[name])
    return uses


def _metadata(plan: AvroPlan, tokens: bool) -> Iterator[tuple[programs.Path, Use]]:
    roles, names = plan.roles, plan.names
    assert roles.op is not None
    yield (names[roles.op],), Use(programs.OP)
    time = roles.micros if roles.op_ts is None else roles.op_ts
    if time is not None:
        yield (names[time],), Use(programs.SLOT, _TIME)
    if roles.position is not None:
        yield (names[roles.position],), Use(programs.SLOT, _POSITION)
    if tokens and roles.tokens is not None:
        yield (names[roles.tokens],), Use(programs.TOKENS)
    elif tokens:
        schema: Any = plan.decode
        fields = [field["name"] for field in schema["fields"]]
        places = [fields.index(names[place]) for place, _ in roles.single]
        if places != sorted(places) or len({token for _, token in roles.single}) < len(places):
            raise UnsupportedSchemaError("tokens are in another order than their fields, or have one name")
        for place, token in roles.single:
            yield (names[place],), Use(programs.TOKEN, token=token.encode())


def _cell(kind: Any, place: int) -> Use:
    if is_decimal(kind):
        return Use(programs.CELL, place, programs.DECIMAL, kind["scale"])
    return Use(programs.CELL, place, programs.STAMP, 1) if is_timestamp(kind) else Use(programs.CELL, place)
