"""Records in columns: the native kernel decodes what fastavro decodes, of whole data and of damaged ones."""

from __future__ import annotations

import random

import pytest
from avro_cases import damaged
from container_files import FORMS, assert_same_columns, block_of, decoded
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt import kernels
from ggfmt.columnar.pieces import zigzag_varint
from ggfmt.formats.avro import programs
from ggfmt.formats.goldengate.container_files.columns import RecordColumns
from ggfmt.formats.goldengate.container_files.fields import record_of

needs_kernel = pytest.mark.skipif(kernels.native is None, reason=f"no kernels: {kernels.state}")


@needs_kernel
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("form", FORMS)
@given(seed=st.integers(0, 1 << 32), count=st.integers(1, 60), flagged=st.booleans())
@examples(30)
def test_the_kernel_decodes_what_fastavro_decodes(form: str, typed: bool, seed: int, count: int, flagged: bool) -> None:
    schema, data = block_of(form, count, seed, flagged)
    assert_same_columns(schema, typed, data, count)


@needs_kernel
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("form", FORMS)
@given(seed=st.integers(0, 1 << 32), count=st.integers(-1, 9))
@examples(150)
def test_of_damaged_data_too(form: str, typed: bool, seed: int, count: int) -> None:
    schema, data = block_of(form, 8, seed % 5)
    assert_same_columns(schema, typed, damaged(data, random.Random(seed)), max(count, 0))


@needs_kernel
@pytest.mark.parametrize("form", FORMS)
def test_the_kernel_takes_all_that_is_regular(form: str) -> None:
    schema, data = block_of(form, 50, 1)
    kernel = RecordColumns(schema, record_of(schema), True).kernel
    assert kernel is not None
    assert kernel.decode(data, 50) is not None
    assert kernel.decode(data, 49) is None


def test_a_token_twice_is_the_last_one() -> None:
    schema = {"type": "record", "name": "T", "fields": [{"name": "M", "type": {"type": "map", "values": "string"}}]}
    data = zigzag_varint(2) + b"\x02A\x02x\x02A\x02y\0"
    batch = RecordColumns(schema, record_of(schema), False).decode(data, 1)
    assert batch.to_pylist() == [{"M": [("A", "y")]}]


def test_a_decimal_with_more_digits_than_its_type_is_damage() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 1}
    schema = {"type": "record", "name": "T", "fields": [{"name": "D", "type": kind}]}
    for number, data in ((99, b"\x02\x63"), (-99, b"\x06\xff\xff\x9d"), (-1, b"\x24" + b"\xff" * 18)):
        batch = decoded(schema, True, data, 1)
        assert not isinstance(batch, str)
        assert int(batch.to_pylist()[0]["D"] * 10) == number
    for data in (b"\x02\x64", b"\x24" + b"\x01" * 18):
        assert decoded(schema, True, data, 1) == "the data of a block does not match the schema"


def test_more_records_than_bytes_are_damage() -> None:
    schema, data = block_of("avro_op_ocf", 3, 1)
    assert decoded(schema, False, data, 1 << 60) == "a block has fewer records than it declares"


TEXT = (programs.STRING, programs.PLAIN, None, (), (), programs.PUT, 0)
ITEM = (programs.STRING, programs.PLAIN, None, (), (), programs.ITEM, 1)
LIST = (programs.ARRAY, programs.PLAIN, None, (), (ITEM,), programs.LIST, 0)
NULL = (programs.NULL, programs.PLAIN, None, (), ())
REFUSED = {
    "a column twice": programs.record((TEXT, TEXT)),
    "no such column": programs.record(((*TEXT[:6], 9),)),
    "a column before all": programs.record(((*TEXT[:6], -1),)),
    "a value without a column": programs.record((TEXT[:5],)),
    "a record without bytes": programs.record(()),
    "null in a column": programs.record(((programs.NULL, programs.PLAIN, None, (), (), programs.PUT, 0), TEXT)),
    "an optional list": programs.record(((programs.UNION, programs.PLAIN, None, (), (NULL, LIST)),)),
    "a list in the last column": programs.record(((*LIST[:6], 3),)),
    "a list far away": programs.record(((*LIST[:6], (1 << 31) - 1),)),
    "a list of lists": programs.record(((*LIST[:4], (LIST,), programs.LIST, 0),)),
    "items of the list before": programs.record(((*LIST[:4], ((*ITEM[:6], 0),), programs.LIST, 0),)),
    "a fixed": programs.record(((programs.FIXED, programs.PLAIN, 3, (), (), programs.PUT, 0),)),
    "a list that is a group": programs.record(((*LIST[:5], programs.GROUP, 0),)),
    "a group that is a list": programs.record(((*programs.record((TEXT,)), programs.LIST, 1),)),
    "a datum in bytes": programs.record(((*programs.nested_program(TEXT), programs.PUT, 1),)),
    "a time": programs.record(((programs.LONG, programs.STAMP, 1, (), (), programs.PUT, 0),)),
    "no program": 7,
}


@needs_kernel
@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED)
def test_programs_that_columns_do_not_have_are_refused(program: object) -> None:
    with pytest.raises(kernels.REFUSALS):
        kernels.native.AvroColumns(program, 4)


@needs_kernel
@pytest.mark.parametrize("columns", [-1, 1 << 30])
def test_a_number_of_columns_that_there_cannot_be(columns: int) -> None:
    with pytest.raises(kernels.REFUSALS):
        kernels.native.AvroColumns(programs.record((TEXT,)), columns)
