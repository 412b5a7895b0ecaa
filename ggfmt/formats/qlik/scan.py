"""Changes of Qlik Replicate as the native scanner takes them: JSON, or what was made JSON of Avro (`avro_scan`).

Masks are parts of the identity: the exact reader checks each once. No record whose mask leaves columns out is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ggfmt.formats.qlik.messages import MAGIC
from ggfmt.formats.records.scanner import (
    BOOLEAN,
    INTEGER,
    NULL,
    STAMP,
    STRING,
    Grammar,
    Member,
    OpToken,
    Token,
    before,
    enter,
    identity,
    op,
    row,
    same,
    skip,
    slot,
)

_TEXT = STRING | NULL
_ID, _COUNTER, _LAST, _EXTERNAL, _OTHER, _SNAPSHOT = range(6)  # tokens in their order


@lru_cache(maxsize=16)
def grammar(
    ops: tuple[tuple[str, str], ...],
    snapshot: tuple[str, ...],
    other: str,
    enveloped: bool,
    flattened: bool,
    of_record: tuple[Member, ...],
    of_headers: tuple[Member, ...],
    of_message: tuple[Member, ...] = (),
) -> Grammar:
    """Changes in an envelope or without one, with `headers` or with members that start with `headers_`, and with these
    members that nobody knows; `other` is the header that is a token, not the position."""
    headers = _headers("headers_" if flattened else "", other)
    body = (
        row("data"),
        before("beforeData"),
        *map(identity, ("schema", "table")),
        skip("operation", takes=_TEXT),
        *((*headers, skip("headers", takes=NULL)) if flattened else (enter("headers", *headers, *of_headers),)),
        *of_message,
    )
    members: tuple[Member, ...] = (identity("messageSchemaId"), *body, *of_record)
    if enveloped:
        members = (
            same("magic", f'"{MAGIC}"'.encode()),
            same("type", b'"DT"'),
            skip("headers", takes=NULL),
            identity("messageSchemaId"),
            skip("messageSchema", takes=_TEXT),
            enter("message", *body),
            *of_record,
        )
    return Grammar(members, _meanings(ops, snapshot))


@lru_cache(maxsize=2)
def avro_grammar(ops: tuple[tuple[str, str], ...], snapshot: tuple[str, ...], other: str) -> Grammar:
    """Changes that were in Avro, in whose messages members that nobody knows mean nothing."""
    message = (
        row("data"),
        before("beforeData"),
        *map(identity, ("schema", "table")),
        enter("headers", *_headers("", other), others=True),
    )
    members = (*map(identity, ("schema", "messageSchemaId")), enter("message", *message, others=True))
    return Grammar(members, _meanings(ops, snapshot))


def _meanings(ops: tuple[tuple[str, str], ...], snapshot: tuple[str, ...]) -> Mapping[str, str | OpToken]:
    return {
        form: OpToken(letter, Token("snapshot", _SNAPSHOT), "true") if name in snapshot else letter
        for name, letter in ops
        for form in (name, name.lower())
    }


def _headers(prefix: str, other: str) -> tuple[Member, ...]:
    def token(name: str, rank: int) -> Token:
        return Token(name, rank, unless="")

    def place(name: str) -> Member:
        return slot(f"{prefix}{name}", _TEXT | INTEGER, token=token(name, _OTHER) if name == other else None)

    return (
        op(f"{prefix}operation"),
        slot(f"{prefix}timestamp", STAMP | NULL),
        place("changeSequence"),
        place("streamPosition"),
        skip(f"{prefix}transactionId", takes=_TEXT, token=token("transactionId", _ID)),
        *(identity(f"{prefix}{name}") for name in ("changeMask", "columnMask")),
        skip(
            f"{prefix}transactionEventCounter",
            takes=_TEXT | INTEGER,
            token=token("transactionEventCounter", _COUNTER),
        ),
        skip(f"{prefix}transactionLastEvent", takes=BOOLEAN | NULL, token=token("transactionLastEvent", _LAST)),
        skip(f"{prefix}externalSchemaId", takes=_TEXT, token=token("externalSchemaId", _EXTERNAL)),
    )
