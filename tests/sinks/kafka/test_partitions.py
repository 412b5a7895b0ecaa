"""Partitions: those of Kafka's own Java producer, with and without native kernels."""

from __future__ import annotations

import csv
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scanners import without_kernels
from strategies import examples

from ggfmt import kernels
from ggfmt.sinks.kafka.staging import partitions_of

GOLDEN = Path(__file__).with_name("partitions.csv")


@pytest.mark.parametrize("native", [True, False])
def test_keys_have_the_partitions_of_the_java_producer(native: bool) -> None:
    head, *lines = csv.reader(line for line in GOLDEN.read_text().splitlines() if not line.startswith("#"))
    assert len(lines) >= 200
    keys: pa.BinaryArray = pa.array([bytes.fromhex(line[0]) for line in lines], pa.binary())
    with nullcontext() if native else without_kernels():
        for place, count in enumerate(map(int, head[1:]), 1):
            assert partitions_of(keys, count).to_pylist() == [int(line[place]) for line in lines]


def test_a_null_key_has_no_partition_and_an_empty_one_has() -> None:
    keys: pa.BinaryArray = pa.array([b"a", None, b"", b"1_test "], pa.binary())
    assert partitions_of(keys, 12).to_pylist() == [4, None, 9, 10]
    assert partitions_of(keys.slice(1, 2), 12).to_pylist() == [None, 9]
    assert partitions_of(keys.slice(0, 0), 12).to_pylist() == []


def test_the_partition_in_a_topic_with_an_unknown_number_is_not_known() -> None:
    assert partitions_of(pa.array([b"a", None], pa.binary()), None).to_pylist() == [None, None]


@pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")
@given(st.lists(st.none() | st.binary(max_size=40)), st.integers(1, (1 << 31) - 1), st.integers(0, 3))
@examples(200)
def test_the_kernel_chooses_as_plain_python(keys: list[bytes | None], count: int, start: int) -> None:
    array: pa.BinaryArray = pa.array(keys, pa.binary()).slice(start)
    found = partitions_of(array, count)
    with without_kernels():
        assert found.equals(partitions_of(array, count))


@pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")
def test_the_kernel_refuses_keys_of_another_type_and_no_partitions() -> None:
    with pytest.raises(TypeError):
        kernels.native.partitions(pa.array(["a"]), 3)
    with pytest.raises(ValueError, match="no partitions"):
        kernels.native.partitions(pa.array([b"a"]), 0)
