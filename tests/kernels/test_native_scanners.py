"""What all native scanners have in common: tables, identities, and how a scan ends."""

from __future__ import annotations

from array import array
from typing import Any

import fastavro
import pytest
from avro_cases import datum

from ggfmt import kernels
from ggfmt.formats.dts import schema as dts_schema
from ggfmt.formats.dts.schema import OPERATIONS, SOURCE_TYPES
from ggfmt.kernels import native

pytestmark = pytest.mark.skipif(native is None, reason=f"no native kernels: {kernels.state}")

KINDS = ("AvroScanner", "DelimitedScanner", "DtsScanner", "JsonScanner", "XmlScanner")
MEMBERS = ((b"table", 2, True, None, None), (b"op", 5, True, None, None), (b"after", 8, False, None, None))


def json_scanner() -> Any:
    """A scanner of records with a table, an operation type and an after image."""
    return native.JsonScanner(MEMBERS, {b"I": (b"I", None, None, 0)}, {}, False, False, None)


def bind(scanner: Any, table: str) -> int:
    return int(scanner.bind(f'"{table}"\0'.encode(), (b"A",), (), None, None))


def records(*tables: str) -> bytes:
    return b"".join(b'{"table":"%s","op":"I","after":{"A":1}}\n' % table.encode() for table in tables)


@pytest.mark.parametrize("name", KINDS)
def test_scanners_are_kinds_of_one_that_cannot_be_made(name: str) -> None:
    assert issubclass(getattr(native, name), native.Scanner)
    with pytest.raises(TypeError):
        native.Scanner()
    with pytest.raises(TypeError):
        getattr(native, name)()


def test_an_identity_is_bound_once() -> None:
    scanner = json_scanner()
    number = bind(scanner, "T")
    with pytest.raises(ValueError, match="bound already"):
        bind(scanner, "T")
    scanner.unbind(number)
    assert bind(scanner, "T") == number


def test_a_table_is_unbound_when_it_has_no_rows() -> None:
    scanner = json_scanner()
    number = bind(scanner, "T")
    scanner.scan(records("T"), 0, -1, 0)
    with pytest.raises(ValueError, match="rows that nobody took"):
        scanner.unbind(number)
    assert scanner.take(number)[0] == 1
    scanner.unbind(number)
    for method in (scanner.unbind, scanner.rows, scanner.take):
        for wrong in (number, -1, 7, 1 << 70):
            with pytest.raises((ValueError, OverflowError)):
                method(wrong)


def test_a_binding_that_fails_leaves_nothing() -> None:
    scanner = json_scanner()
    for description in ((), ((b"A",), (1,), None, None), ((b"A",), (), b"12", None), ((b"A",), (), None, b"12")):
        with pytest.raises((TypeError, ValueError)):
            scanner.bind(b'"T"\0', *description)
    with pytest.raises(TypeError):
        scanner.bind()
    with pytest.raises(TypeError):
        scanner.bind("T", (b"A",), (), None, None)
    assert scanner.scan(records("T"), 0, -1, 0)[4] == b'"T"\0'
    assert bind(scanner, "T") == 0


def test_a_scan_ends_at_a_record_without_a_table() -> None:
    scanner = json_scanner()
    number = bind(scanner, "T")
    data = records("T", "T", "U", "T")
    taken, place, full, notes, identity = scanner.scan(data, 0, -1, 0)
    assert (taken, full, identity) == (2, -1, b'"U"\0')
    *starts, end = memoryview(notes).cast("q")
    assert data[place:end] == records("U").rstrip()
    assert starts == [0, len(records("T"))]
    assert scanner.rows(number) == scanner.largest() == 2


def test_a_known_identity_finds_the_table_that_it_is_bound_to_now() -> None:
    """Also if the scanner met it without a table meanwhile."""
    scanner = json_scanner()
    first, second = bind(scanner, "T"), bind(scanner, "U")
    assert scanner.scan(records("U", "T"), 0, -1, 0)[0] == 2
    scanner.take(first)
    scanner.unbind(first)
    assert scanner.scan(records("T"), 0, -1, 0)[4] == b'"T"\0'
    third = bind(scanner, "T")
    assert scanner.scan(records("U", "T", "T"), 0, -1, 0)[0] == 3
    assert (scanner.rows(second), scanner.rows(third)) == (2, 2)


def test_two_identities_of_one_table() -> None:
    scanner = json_scanner()
    number = bind(scanner, "T")
    scanner.bind_alias(b'"U"\0', number, None)
    with pytest.raises(ValueError, match="bound already"):
        scanner.bind_alias(b'"U"\0', number, None)
    assert scanner.scan(records("T", "U", "T"), 0, -1, 0)[0] == 3
    assert scanner.take(number)[0] == 3
    scanner.unbind(number)
    assert scanner.scan(records("U"), 0, -1, 0)[4] == b'"U"\0'


