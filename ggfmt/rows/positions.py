"""Kinds of positions, and how positions of a kind are compared.

A position is a text that only its source understands. Some kinds are known: numbers, places in a binary log, log
sequence numbers, GTIDs. A text belongs to a kind by a pattern, whose groups are the parts that it is sorted by. Some
parts say of which log, server or shard a position is: positions of two of these do not compare, though they are of one
kind (`PositionKind.family`).

Sources: Debezium's connectors, as `formats.debezium.source` puts their positions together; the manuals of MySQL (files
of a binary log have six digits or more, a GTID is `uuid:number` or `uuid:tag:number`), MariaDB
(`domain-server-number`), PostgreSQL (`pg_lsn`), SQL Server (`fn_cdc_map_time_to_lsn` and its kin) and CockroachDB
(hybrid logical clocks); and what the reader of Kafka's messages makes (`topic:partition:offset`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.dataclasses import dataclass

Place = tuple[Any, ...]

_LONG = r"[0-9]{1,18}"
_NUMBER = r"[0-9]{1,38}"
_HEX = r"[0-9a-fA-F]"
_LSN = rf"{_HEX}{{8}}:{_HEX}{{8}}:{_HEX}{{4}}"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_RS_ID = rf"0x{_HEX}{{1,16}}(?:\.{_HEX}{{1,16}}){{0,3}}"


@dataclass(frozen=True)
class PositionKind:
    """Positions that a pattern matches as a whole. `same_shape`: other digits at other places are another family.

    `sorts` says how each group of the pattern is sorted: as a `long` of at most 18 digits besides leading zeros, as a
    `decimal` of at most 38 digits, as a `text` without regard to case, or as a `hex` number of at most 8 digits; or
    not, as the `family` that it is of. One that is not there comes first.
    """

    name: str
    pattern: str
    sorts: tuple[str, ...]
    example: str
    same_shape: bool = False
    wider: str | None = None  # the kind that has all texts of this one, too
    second_for_first: bool = False  # where the first group is empty, the second one stands for it

    @property
    def help(self) -> str:
        return f"give a position such as `{self.example}`"

    @property
    def whole(self) -> str:
        return rf"\A(?:{self.pattern})\z"  # in RE2; in Python `fullmatch`

    def fits_all(self, texts: pa.StringArray) -> bool:
        return bool(pc.all(pc.match_substring_regex(texts, self.whole), min_count=0).as_py())

    def sort_columns(self, texts: pa.StringArray) -> list[pa.Array[Any]]:
        groups = enumerate(self.sorts, 1)
        return [self._sort_column(texts, group, sort) for group, sort in groups if sort != "family"]

    def _sort_column(self, texts: pa.StringArray, group: int, sort: str) -> pa.Array[Any]:
        found = self._group(texts, group)
        if group == 1 and self.second_for_first:
            found = pc.if_else(pc.equal(found, ""), self._group(texts, 2), found)
        if sort in ("long", "decimal"):
            found = pc.if_else(pc.equal(found, ""), "-1", found)
            return pc.cast(found, pa.int64() if sort == "long" else pa.decimal128(38, 0))
        found = pc.ascii_lower(pc.utf8_trim(found, " "))
        return pc.ascii_lpad(found, width=8, padding="0") if sort == "hex" else found

    def _group(self, texts: pa.StringArray, group: int) -> pa.StringArray:
        if self.pattern.startswith("(") and len(self.sorts) == 1:
            return texts  # a kind with a single part is that part
        return pc.replace_substring_regex(texts, self.whole, rf"\{group}")

    @property
    def has_families(self) -> bool:
        return self.same_shape or "family" in self.sorts

    def families(self, texts: pa.StringArray) -> pa.StringArray:
        """Return the family of each text that belongs to this kind; an empty text if all compare."""
        if self.same_shape:
            return pc.replace_substring_regex(texts, _HEX, "0")
        if not self.has_families:
            return pa.repeat(pa.scalar(""), len(texts))
        return pc.utf8_lower(pc.replace_substring_regex(texts, self.whole, r"\1"))

    def value(self, text: str) -> Place | None:
        """Return the sort key of one position; None for a text that does not belong to this kind."""
        if re.fullmatch(self.pattern, text) is None:
            return None
        return tuple(column[0].as_py() for column in self.sort_columns(pa.array([text], pa.string())))


KINDS = (
    PositionKind("numbers", rf"(0*{_LONG})", ("long",), "1547", wider="long numbers"),
    PositionKind("long numbers", rf"({_NUMBER})", ("decimal",), "9223372036854775808"),
    PositionKind(
        "places in a binary log of MySQL",
        rf"([^:\r\n]*\.)([0-9]{{6,18}}):({_LONG})(?::({_LONG}))?",
        ("family", "long", "long", "long"),
        "binlog.000003:1547",
    ),
    PositionKind(
        "log sequence numbers of SQL Server",
        rf"({_LSN})(?::(?:({_LSN})|NULL)?(?::({_LONG}))?)?",
        ("text", "text", "long"),
        "00000027:00000ac0:0002",
    ),
    PositionKind(
        "sequences of PostgreSQL",
        rf'\[(?:null|"({_NUMBER})"), ?(?:null|"({_NUMBER})")\]',
        ("decimal", "decimal"),
        '["23341168","23341200"]',
    ),
    PositionKind(
        "log sequence numbers of PostgreSQL", rf"({_HEX}{{1,8}})/({_HEX}{{1,8}})", ("hex", "hex"), "16/B374D848"
    ),
    # A row of a snapshot has no commit: its own number stands for it.
    PositionKind(
        "numbers of commits and changes",
        rf"([0-9]{{0,38}}):({_NUMBER})(?::( *{_RS_ID} *)?(?::({_LONG}))?)?",
        ("decimal", "decimal", "text", "long"),
        "2122185:2122184",
        second_for_first=True,
    ),
    PositionKind(
        "GTIDs of MySQL",
        rf"({_UUID}(?::[a-zA-Z_][a-zA-Z0-9_]{{0,31}})?):({_LONG})",
        ("family", "long"),
        "3e11fa47-71ca-11e1-9e33-c80aa9429562:23",
    ),
    PositionKind("GTIDs of MariaDB", rf"([0-9]{{1,10}})-[0-9]{{1,10}}-({_LONG})", ("family", "long"), "0-1-100"),
    PositionKind(
        "hybrid logical clocks", rf"({_NUMBER})\.([0-9]{{10}})", ("decimal", "long"), "1679337613000000000.0000000003"
    ),
    PositionKind(
        "offsets of Kafka", rf"([a-zA-Z0-9._-]{{1,249}}:[0-9]{{1,10}}):({_LONG})", ("family", "long"), "orders:0:15"
    ),
    PositionKind("hexadecimal numbers", rf"({_HEX}{{4,64}}(?::{_HEX}{{4,64}}){{1,15}})", ("text",), "00ff:0009", True),
)

_BY_NAME = {kind.name: kind for kind in KINDS}
OFFSETS = _BY_NAME["offsets of Kafka"]


def kind_named(name: str) -> PositionKind | None:
    return _BY_NAME.get(name)


def kind_of(fits: Callable[[PositionKind], bool]) -> PositionKind | None:
    return next((kind for kind in KINDS if fits(kind)), None)


def common_kind(one: PositionKind | None, other: PositionKind | None) -> PositionKind | None:
    """Return the narrowest kind that has all texts of two kinds; None if there is none, or one of them is None."""
    others = list(_chain(other))
    return next((kind for kind in _chain(one) if kind in others), None)


def _chain(kind: PositionKind | None) -> Iterable[PositionKind]:
    while kind is not None:
        yield kind
        kind = _BY_NAME[kind.wider] if kind.wider else None
