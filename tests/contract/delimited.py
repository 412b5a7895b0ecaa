"""The contracts of `delimitedtext` and `delimitedtext_op`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable, row_image, split_key_updates
from strategies import Changes

from contract import Case, Contract, whole
from contract.shown import flag, templates
from ggfmt.formats.api.format import Context
from ggfmt.model.table import Column, TableDef

TABLE = TableDef("GG.T", (Column("A", key=1), Column("B")))

# Texts without delimiters, and none that stands for NULL or missing: all others are lost before they can be read.
_TEXTS = st.text(
    st.one_of(st.sampled_from('"\\ ,=é表😀\t'), st.characters(exclude_categories=["Cs"], exclude_characters="|\n\r#<")),
    max_size=5,
)
_TOKEN_TEXTS = st.text("abcé表\"'", max_size=3)


@st.composite
def cases(draw: st.DrawFn, by_image: bool) -> Case:
    keys = draw(st.integers(0, 1))
    columns = tuple(PlainColumn(f"C{n}", "string", keys * (n == 0)) for n in range(draw(st.integers(1, 5))))
    table = PlainTable("S.T", columns)

    def image() -> dict[str, Any]:
        cells = {c.name: draw(st.one_of(st.none(), st.just(...), _TEXTS)) for c in columns}
        return {name: value for name, value in cells.items() if value is not ...}

    operations: list[PlainOperation] = []
    for kind in draw(st.lists(st.sampled_from("IUUDT"), max_size=8)):
        stamp = draw(st.sampled_from(["2013-06-02 22:14:36.000000", "x"]))
        tokens = draw(st.dictionaries(_TOKEN_TEXTS.filter(bool), _TOKEN_TEXTS, max_size=3))
        before = image() if kind == "D" or (kind == "U" and draw(st.booleans())) else None
        after = image() if kind in "IU" else None
        operations.append(PlainOperation(kind, stamp, f"{len(operations):020d}", before, after, tokens))
    options = {
        "includeColumnNames": flag(draw(st.booleans())),
        "includeCurrentTimestamp": flag(draw(st.booleans())),
        "fieldDelimiter": draw(st.sampled_from(["|", "||", "|#|"])),
        "lineDelimiter": f"CDATA[{draw(st.sampled_from([chr(10), chr(13) + chr(10), '#' + chr(10)]))}]",
        "nullValueRepresentation": "<null>",
        "missingValueRepresentation": "<missing>",
        "deleteOpKey": draw(st.sampled_from(["D", "DELETE"])),
        "encoding": draw(st.sampled_from(["UTF-8", "UTF-8", "UTF-16", "UTF-16LE"])),
        "includeMetaColumnNames": flag(draw(st.booleans())),
        "wrapStringsInQuotes": flag(draw(st.booleans())),
    }
    if by_image:
        options["includeGroupCols"] = flag(draw(st.booleans()))
    else:
        options["pkUpdateHandling"] = draw(st.sampled_from(["update", "delete-insert"]))
        options["enableFieldDescriptorHeaders"] = flag(draw(st.booleans()))
    context = Context(include_tokens=draw(st.booleans()), release=draw(st.sampled_from(["12.2", "12.3"])))
    if draw(st.booleans()):
        options["metaColumnsTemplate"] = draw(templates(context.include_tokens))
        context = replace(context, release=draw(st.sampled_from(["12.2", "19.1", "21", "26"])))
    return Case(Changes(table, operations, draw(st.booleans())), options, context=context)


def op_shown(case: Case) -> list[PlainOperation]:
    """Both images; an update without one shows it without columns."""
    return [
        replace(
            item,
            before=item.before or {} if item.op in "UD" else None,
            after=item.after or {} if item.op in "IU" else None,
            tokens=item.tokens if case.context.include_tokens else {},
        )
        for item in case.operations
    ]


def shown(case: Case) -> list[PlainOperation]:
    """One image, and a change of the key as the option has it."""
    operations = case.operations
    if case.options["pkUpdateHandling"] == "delete-insert":
        operations = split_key_updates(case.changes.table, operations)
    return [
        replace(
            item,
            before=row_image(item) if item.op == "D" else None,
            after=row_image(item) if item.op in "IU" else None,
            tokens=item.tokens if case.context.include_tokens else {},
        )
        for item in operations
    ]


CONTRACTS = {
    "delimitedtext": Contract(
        cases(by_image=False),
        shown,
        transactions=("xid", "6"),
        told=whole,
        records=["I|GG.T|t|c|p|R=A,L=b|1|é".encode(), b"U|GG.T|t|c|p||1|NULL", b"D|GG.T|t|c|p|||2", b"T|GG.T|t|c|p|||"],
        told_of_records={"fieldDelimiter": "|", "encoding": "UTF-8"},
        table_of_records=TABLE,
        texts=False,
    ),
    "delimitedtext_op": Contract(
        cases(by_image=True),
        op_shown,
        transactions=("xid", "6"),
        told=whole,
        records=[
            "I|GG.T|t|c|p|R=A,L=b||1||é".encode(),
            b"U|GG.T|t|c|p||1|1|NULL|x",
            b"D|GG.T|t|c|p||2||2|",
            b"T|GG.T|t|c|p|||||",
        ],
        told_of_records={"fieldDelimiter": "|", "encoding": "UTF-8"},
        table_of_records=TABLE,
        texts=False,
    ),
}
