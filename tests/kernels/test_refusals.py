"""Whatever a native kernel refuses, the code without kernels does, with the same result."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from avro_cases import MAKERS, Case, datum, told
from dialects import read
from fuzz import PROPERTIES, TARGETS, definitions, repeated, seen, sources
from hostile_pieces import everything
from scanners import operations_taken, with_kernels, without_kernels

from ggfmt import kernels
from ggfmt.columnar.images import differ
from ggfmt.columnar.pieces import KINDS as KINDS_OF_PIECES
from ggfmt.columnar.pieces import Conditional, Encoding, Repeated, TextPiece, join, join_binary
from ggfmt.columnar.strings import TextPattern, all_match, count_texts
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.dts import schema as dts_schema

pytestmark = pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")

READ = [name for name in TARGETS if name != PROPERTIES]
KINDS = ("AvroScanner", "AvroToJson", "DelimitedScanner", "DtsScanner", "JsonScanner", "XmlScanner")
BINDINGS = ("bind", "bind_alias")
FUNCTIONS = ("join", "fits", "differ", "count")


class Refusing:
    """A kernel's object some of whose methods refuse everything."""

    def __init__(self, inner: Any, methods: tuple[str, ...], error: type[Exception]) -> None:
        self._inner, self._methods, self._error = inner, methods, error

    def __getattr__(self, name: str) -> Any:
        return refuses(self._error) if name in self._methods else getattr(self._inner, name)


def refuses(error: type[Exception]) -> Callable[..., Any]:
    def refuse(*given: Any, **named: Any) -> Any:
        raise error("the kernel does not take this")

    return refuse


def refusing_bindings(error: type[Exception]) -> dict[str, Any]:
    def made(kind: Any) -> Callable[..., Any]:
        return lambda *given, **named: Refusing(kind(*given, **named), BINDINGS, error)

    return {name: made(getattr(kernels.native, name)) for name in KINDS}


REPLACED: dict[str, Callable[[type[Exception]], dict[str, Any]]] = {
    "constructors": lambda error: dict.fromkeys(KINDS, refuses(error)),
    "bindings": refusing_bindings,
}


@pytest.mark.parametrize("error", kernels.REFUSALS)
@pytest.mark.parametrize("what", REPLACED)
def test_what_scanners_refuse_is_read_without_them(what: str, error: type[Exception]) -> None:
    for name in READ:
        for source in sources(name):
            data, known = repeated(name), definitions(name)
            with without_kernels():
                expected = seen(read(name, data, source, trusted=known))
            with with_kernels(REPLACED[what](error)), operations_taken() as taken:
                assert seen(read(name, data, source, trusted=known)) == expected, name
            assert not taken.operations


@pytest.mark.parametrize("error", kernels.REFUSALS)
@pytest.mark.parametrize("what", REPLACED)
@pytest.mark.parametrize("system", MAKERS)
def test_of_avro_too(system: str, what: str, error: type[Exception]) -> None:
    for seed in range(6):
        case = MAKERS[system](Random(seed))
        with without_kernels():
            expected = told(case)
        with with_kernels(REPLACED[what](error)):
            assert told(case) == expected


@pytest.mark.parametrize("error", [ValueError, TypeError])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_functions_over_arrays_refuse_is_done_in_plain_python(function: str, error: type[Exception]) -> None:
    for seed in range(60):
        expected = everything(seed)
        with with_kernels({function: refuses(NotImplementedError if function == "join" else error)}):
            assert everything(seed) == expected


# What kernels do refuse.


def test_pieces_nested_deeper_than_the_kernel_goes() -> None:
    mask = pa.array([True, False])
    piece: Any = pa.array(["a", "b"])
    for _ in range(40):
        piece = Conditional(mask, [piece], ["-"])
    assert join([piece, "."]).to_pylist() == ["a.", "-."]
    with pytest.raises(NotImplementedError, match="nested too deeply"):
        kernels.native.join([piece, "."], -1, KINDS_OF_PIECES)


@pytest.mark.parametrize("rows", [[3], [-1], [None], [0, 1]])
def test_rows_that_an_array_does_not_have(rows: list[int | None]) -> None:
    texts, one = pa.array(["a", "b", None]), pa.array([0], pa.int64())
    others = pa.array(rows, pa.int64())
    for places in ((others, one), (one, others)):
        with pytest.raises(TypeError, match="as many rows"):
            kernels.native.differ(texts, texts, *places)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_of_a_type_that_the_kernel_does_not_take(kind: pa.DataType) -> None:
    texts: Any = pa.array(["7", None, "a"], kind)  # a cast to views in Arrow 18 makes an array that crashes its export
    assert not all_match(texts, TextPattern.JSON_NUMBER)
    if kind != pa.string_view():  # which Arrow 18 compares and casts by no function
        assert differ(texts, texts).to_pylist() == [False, False, False]
        assert count_texts(texts.cast(pa.string()), ("a",), ("7",)) == (1, 1)
        assert join([TextPiece(texts.cast(pa.string()), null="-"), "."]).to_pylist() == ["7.", "-.", "a."]


def test_values_in_avro_that_the_kernel_refuses() -> None:
    """One by one, as the kernel has them at once."""
    longs = pa.array([0, -1, 1 << 62, None])
    maps: Any = pa.array([[("a", "b")], [], [("c", ""), ("d", "é")], [("x", "y")]], pa.map_(pa.string(), pa.string()))
    pieces = [
        TextPiece(longs, Encoding.VARINT, b"-"),
        TextPiece(pa.array(["1", "-12", "999999999999999999", None]), Encoding.LONG, b"\0", b"\2"),
        TextPiece(pa.array(["0.1", "-12.5", "16777.21", None]), Encoding.FLOAT, b"\0"),
        TextPiece(pa.array(["0.1", "-12.5", "123456789.012345", None]), Encoding.DOUBLE, b"\0"),
        TextPiece(pa.array(["true", "false", "true", None]), Encoding.BOOLEAN, b"\0"),
        TextPiece(pa.array(["", "é", "x" * 200, None]), Encoding.SIZED, b"\0"),
        Repeated(maps, [TextPiece(maps.keys, Encoding.SIZED), TextPiece(maps.items, Encoding.SIZED)], counted=True),
    ]
    expected = join_binary(pieces).to_pylist()
    with with_kernels({"join": refuses(NotImplementedError)}):
        assert join_binary(pieces).to_pylist() == expected


@pytest.mark.long
def test_a_table_of_dts_with_more_columns_than_the_kernel_has_room_for() -> None:
    columns = (1 << 16) + 1
    fields = [{"name": f"C{place}", "dataTypeNumber": 3} for place in range(columns)]
    integer = (f"{dts_schema.NAMESPACE}.Integer", {"precision": 4, "value": "7"})
    record = {
        "version": 0, "id": 1, "sourceTimestamp": 1388534400, "sourcePosition": "1", "safeSourcePosition": "1",
        "sourceTxid": "1", "source": {"sourceType": "MySQL", "version": "8"}, "operation": "INSERT",
        "objectName": "S.T", "processTimestamps": None, "tags": {}, "fields": fields, "beforeImages": None,
        "afterImages": [integer] * columns,
    }  # fmt: skip
    payload = datum(fastavro.parse_schema(dts_schema.record_schema(False)), record)
    data = (len(payload).to_bytes(4, "big") + payload) * 2
    _, (table, operations, *_), *others = told(Case("dts_avro", data, WriterSettings(FORMATS["dts_avro"].options())))
    assert len(table.columns) == columns
    assert [operation.op for operation in operations] == ["I", "I"]
    assert others == [{}, {}, {}]
