"""Arcion's cursor and counts, in both directions: JSON objects with the time, the place and the tokens of a change.

`timestamp` is the time in milliseconds. The position is `log:position`, or `position` alone; a cursor without that
member is itself the position. All other members are tokens. The counts say how many changes Arcion had made of each
type when it made this one: some of the changes do not suffice to count, so that they are written only from tokens of
those names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_strings
from ggfmt.columnar.json_text import json_strings, quote_json
from ggfmt.columnar.metadata import token_texts
from ggfmt.columnar.pieces import Conditional, Piece, join
from ggfmt.columnar.timestamps import floor_millis
from ggfmt.formats.api.losses import INTEGER
from ggfmt.formats.json.values import json_texts
from ggfmt.formats.records.problems import RecordError, decoded

COUNTS = ("insertCount", "updateCount", "deleteCount", "replaceCount")
RESERVED = ("timestamp", "log", "position")
# Names of members that are known to have been broken over lines, and then have blanks inside.
_KNOWN = frozenset(
    (
        *RESERVED,
        *COUNTS,
        *("extractorId", "nodeID", "extractionTimestamp", "logSeqNum", "slaveServerId", "dscId", "mutId", "partNum"),
    )
)

_MILLIS = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def place_of(cursor: str | None, counts: str | None) -> tuple[int | None, str | None, dict[str, str]]:
    """The time in microseconds, the position and the tokens of a change. Raises: RecordError for what is no cursor."""
    members = _object(cursor, "cursor")
    tokens = {name: text for name, text in members.items() if text is not None}
    micros = None
    millis = tokens.pop("timestamp", "")
    if millis:
        if not _MILLIS.fullmatch(millis):
            raise RecordError("GG308", "the `timestamp` of the cursor is not a number")
        micros = int(millis) * 1000
    if "position" in members:
        position = tokens.pop("position", None)
        if position is not None and "log" in tokens:
            position = f"{tokens.pop('log')}:{position}"
    else:
        position = cursor if members else None
    tokens |= {name: text for name, text in _object(counts, "operationcount").items() if text is not None}
    return micros, position, tokens


def _object(text: str | None, what: str) -> dict[str, str | None]:
    if text is None or not text.strip():
        return {}
    members = decoded(json_texts, text, f"`{what}` is not a string with a JSON object")
    return {_mended(name): value for name, value in members.items()}


def _mended(name: str) -> str:
    joined = name.replace(" ", "")
    return joined if joined in _KNOWN else name


def cursor_texts(micros: pa.Int64Array, positions: pa.StringArray, tokens: StringMapArray | None) -> pa.StringArray:
    millis = floor_millis(micros).cast(pa.string()).fill_null("null")
    parts = pc.extract_regex(positions, _LOG_AND_POSITION)
    log, position = (as_strings(parts.field(name)) for name in ("log", "position"))
    in_log = join([',"log":', quote_json(log), ',"position":', pc.fill_null(position, "")])
    alone = join([',"position":', _scalars(positions)])
    place = pc.if_else(parts.is_valid(), in_log, alone)
    others = token_texts(tokens, _members_of((*COUNTS, *RESERVED), within=False), "")
    return join(['{"timestamp":', millis, place, others, "}"])


def count_texts(tokens: StringMapArray | None, rows: int) -> pa.StringArray:
    """The counts of n changes, as far as there are tokens with them."""
    members = join([token_texts(tokens, _members_of(COUNTS), "")], rows)
    return join(["{", pc.replace_substring_regex(members, "^,", ""), "}"], rows)


def _scalars(texts: pa.StringArray) -> pa.StringArray:
    """Texts as JSON: whole numbers as such, so that they are read back as the same texts, all others as strings."""
    number = pc.match_substring_regex(texts, INTEGER).fill_null(False)
    return pc.if_else(number, pc.fill_null(texts, ""), quote_json(texts))


def _members_of(names: Sequence[str], within: bool = True) -> Callable[[pa.StringArray, pa.StringArray], list[Piece]]:
    """Makes members, each with a comma before it, of the tokens that have one of the names, or of all others."""
    chosen = pa.array(names, pa.string())

    def pair(keys: pa.StringArray, items: pa.StringArray) -> list[Piece]:
        wanted = pc.is_in(keys, chosen)
        return [Conditional(wanted if within else pc.invert(wanted), [",", json_strings(keys), ":", _scalars(items)])]

    return pair


_LOG_AND_POSITION = r"(?s)^(?P<log>.+):(?P<position>0|[1-9][0-9]{0,17})$"
