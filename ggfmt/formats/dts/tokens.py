"""Tokens of DTS's records: members of the record, and tags.

A member of a record becomes a token if it has a value. A tag becomes a token under its own name; if another token has
this name, under `tags.` and its name. In writing, a token becomes the member that it comes from if reading would give
the same text again. Otherwise it becomes a tag.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, list_array, narrow
from ggfmt.columnar.avro import END, NULL, VALUE, longs, strings
from ggfmt.columnar.metadata import token
from ggfmt.columnar.pieces import Piece, join_binary, zigzag_varint
from ggfmt.formats.dts import KEYS_TAG
from ggfmt.formats.dts.decode import DtsRecord
from ggfmt.formats.json.values import compact_json
from ggfmt.model.change import ChangeBatch, OpType

SNAPSHOT, TRUE, FALSE = "snapshot", "true", "false"
_TAGS = "tags."
SOURCE_TYPE, SOURCE_VERSION, PROCESS = "source.sourceType", "source.version", "processTimestamps"
VERSION, ID, BORN = "version", "id", "bornTimestamp"
SAFE_POSITION, TRANSACTION = "safeSourcePosition", "sourceTxid"

_LONG = "-?[1-9][0-9]{0,17}"
_NUMBERS = {VERSION: "^-?[1-9][0-9]{0,8}$", ID: f"^{_LONG}$", BORN: f"^{_LONG}$"}
_LISTS = rf"^\[(?:(?:0|{_LONG})(?:,(?:0|{_LONG}))*)?\]$"
_TEXTS = (SAFE_POSITION, TRANSACTION, SOURCE_VERSION)
# The words of records, in the order of dts_scan.c.
WORDS = tuple(
    word.encode()
    for word in (
        SOURCE_TYPE, VERSION, ID, BORN, SAFE_POSITION, TRANSACTION, SOURCE_VERSION, PROCESS, SNAPSHOT, TRUE, KEYS_TAG,
        _TAGS,
    )
)  # fmt: skip
_NOT_SHOWN = pa.array([SOURCE_TYPE, KEYS_TAG], pa.string())


def tokens_of(record: DtsRecord) -> dict[str, str]:
    members = {
        VERSION: record.version,
        ID: record.id,
        BORN: record.born,
        SAFE_POSITION: record.safe_position,
        TRANSACTION: record.transaction,
        SOURCE_VERSION: record.source_version,
    }
    tokens = {SOURCE_TYPE: record.source_type} | {name: str(value) for name, value in members.items() if value}
    if record.process_timestamps is not None:
        tokens[PROCESS] = compact_json(record.process_timestamps)
    for name, text in record.tags.items():
        if name != KEYS_TAG:
            while name in tokens:
                name = _TAGS + name
            tokens[name] = text
    if record.operation == "INIT":
        tokens.setdefault(SNAPSHOT, TRUE)
    return tokens


class TokenMembers:
    """The members and tags for the tokens of n operations; `born`: the schema has the member `bornTimestamp`."""

    def __init__(self, batch: ChangeBatch, born: bool) -> None:
        self._tokens = batch.tokens
        self._rows = len(batch)
        self._op = batch.op
        self._numbers = {name: pattern for name, pattern in _NUMBERS.items() if born or name != BORN}

    def number(self, name: str) -> list[Piece]:
        """Return a member that is a number; 0 without a token."""
        texts = token(self._tokens, name, self._rows)
        if name not in self._numbers or texts.null_count == self._rows:
            return [zigzag_varint(0)]
        fits = pc.match_substring_regex(texts, self._numbers[name]).fill_null(False)
        return longs(pc.cast(pc.if_else(fits, texts, "0"), pa.int64()))

    def text(self, name: str, default: str = "") -> list[Piece]:
        """Return a member that is a text; `default` without a token."""
        texts = token(self._tokens, name, self._rows)
        if texts.null_count == self._rows:
            data = default.encode()
            return [zigzag_varint(len(data)) + data]
        return strings(pc.if_else(pc.equal(texts, ""), default, texts).fill_null(default))

    def process_timestamps(self) -> list[Piece]:
        texts = token(self._tokens, PROCESS, self._rows)
        fits = pc.fill_null(pc.match_substring_regex(texts, _LISTS), False)
        if not fits.true_count:
            return [NULL]
        marked = zip(texts.to_pylist(), fits.to_pylist(), strict=True)
        return [pa.array([_list(text) if text is not None and fit else NULL for text, fit in marked])]

    def from_options(self, source_type: str, source_version: str) -> pa.BooleanArray:
        """Return which operations a reader gives a token of the options."""
        added = pc.not_equal(token(self._tokens, SOURCE_TYPE, self._rows), source_type).fill_null(True)
        if source_version:
            versions = token(self._tokens, SOURCE_VERSION, self._rows)
            added = pc.or_(added, pc.equal(versions, "").fill_null(True))
        return narrow(added, pa.BooleanArray)

    def snapshots(self) -> pa.BooleanArray:
        texts = token(self._tokens, SNAPSHOT, self._rows)
        insert = pc.equal(self._op, OpType.INSERT.value)
        return pc.and_(insert, pc.not_equal(texts, FALSE).fill_null(False))

    def tags(self, own: Sequence[bytes]) -> list[Piece]:
        """Return the maps of tags: the `own` entries, and the tokens without a member."""
        maps = self._tokens
        constant = b"".join(own)
        first = 0 if maps is None else maps.offsets[0].as_py()
        size = 0 if maps is None else maps.offsets[-1].as_py() - first
        if maps is None or not size:
            return [zigzag_varint(len(own)) + constant + END if own else END]
        names, texts = (as_strings(part).slice(first, size) for part in (maps.keys, maps.items))
        offsets = pc.subtract(maps.offsets, first)
        rows = pc.list_parent_indices(list_array(offsets, names))
        kept = pc.invert(self._placed(names, texts, self._op.take(rows)))
        before = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(pc.cast(kept, pa.int32()))])
        names, texts = names.filter(kept), texts.filter(kept)
        entries = join_binary([*strings(names), *strings(texts)], len(names))
        lists = list_array(before.take(offsets), entries)
        counts = pc.add(pc.cast(pc.list_value_length(lists), pa.int64()), len(own))
        if not own:  # an empty map has no block
            counts = pc.if_else(pc.equal(counts, 0), pa.scalar(None, pa.int64()), counts)
        return [*longs(counts), constant, pc.binary_join(lists, b""), END]

    def _placed(self, names: pa.StringArray, texts: pa.StringArray, op: pa.StringArray) -> pa.BooleanArray:
        """Return which tokens are not tags, because a member contains them or they are not written."""
        placed = pc.is_in(names, _NOT_SHOWN)
        patterns = {**self._numbers, PROCESS: _LISTS, **dict.fromkeys(_TEXTS, "(?s).")}
        for name, pattern in patterns.items():
            named = pc.equal(names, name)
            if named.true_count:
                placed = pc.or_(placed, pc.and_(named, pc.match_substring_regex(texts, pattern)))
        snapshot = pc.and_(pc.equal(names, SNAPSHOT), pc.equal(texts, TRUE))
        return pc.or_(placed, pc.and_(snapshot, pc.equal(op, OpType.INSERT.value)))


def _list(text: str) -> bytes:
    numbers = json.loads(text)
    block = zigzag_varint(len(numbers)) + b"".join(map(zigzag_varint, numbers)) if numbers else b""
    return VALUE + block + END
