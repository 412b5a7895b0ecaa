"""The contracts of `avro_row`, `avro_op` and their container files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dialects import written
from hypothesis import strategies as st
from oracle import PlainColumn, PlainImage, PlainOperation, PlainTable, row_image, split_key_updates
from strategies import Changes, table_def

from contract import Case, Contract, Texts, names_and_keys, whole
from contract.shown import filled, flag
from ggfmt.formats.api.context import Context

CODECS = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_VALUES = {
    "string": _TEXTS,
    "number": _TEXTS,  # without precision: text in release 12.2
    "boolean": st.sampled_from(["true", "false"]),
    "double": st.floats(allow_nan=False, allow_infinity=False).map(repr),
}


@st.composite
def avro_changes(draw: st.DrawFn) -> Changes:
    kinds = draw(st.lists(st.sampled_from(list(_VALUES)), min_size=1, max_size=5))
    table = PlainTable("S.T", tuple(PlainColumn(f"C{n}", kind, n == 0) for n, kind in enumerate(kinds)))

    def image() -> PlainImage:
        cells = {c.name: draw(st.one_of(st.none(), st.just(...), _VALUES[c.kind])) for c in table.columns}
        return {name: value for name, value in cells.items() if value is not ...}

    operations = []
    for kind in draw(st.lists(st.sampled_from("IUDT"), max_size=6)):
        before = image() if kind == "D" or (kind == "U" and draw(st.booleans())) else None
        after = image() if kind in "IU" else None
        tokens = draw(st.dictionaries(_TEXTS, _TEXTS, max_size=2))
        operations.append(PlainOperation(kind, draw(_TEXTS), draw(_TEXTS), before, after, tokens))
    return Changes(table, operations, draw(st.booleans()))


@st.composite
def cases(draw: st.DrawFn, name: str) -> Case:
    options = {}
    if name.startswith("avro_row"):
        options["pkUpdateHandling"] = draw(st.sampled_from(["update", "delete-insert"]))
    if name.endswith("_ocf"):
        return Case(draw(avro_changes()), options, context=Context(True, codec=draw(st.sampled_from(CODECS))))
    options |= {
        "lineDelimiter": f"CDATA[{draw(st.sampled_from(['', chr(10), '#END#']))}]",
        "wrapMessageInGenericAvroMessage": flag(draw(st.booleans())),
        "genericWrapperUseFingerprint": flag(draw(st.booleans())),
    }
    return Case(draw(avro_changes()), options)


def whole_operations(case: Case) -> list[PlainOperation]:
    return case.operations


def rows(case: Case) -> list[PlainOperation]:
    """One image of all columns, and a change of the key as the option has it."""
    operations = case.operations
    if case.options["pkUpdateHandling"] == "delete-insert":
        operations = split_key_updates(case.changes.table, operations)
    back = []
    for item in operations:
        image = filled(row_image(item), case.columns)
        back.append(replace(item, before=image if item.op == "D" else None, after=image if item.op in "IU" else None))
    return back


_TABLE = PlainTable("S.T", (PlainColumn("A", "string"), PlainColumn("B", "double")))
_STORY = [PlainOperation("I", "t", "p", None, {"A": "x" * n, "B": "1.5"}, {}) for n in range(5)]


def _contract(name: str) -> Contract:
    container = name.endswith("_ocf")
    options: Texts = {}

    def file(operations: list[PlainOperation]) -> bytes:
        return written(name, Changes(_TABLE, operations, False), None, Context(True), **options)

    records, head = [file([item]) for item in _STORY], b""
    frame: Any = bytes
    if container:
        head = file([])
        records = [file([item]).removeprefix(head) for item in _STORY]
    return Contract(
        cases(name),
        rows if name.startswith("avro_row") else whole_operations,
        told=names_and_keys if container else whole,
        records=records,
        head=head,
        frame=frame,
        table_of_records=None if container else table_def(_TABLE),
        isolated=False,  # nothing tells where the next message of a stream is
        texts=False,
    )


CONTRACTS = {name: _contract(name) for name in ("avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf")}
