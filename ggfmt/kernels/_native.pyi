from collections.abc import Mapping, Sequence
from typing import Any

REVISION: int
BLOCK_BYTES: int  # how many bytes are compared at a time

class Buffer: ...

# Offsets, data, validity or None, nulls, present or None, and of which values are texts: None, True for all, or bits.
Column = tuple[Buffer, Buffer, Buffer | None, int, Buffer | None, Buffer | bool | None]

def join(pieces: Sequence[Any], rows: int, kinds: tuple[type, ...]) -> tuple[int, Buffer, Buffer]: ...
def fits(texts: Any, form: int) -> bool: ...
def digits(texts: Any) -> tuple[int, int, int]: ...
def occurrences(data: bytes, text: bytes) -> int: ...
def envelopes(data: bytes, place: int, most: int) -> Buffer: ...
def partitions(keys: Any, count: int) -> Buffer: ...
def csv_rows(
    data: bytes, place: int, more: bool, most: int, delimiter: str, quote: str, escapes: int
) -> tuple[Buffer, int]: ...
def csv_to_json(
    data: bytes,
    spans: Any,
    delimiter: str,
    quote: str,
    escapes: int,
    null: bytes,
    names: tuple[bytes, ...],
    changes: bool,
    head: bytes,
) -> tuple[bytes, Buffer]: ...
def differ(texts: Any, others: Any, rows: Any = ..., other_rows: Any = ...) -> Buffer: ...
def seed_hashes(seed: bytes) -> None: ...
def hash_work() -> int: ...
def keep_memory() -> None: ...
def count(texts: Any, parts: tuple[str, ...], wholes: tuple[str, ...]) -> tuple[int, ...]: ...

# The number of rows, columns of before images, of after images, slots, names and texts of tokens, the n + 1 offsets of
# each row's (int32), a letter for each row's operation, a byte for its images (1 before, 2 after), ordinals (int64).
Taken = tuple[int, Sequence[Column], Sequence[Column], Sequence[Column], Column, Column, Buffer, Buffer, Buffer, Buffer]

# The number of records taken, the place where the scan stopped, the number of the table that is full or -1, the notes
# of the kind of scanner (int64), and the identity of the odd record at that place, if it is bound to no table.
Scan = tuple[int, int, int, Buffer, bytes | None]

class Scanner:
    def bind(self, identity: bytes, *description: Any) -> int: ...
    def unbind(self, number: int) -> None: ...
    def limit(self, number: int, rows: int) -> None: ...
    def rows(self, number: int) -> int: ...
    def largest(self) -> int: ...
    # From now on, scans make no rows. The notes have the place of each record taken, and above 40 bits 0 for a record
    # without a table, else one more than the number of its table.
    def route(self) -> None: ...
    def take(self, number: int) -> Taken: ...
    def scan(self, data: bytes, place: int, most: int, ordinal: int, context: Any = None) -> Scan: ...
    def scan_spans(self, data: bytes, spans: Any, first: int, ordinal: int, context: Any = None) -> Scan: ...

# `bind` takes names, key places, kinds of values and states; notes: the start of each record taken, and the end of the
# odd record (of spans nothing). `purpose`: 0 makes rows; 1 only looks for what is new in images, and notes which
# columns came next to each other.
class JsonScanner(Scanner):
    def __init__(
        self,
        members: tuple[tuple[bytes, int, bool, Any, tuple[bytes | None, int, bytes | None] | None], ...],
        ops: Mapping[bytes, tuple[bytes, bytes | None, bytes | None, int]],
        rules: Mapping[bytes, tuple[int, int]],
        row_only: bool,
        key_updates: bool,
        row_token: bytes | None,
        purpose: int = 0,
        columns: tuple[tuple[bytes, int], ...] | None = None,
        overlay: bool = False,
    ) -> None: ...
    def bind_alias(self, identity: bytes, number: int, states: bytes | None) -> None: ...
    def take_pairs(self, number: int) -> Buffer: ...
    def take_counts(self) -> list[int]: ...

# `bind` takes a program and the numbers of columns and slots; notes: the end of each record taken.
class AvroScanner(Scanner):
    def __init__(
        self,
        head: tuple[Any, ...],
        names: int,
        wrapped: bool,
        ops: Mapping[bytes, bytes],
        bare_truncates: bool,
        delimiter: bytes,
    ) -> None: ...

# `bind` takes places, modes, and the numbers of columns and digits. The context of a scan: whether records have a time
# of birth; of spans: the number of bytes in front of a record with its length.
class DtsScanner(Scanner):
    def __init__(
        self,
        words: tuple[bytes, ...],
        source_types: tuple[bytes, ...],
        ops: bytes,
        unicode: tuple[bytes, ...],
        ascii: tuple[bytes, ...],
        rules: Mapping[bytes, tuple[int, ...]],
        row_only: bool,
        with_tokens: bool,
    ) -> None: ...
    def counts(self) -> tuple[int, ...]: ...

# `bind` takes the names of columns; a context is the prolog of records; notes: the start and end of each record taken.
class XmlScanner(Scanner):
    def __init__(self, kinds: Mapping[bytes, bytes], keep: bool, tokens: bool) -> None: ...

# `bind` takes fields, the number of columns, and whether there are both images; notes: ordinal, start and end of each
# odd line. Odd lines count as taken: only an identity that is neither bound nor refused ends a scan.
class DelimitedScanner(Scanner):
    def __init__(
        self,
        between: bytes,
        behind: bytes,
        null: bytes,
        missing: bytes,
        quoted: bool,
        head: int,
        op: int,
        name: tuple[int, ...],
        slots: tuple[int, ...],
        kinds: Mapping[bytes, bytes],
        labels: tuple[bytes, ...] = ...,
    ) -> None: ...
    def refuse(self, name: bytes) -> None: ...

class AvroToJson:
    def __init__(self, program: tuple[Any, ...]) -> None: ...
    def write(
        self, data: bytes, place: int, most: int, mark: bytes, before: bytes, behind: bytes
    ) -> tuple[int, int, bytes, Buffer]: ...

# Of each column its rows, validity bits or None, how many rows are null, the n + 1 offsets (int32) of texts, bytes and
# lists or None, and its values: booleans as bits, decimals of 16 bytes. None for data that the exact reader decodes.
class AvroColumns:
    def __init__(self, program: tuple[Any, ...], columns: int) -> None: ...
    def decode(
        self, data: bytes, count: int
    ) -> Sequence[tuple[int, Buffer | None, int, Buffer | None, Buffer]] | None: ...

# Columns of a table: name, form, bytes, digits, digits or bytes before, symbols; see binlog_rows.c. `head`: the first
# members of records. `write` returns the number of rows and the JSON of each image; None for what it does not take.
class BinlogRows:
    def __init__(self, columns: tuple[Any, ...], head: bytes) -> None: ...
    def write(self, data: bytes, place: int, end: int, *shown: bytes) -> tuple[int, tuple[bytes, ...]] | None: ...

# Plain transactions of binary logs; see binlog_events.c. Both return their end, and `binlog_records` also returns their
# records as lines of JSON, and starts and ends (int64) of the events, and of the lines from `base` on.
def binlog_commits(data: bytes, place: int, end: int, limit: int, is_checked: bool) -> int: ...
def binlog_records(
    data: bytes,
    place: int,
    checksum_bytes: int,
    tables: dict[bytes, BinlogRows | None],
    file: bytes,
    offset: int,
    server: int,
    writes_rows: bool,
    base: int,
    most: int,
) -> tuple[int, bytes, Buffer, Buffer]: ...
