"""Structs of Thrift's compact protocol come back as they were, whatever they hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt.formats.goldengate.container_files.thrift import (
    Items,
    Type,
    Value,
    i32,
    read_struct,
    struct_bytes,
    structs,
    text,
)

longs = st.integers(-(1 << 63), (1 << 63) - 1)
_plain: dict[Type, st.SearchStrategy[Any]] = {
    Type.BYTE: st.integers(0, 255),
    Type.I16: st.integers(-(1 << 15), (1 << 15) - 1),
    Type.I32: st.integers(-(1 << 31), (1 << 31) - 1),
    Type.I64: longs,
    Type.DOUBLE: st.binary(min_size=8, max_size=8),
    Type.BINARY: st.binary(max_size=300),
}


def contents(depth: int) -> dict[Type, st.SearchStrategy[Any]]:
    """The contents of values by their type; of a list those of booleans, too."""
    if not depth:
        return _plain
    inner = {**contents(depth - 1), Type.TRUE: st.booleans()}
    items = st.one_of(
        *(st.builds(Items, st.just(kind), st.lists(content, max_size=20)) for kind, content in inner.items())
    )
    return {**_plain, Type.LIST: items, Type.SET: items, Type.STRUCT: structs_of(depth - 1)}


def structs_of(depth: int) -> st.SearchStrategy[Any]:
    values = [st.builds(Value, st.just(kind), content) for kind, content in contents(depth).items()]
    flags = st.booleans().map(lambda flag: Value(Type.TRUE if flag else Type.FALSE, flag))
    return st.dictionaries(st.integers(-20, 1000), st.one_of(flags, *values), max_size=6)


@given(fields=structs_of(2))
@examples(100)
def test_a_struct_comes_back(fields: Any) -> None:
    data = struct_bytes(fields)
    assert read_struct(data) == fields
    assert read_struct(data + b"more") == fields


def test_bytes_are_those_of_the_protocol() -> None:
    """As its specification lays them out: short and long field headers, zigzag numbers, lists of 15 items and more."""
    fields = {1: i32(-1), 2: text("é"), 40: structs([{}] * 15), 41: Value(Type.FALSE, False)}
    assert struct_bytes(fields) == b"\x15\x01\x18\x02\xc3\xa9\x09\x50\xfc\x0f" + b"\0" * 15 + b"\x12\0"


@pytest.mark.parametrize("size", [0, 1, 3, 5])
def test_a_struct_that_is_cut_off_is_an_error(size: int) -> None:
    with pytest.raises((IndexError, ValueError)):
        read_struct(struct_bytes({1: i32(-1), 2: text("é")})[:size])
