"""How the native scanner takes the records of a dialect, and what their operations mean in columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.timestamps import scale_numbers
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.records import roles
from ggfmt.formats.records.decoding import Decoding
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.model.change import without_empty
from ggfmt.model.table import TableDef

NO_ORIGINS = (None, "", "0")  # MySQL's connector writes the server 0 in snapshots


class Scanned(Decoding):
    """The part of a dialect for the scanner: grammars of records, and columns from what the scanner took.

    scanned    the native scanner can take records of this dialect, with the grammar from `grammar`
    transaction_tokens  the tokens with the id of the transaction; the first one that is not empty counts. The reader
               then makes all tokens if the caller requests the ids: this is slower than a member with the role
               `roles.transaction`.
    with_transactions  the caller requested the ids of transactions
    wrong_time  the problem of an operation whose time is out of range
    """

    scanned: ClassVar[bool] = False
    transaction_tokens: ClassVar[tuple[str, ...]] = ()
    wrong_time: ClassVar[Diagnostic] = Diagnostic("GG308", "the time of the operation is out of range")
    with_transactions = False

    def __init__(self) -> None:
        self._grammars: dict[Hashable, roles.Grammar] = {}

    def first_grammar(self) -> roles.Grammar | None:
        """Return the scanner's grammar for the start of the input; None if it depends on the first record."""
        return None

    def identified(self, identity: bytes) -> TableDef | None:
        """Return the definition for records with an identity; None if the identity alone does not determine it."""
        return None

    def grammar(self, record: Any) -> roles.Grammar | None:
        """Return the grammar with which the native scanner takes records like this one; None if it cannot take them.

        The record is the argument of the last call of `changes`, and it became operations. Records with the same
        identity must have the same table, `record_schema` and key.
        """
        return self.declared_grammar() if self.scanned else None

    def declared_grammar(self, *conditions: str) -> roles.Grammar | None:
        """Return the grammar of `record`; None if records had more unknown members than the scanner has room for."""
        notes = self.notes(roles.places(self.record, conditions))
        return None if notes is None else self.make_grammar(self.record, conditions, notes)

    def make_grammar(
        self, record: type[msgspec.Struct], conditions: tuple[str, ...], notes: roles.Notes, inherited: bool = True
    ) -> roles.Grammar:
        """Return `roles.make_grammar` from a cache. That ids of transactions are requested is a condition too."""
        if self.with_transactions:
            conditions = (*conditions, roles.TRANSACTIONS)
        key = record, conditions, notes, inherited
        grammar = self._grammars.get(key)
        if grammar is None:
            grammar = self._grammars[key] = roles.make_grammar(record, conditions, notes, inherited)
        return grammar

    def notes(self, places: Iterable[roles.Place]) -> roles.Notes | None:
        """Return notes for the unknown members that the decoder met in some objects; None if more than `MAX_NOTES`."""
        learned = [(place, self.decoder.learned(*place)) for place in places]
        if sum(roles.MAX_NOTES + 1 if names is None else len(names) for _, names in learned) > roles.MAX_NOTES:
            return None
        return tuple(
            (place, tuple(roles.note(name, ".".join((*place, name))) for name in names or ()))
            for place, names in learned
        )

    def scannable(self, table: TableDef) -> bool:
        """Return whether the scanner may take records of a table."""
        return True

    def states(self, record: Any, table: TableDef) -> bytes | None:
        """Return for each column which images have a value in such records, as bytes for `Scanner.bind`.

        Return None if the scanner finds this in the images themselves.
        """
        return None

    def decode_scanned(self, scanned: SourceBatch) -> SourceBatch:
        """Return scanned operations with the values that their texts stand for."""
        return scanned

    def common_tokens(self, table: TableDef) -> Mapping[str, str]:
        """Return the tokens that all scanned operations of a table have, after all other tokens."""
        return {}

    def times(self, scanned: SourceBatch) -> pa.StringArray | pa.Int64Array:
        """Return `op_ts` of scanned operations: texts, or microseconds since 1970 (int64)."""
        found = [
            _times(scanned.values(name), part)
            for name, part in roles.columns_of(self.record, roles.TIME)
            if name in scanned.places
        ]
        return pc.coalesce(*found) if found else pa.nulls(len(scanned), pa.string())

    def positions(self, scanned: SourceBatch) -> pa.StringArray:
        found = _first_texts(_joined(scanned, parts) for parts in roles.positions_of(self.record))
        return pa.nulls(len(scanned), pa.string()) if found is None else found

    def transactions(self, scanned: SourceBatch) -> pa.StringArray | None:
        """Return the ids of the transactions of scanned operations; None if there is no member with such ids."""
        members = roles.names_of(self.record, roles.TRANSACTION)
        return _first_texts(scanned.values(name) for name in members if name in scanned.places)

    def origins(self, scanned: SourceBatch) -> pa.StringArray | None:
        """Return the origins of the positions of scanned operations; None if there is no member with them."""
        members = (name for name in roles.names_of(self.record, roles.ORIGIN) if name in scanned.places)
        found = next(map(scanned.values, members), None)
        if found is None:
            return None
        nothing = pc.is_in(found, value_set=pa.array(NO_ORIGINS, pa.string()))
        return pc.if_else(nothing, pa.scalar(None, pa.string()), found)


def _times(values: pa.StringArray, part: roles.Part) -> pa.StringArray | pa.Int64Array:
    if not part.micros:
        return values
    micros = scale_numbers(values, part.micros)
    return micros if part.zero else pc.if_else(pc.equal(micros, 0), pa.scalar(None, pa.int64()), micros)


def _joined(scanned: SourceBatch, parts: Sequence[tuple[str, roles.Part]]) -> pa.StringArray | None:
    """Return the texts of the slots that are parts of one position, with colons between them; None without slots."""
    texts = {name: scanned.values(name) for name, _ in parts if name in scanned.places}
    first = [texts[name] for name, part in parts if name in texts and not part.follows]
    if len(texts) < 2 or all(values.null_count == len(values) for values in first):
        return first[0] if first else None
    exists = reduce(pc.or_, (without_empty(values).is_valid() for values in first))
    joined = pc.binary_join_element_wise(*(values.fill_null("") for values in texts.values()), ":")
    return pc.if_else(exists, pc.ascii_rtrim(joined, ":"), pa.scalar(None, pa.string()))


def _first_texts(columns: Iterable[pa.StringArray | None]) -> pa.StringArray | None:
    """Return for each row the first text that is not empty; None without columns."""
    texts: list[pa.StringArray] = []
    for values in columns:
        if values is not None and (not texts or values.null_count < len(values)):
            texts.append(without_empty(values))
            if not texts[-1].null_count:
                break
    return pc.coalesce(*texts) if len(texts) > 1 else texts[0] if texts else None
