"""Debezium's envelopes as the native scanner takes them: what `source` and `read` make of records, a column at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.timestamps import scale_numbers
from ggfmt.formats.debezium import OWN
from ggfmt.formats.debezium.source import PARTS, TIMES
from ggfmt.formats.json.values import raw_texts
from ggfmt.formats.records.scanner import (
    BOOLEAN,
    INTEGER,
    NULL,
    STRING,
    Grammar,
    OpToken,
    ScannedBatch,
    Token,
    after,
    before,
    enter,
    identity,
    note,
    op,
    skip,
    slot,
    tokens,
)

_OPS: Mapping[str, str | OpToken] = {
    "c": "I",
    "r": OpToken("I", Token("snapshot", 3), "true"),
    "u": "U",
    "d": "D",
    "t": "T",
}
_TIMES_OF_ENVELOPE = ("ts_ms", "ts_us", "ts_ns")


@lru_cache(maxsize=64)
def grammar(wrapped: bool, in_name: bool, of_message: tuple[str, ...], of_envelope: tuple[str, ...]) -> Grammar:
    """Envelopes, `wrapped` with a schema or alone, whose database is a part of the name of the table or a token; with
    these unknown members of theirs and of what they are wrapped in."""
    source = enter(
        "source",
        identity("db", token=None if in_name else Token("db", unless="")),
        *map(identity, ("schema", "table", "keyspace", "collection")),
        *(identity(name, token=Token(name, unless=OWN)) for name in ("connector", "name")),
        skip("snapshot", token=Token("snapshot", unless="false")),
        *map(skip, ("version", "ts_ns")),
        *(slot(name, INTEGER | NULL) for name in TIMES),
        slot("position", STRING | INTEGER | BOOLEAN | NULL),
        *(slot(name, STRING | INTEGER | BOOLEAN | NULL, token=Token(name)) for name in PARTS),
        tokens("tokens", STRING, rank=1),
        others=Token(""),
    )
    envelope = (
        before("before"),
        after("after"),
        source,
        op("op"),
        *map(skip, _TIMES_OF_ENVELOPE),
        enter("transaction", required=False, others=Token("transaction.", rank=2)),
        *map(note, of_envelope),
    )
    if not wrapped:
        return Grammar(envelope, _OPS)
    message = (identity("schema", required=True), enter("payload", *envelope), *map(note, of_message))
    return Grammar(message, _OPS)


def is_regular(source: Raw) -> bool:
    """Whether the tokens of a source block are as the grammar has them."""
    members = raw_texts(source)
    return members.get("connector") != OWN or members.get("name") in (OWN, None)


def micros(scanned: ScannedBatch) -> pa.Int64Array:
    """As `source.op_micros`."""
    seconds = scale_numbers(scanned.values("ts_sec"), 1_000_000)
    return pc.coalesce(
        scale_numbers(scanned.values("ts_us"), 1),
        scale_numbers(scanned.values("ts_ms"), 1000),
        scale_numbers(scanned.values("ts_usec"), 1),
        pc.if_else(pc.equal(seconds, 0), pa.scalar(None, pa.int64()), seconds),
    )


def positions(scanned: ScannedBatch) -> pa.StringArray:
    """As `source.position`."""
    rows = len(scanned)
    parts = {name: scanned.values(name) for name in PARTS}
    there = {name for name, values in parts.items() if values.null_count < rows}

    def joined(*names: str) -> pa.StringArray:
        text = pc.binary_join_element_wise(*(parts[name].fill_null("") for name in names), ":")
        text = pc.ascii_rtrim(text, ":")
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)

    cases: list[tuple[pa.BooleanArray, pa.StringArray]] = []
    own = scanned.slots[scanned.places["position"]]
    if own.present is None:
        return own.values
    if own.present.true_count:
        cases.append((own.present, own.values))
    if "file" in there:
        cases.append((parts["file"].is_valid(), joined("file", "pos", "row")))
    if there & {"commit_scn", "scn"}:
        scn = pc.or_(parts["commit_scn"].is_valid(), parts["scn"].is_valid())
        cases.append((scn, joined("commit_scn", "scn", "rs_id", "ssn")))
    if there & {"commit_lsn", "change_lsn"}:
        lsn = pc.or_(parts["commit_lsn"].is_valid(), parts["change_lsn"].is_valid())
        cases.append((lsn, joined("commit_lsn", "change_lsn", "event_serial_no")))
    for name in ("sequence", "lsn", "vgtid", "ts_hlc", "position_scn"):
        if name in there:
            cases.append((parts[name].is_valid(), parts[name]))
    if "server_transaction_id" in there:
        cases.append((parts["server_transaction_id"].is_valid(), joined("server_transaction_id", "mod_number")))
    return _first_of(cases, parts["commit_ts"])


def _first_of(cases: Sequence[tuple[pa.BooleanArray, pa.StringArray]], otherwise: pa.StringArray) -> pa.StringArray:
    """In each row the texts of the first case that is there."""
    for where, values in reversed(cases):
        otherwise = values if where.true_count == len(where) else pc.if_else(where, values, otherwise)
    return otherwise
