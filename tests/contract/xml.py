"""The contract of `xml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import Changes, names, operations, tables, texts
from xml_oracle import as_written, can_carry

from contract import Case, Contract, column_names
from contract.shown import flag


def cleaned(text: str) -> str:
    return "".join(filter(can_carry, text))


def clean(operation: PlainOperation) -> PlainOperation:
    """The operation without the characters that XML cannot carry."""

    def image(values: Mapping[str, str | None] | None) -> Mapping[str, str | None] | None:
        if values is None:
            return None
        return {name: None if value is None else cleaned(value) for name, value in values.items()}

    return PlainOperation(
        operation.op,
        None if operation.op_ts is None else cleaned(operation.op_ts),
        None if operation.pos is None else cleaned(operation.pos),
        image(operation.before),
        image(operation.after),
        {cleaned(name): cleaned(value) for name, value in operation.tokens.items()},
    )


@st.composite
def xml_changes(draw: st.DrawFn, /, **options: Any) -> Changes:
    """Changes that XML can carry."""
    table = draw(tables(names.filter(can_carry)))
    assume(can_carry(table.name))
    return Changes(table, [clean(item) for item in draw(operations(table, **options))], draw(st.booleans()))


xml_options = st.fixed_dictionaries(
    {
        "include_prolog": st.booleans(),
        "iso8601_format": st.booleans(),
        "encoding": st.sampled_from(["UTF-8", "ISO-8859-1", "UTF-16"]),
        **{
            f"{kind}_op_key": st.one_of(st.just(word), texts.map(cleaned))
            for kind, word in zip(("insert", "update", "delete", "truncate"), "IUDT", strict=True)
        },
    }
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    options = {
        "includeProlog": flag(draw(st.booleans())),
        "encoding": draw(st.sampled_from(["UTF-8", "UTF-8", "UTF-16", "UTF-16LE", "UTF-32BE"])),
        "insertOpKey": draw(st.sampled_from(["I", "<insert>"])),
    }
    return Case(draw(xml_changes()), options)


def message(
    columns: str = "<col name='ID' index='0'><before missing='true'/><after>1</after></col>",
    head: str = "table='GG.ORDERS' type='I' ts='t' current_ts='c' pos='7'",
    tokens: str = "",
) -> bytes:
    return f"<operation {head}>{columns}{tokens}</operation>\n".encode()


_BOTH = "<col name='ID'><before><![CDATA[a]]></before><after isNull='true'/></col>"

CONTRACTS = {
    "xml": Contract(
        cases(),
        lambda case: [as_written(item) for item in case.operations],
        transactions=("xid", "6"),
        told=column_names,
        records=[
            record.rstrip()
            for record in (
                message(),
                message(_BOTH, "table='GG.ORDERS' type='U' ts='t' pos='8'"),
                message(tokens="<tokens><token><Name>R</Name><Value>x</Value></token></tokens>"),
                message("", "table='GG.ORDERS' type='T'"),
            )
        ],
        base=1,  # the first bytes show the encoding
        texts=False,
    )
}