def test_a_scan_takes_no_more_than_asked_for() -> None:
    scanner = json_scanner()
    number = bind(scanner, "T")
    data = records("T", "T", "T", "T")
    taken, place, *_ = scanner.scan(data, 0, 1, 0)
    assert taken == 1
    scanner.limit(number, 3)
    taken, place, full, _, identity = scanner.scan(data, place, -1, 1)
    assert (taken, full, identity) == (2, number, None)
    scanner.limit(number, 0)
    assert scanner.scan(data, place, -1, 3)[:2] == (1, len(data))
    with pytest.raises(ValueError, match="not in the data"):
        scanner.scan(data, len(data) + 1, -1, 0)


def test_a_record_fills_its_span() -> None:
    scanner = json_scanner()
    number = bind(scanner, "T")
    data = records("T", "T") + b"x"
    half = len(records("T"))
    assert scanner.scan_spans(data, array("q", [0, half, half, 2 * half]), 1, 1)[:2] == (1, len(data))
    assert scanner.scan_spans(data, array("q", [0, half, half, len(data)]), 0, 0)[:2] == (1, half)
    assert scanner.rows(number) == 2  # nothing stays of an odd record
    for wrong in ([0, len(data) + 1], [-1, 2], [2, 1]):
        with pytest.raises(ValueError, match="not in the data"):
            scanner.scan_spans(data, array("q", wrong), 0, 0)


def test_a_delimited_name_is_refused_once() -> None:
    scanner = native.DelimitedScanner(b",", b"\n", b"", b"-", False, 2, 0, (1,), (), {b"I": b"I"})
    assert scanner.scan(b"I,T,1\n", 0, -1, 0)[4] == b"T"
    scanner.refuse(b"T")
    with pytest.raises(ValueError, match="bound already"):
        scanner.refuse(b"T")
    lines, place, _, odd, unknown = scanner.scan(b"I,T,1\nI,,2\n", 0, -1, 5)
    assert (lines, place, unknown) == (1, 6, b"")
    assert array("q", bytes(odd)).tolist() == [5, 0, 5]


def dts_record(table: str) -> bytes:
    """An insert of a row with one column."""
    integer = (f"{dts_schema.NAMESPACE}.Integer", {"precision": 4, "value": "7"})
    record = {
        "version": 0, "id": 1, "sourceTimestamp": 0, "sourcePosition": "1", "safeSourcePosition": "", "sourceTxid": "",
        "source": {"sourceType": "MySQL", "version": ""}, "operation": "INSERT", "objectName": table,
        "processTimestamps": None, "tags": {}, "fields": [{"name": "A", "dataTypeNumber": 3}], "beforeImages": None,
        "afterImages": [integer],
    }  # fmt: skip
    return datum(fastavro.parse_schema(dts_schema.record_schema(False)), record)


def test_a_table_of_dts_is_not_taken_for_that_of_an_identity_met_in_vain() -> None:
    """An identity that was met without a table, and bound then, is not the one that the scanner found last."""
    words = tuple(b"w%d" % number for number in range(12))
    ops = b"".join(b"I" if name == "INSERT" else b"-" for name in OPERATIONS)
    sources = tuple(name.encode() for name in SOURCE_TYPES)
    scanner = native.DtsScanner(words, sources, ops, (), (), {}, False, False)
    one, other = dts_record("S.T"), dts_record("S.U")
    identity = scanner.scan(one, 0, 1, 0, False)[4]
    first = scanner.bind(identity, (0,), b"\0", 1, 6)
    assert scanner.scan(one, 0, 1, 0, False)[0] == 1
    missing = scanner.scan(other, 0, 1, 0, False)[4]
    second = scanner.bind(missing, (0,), b"\0", 1, 6)
    assert [scanner.scan(record, 0, 1, 0, False)[0] for record in (one, other, other, one)] == [1, 1, 1, 1]
    assert (scanner.rows(first), scanner.rows(second)) == (3, 2)
    scanner.take(second)
    scanner.unbind(second)
    assert scanner.scan(other, 0, 1, 0, False)[4] == missing
    assert scanner.scan(one, 0, 1, 0, False)[0] == 1
    assert scanner.scan(other, 0, 1, 0, False)[4] == missing
    third = scanner.bind(missing, (0,), b"\0", 1, 6)
    assert scanner.scan(one, 0, 1, 0, False)[0] == 1
    assert (scanner.rows(first), scanner.rows(third)) == (5, 0)
