from collections.abc import Mapping, Sequence
from typing import Any

REVISION: int

class Buffer: ...

# Offsets, data, validity or None, nulls, present or None, and of which values are texts: None, True for all, or bits.
Column = tuple[Buffer, Buffer, Buffer | None, int, Buffer | None, Buffer | bool | None]

def join(pieces: Sequence[Any], rows: int, kinds: tuple[type, ...]) -> tuple[int, Buffer, Buffer]: ...
def fits(texts: Any, form: int) -> bool: ...
def count(texts: Any, parts: tuple[str, ...], wholes: tuple[str, ...]) -> tuple[int, ...]: ...

class JsonScanner:
    def __init__(
        self,
        members: tuple[tuple[bytes, int, bool, Any], ...],
        ops: Mapping[bytes, bytes],
        rules: Mapping[bytes, tuple[int, int]],
        row_only: bool,
        key_updates: bool,
    ) -> None: ...
    def bind(self, identity: bytes, names: tuple[bytes, ...], keys: tuple[int, ...], takes: bytes | None) -> int: ...
    def unbind(self, number: int) -> None: ...
    def rows(self, number: int) -> int: ...
    def first(self, number: int) -> int: ...
    def largest(self) -> int: ...
    def take(
        self, number: int
    ) -> tuple[
        int,
        Sequence[Column],
        Sequence[Column],
        Sequence[Column],
        Column,
        Column,
        Buffer,
        Buffer,
        Buffer,
        Buffer,
    ]: ...
    def scan(self, data: bytes, place: int, ordinal: int) -> tuple[int, int, int, bytes | None]: ...
    def scan_spans(self, data: bytes, spans: Any, place: int, ordinal: int) -> tuple[int, int, int, bytes | None]: ...
