"""The contracts of `avro_row`, `avro_op` and their container files."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from dialects import written
from hypothesis import strategies as st
from oracle import PlainColumn, PlainImage, PlainOperation, PlainTable, row_image, split_key_updates
from strategies import Changes, table_def

from contract import Case, Contract, Texts, names_and_keys, whole
from contract.shown import filled, flag, templates
from ggfmt.formats.api.format import Context
from ggfmt.model.table import TableDef

CODECS = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_VALUES = {
    "string": _TEXTS,
    "number": _TEXTS,  # without precision: text in release 12.2
    "boolean": st.sampled_from(["true", "false"]),
    "double": st.floats(allow_nan=False, allow_infinity=False).map(repr),
}
_DECIMALS = st.integers(-(10**20), 10**20).map(lambda n: f"{Decimal(n).scaleb(-2):f}")


@st.composite
def avro_changes(draw: st.DrawFn, decimals: bool) -> Changes:
    """Operations; `decimals`: those numbers are decimals of two digits behind the point."""
    values = {**_VALUES, "number": _DECIMALS, "decimal": _DECIMALS} if decimals else _VALUES
    kinds = draw(st.lists(st.sampled_from(list(values)), min_size=1, max_size=5))
    table = PlainTable("S.T", tuple(PlainColumn(f"C{n}", kind, n == 0) for n, kind in enumerate(kinds)))

    def image() -> PlainImage:
        cells = {c.name: draw(st.one_of(st.none(), st.just(...), values[c.kind])) for c in table.columns}
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
    context = Context(True)
    if name.startswith("avro_row"):
        options["pkUpdateHandling"] = draw(st.sampled_from(["update", "delete-insert"]))
        options["includeIsMissingFields"] = flag(draw(st.booleans()))
    if draw(st.booleans()):
        keys = draw(st.sampled_from(["", ", ${primarykeycolumns[keys]}"]))
        options["metaColumnsTemplate"] = draw(templates(tokens=True)) + keys
        context = replace(context, include_tokens=draw(st.booleans()))
    decimals = draw(st.booleans())
    if decimals:
        options |= {"enableDecimalLogicalType": "true", "oracleNumberScale": "2"}
    if name.endswith("_ocf"):
        return Case(
            draw(avro_changes(decimals)), options, context=replace(context, codec=draw(st.sampled_from(CODECS)))
        )
    options |= {
        "lineDelimiter": f"CDATA[{draw(st.sampled_from(['', chr(10), '#END#']))}]",
        "wrapMessageInGenericAvroMessage": flag(draw(st.booleans())),
        "genericWrapperUseFingerprint": flag(draw(st.booleans())),
    }
    return Case(draw(avro_changes(decimals)), options, context=context)


def told_by_containers(case: Case, table: TableDef) -> Any:
    """The columns, and the key where there are metadata that name it."""
    template = case.options.get("metaColumnsTemplate")
    shows_keys = template is None or "${primarykeycolumns" in template
    return names_and_keys(case, table) if shows_keys else table.column_names


def whole_operations(case: Case) -> list[PlainOperation]:
    return case.operations


def rows(case: Case) -> list[PlainOperation]:
    """One image, of all columns unless there are flags, and a change of the key as the option has it."""
    operations = case.operations
    if case.options["pkUpdateHandling"] == "delete-insert":
        operations = split_key_updates(case.changes.table, operations)
    back = []
    for item in operations:
        flagged = case.options["includeIsMissingFields"] == "true"
        image = row_image(item) if flagged else filled(row_image(item), case.columns)
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
        transactions=("xid", "6"),
        told=told_by_containers if container else whole,
        records=records,
        head=head,
        frame=frame,
        table_of_records=None if container else table_def(_TABLE),
        isolated=False,  # nothing shows where the next message of a stream is
        texts=False,
    )


CONTRACTS = {name: _contract(name) for name in ("avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf")}
