"""Topics, keys and headers by templates, compared with a slow oracle: one operation and one keyword at a time."""

from __future__ import annotations

import pickle
import string
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable, row_image
from strategies import Changes, examples, make_batch, operations, slice_batch, table_def

from ggfmt.columnar.images import delete_insert, key_updates
from ggfmt.columnar.metadata import Clock
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.goldengate.metacolumns import Template
from ggfmt.java.text import InvalidValueError
from ggfmt.options.templates import parse_message_template
from ggfmt.sinks.kafka.templates import Addressed, Addressing, AddressSettings

MOMENT = datetime(2026, 1, 5, 7, 8, 9, 4000)
GROUP = "REP1/a"

Show = Callable[[PlainTable, PlainOperation], str]
Keyword = tuple[str, Show]  # how a template has it, and its text


def joined_keys(table: PlainTable, operation: PlainOperation) -> str:
    return "_".join(row_image(operation).get(name) or "" for name in table.keys)


def shows_key(table: PlainTable, operation: PlainOperation) -> bool:
    return operation.op == "T" or row_image(operation).keys() >= set(table.keys)


def first_token(*names: str) -> Show:
    def show(table: PlainTable, operation: PlainOperation) -> str:
        return next((operation.tokens[name] for name in names if name in operation.tokens), "")

    return show


def part(place: int) -> Show:
    return lambda table, _: ["", "", *table.name.split(".")][place]


KEYWORDS: list[Keyword] = [
    ("${fullyQualifiedTableName}", lambda table, _: table.name),
    ("${TABLENAME}", part(-1)),
    ("${schemaName}", part(-2)),
    ("${catalogname}", part(-3)),
    ("${position}", lambda _, operation: operation.pos or ""),
    ("${opTimestamp}", lambda _, operation: operation.op_ts or ""),
    ("${csn}", first_token("csn", "L")),
    ("${xid}", first_token("xid", "6")),
    ("${token[ L ]}", first_token("L")),
    ("${groupName}", lambda *_: GROUP),
    ("${emptyString}", lambda *_: ""),
    ("${currentTimestamp[yyyy-MM-dd_HH:mm:ss.SSS]}", lambda *_: "2026-01-05_07:08:09.004"),
    ("${staticMap[S.T=one,C.S.T=two][rest]}", lambda table, _: {"S.T": "one", "C.S.T": "two"}.get(table.name, "rest")),
    ("/a.b-", lambda *_: "/a.b-"),
]


def column_value(name: str) -> Keyword:
    def show(_: PlainTable, operation: PlainOperation) -> str:
        value = row_image(operation).get(name, "gone")
        return "none" if value is None else value

    return f"${{columnValue[{name.lower()}][none][gone]}}", show


def wrappers(inner: st.SearchStrategy[list[Keyword]]) -> st.SearchStrategy[list[Keyword]]:
    changes: list[tuple[str, str, Callable[[str], str]]] = [
        ("${toLowerCase[", "]}", str.lower),
        ("${toUpperCase[", "]}", str.upper),
        ("${substring[", "][1]}", lambda text: text[1:]),
        ("${substring[", "][0][3]}", lambda text: text[:3]),
        ("${regex[", "][0+][#]}", lambda text: "#".join(run for run in split_zeros(text))),
    ]
    wrapped = st.tuples(st.sampled_from(changes), inner).map(lambda drawn: wrap(*drawn[0], drawn[1]))
    return st.lists(wrapped, min_size=1, max_size=2)


def split_zeros(text: str) -> list[str]:
    while "00" in text:
        text = text.replace("00", "0")
    return text.split("0")


def wrap(start: str, end: str, change: Callable[[str], str], inner: list[Keyword]) -> Keyword:
    source, show = together(inner)
    return start + source + end, lambda table, operation: change(show(table, operation))


def together(drawn: list[Keyword]) -> Keyword:
    return "".join(source for source, _ in drawn), lambda *given: "".join(show(*given) for _, show in drawn)


def settings(topic: str = "t", key: str = "${null}", headers: str = "", **more: Any) -> AddressSettings:
    columns = Template().parse(headers) if headers else ()
    topics, keys = parse_message_template(topic), parse_message_template(key)
    return AddressSettings(topics, keys, columns, **more)


def addressed(changes: Changes, given: AddressSettings) -> Addressed:
    return Addressing(table_def(changes.table), given, Clock(MOMENT)).of(make_batch(changes))


COLUMNS = (PlainColumn("ID", "string", 2), PlainColumn("SITE", "string", 1), PlainColumn("Name", "string"))
TABLES = st.sampled_from(["T", "S.T", "C.S.T"]).map(lambda name: PlainTable(name, COLUMNS))
ATOMS = st.lists(st.sampled_from([*KEYWORDS, *map(column_value, ("ID", "Name"))]), min_size=1, max_size=3)
PRIMARY: Keyword = ("${primaryKeys}", joined_keys)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Changes, Keyword]:
    table = draw(TABLES)
    drawn = draw(st.recursive(ATOMS, wrappers, max_leaves=4)) + draw(st.sampled_from([[], [PRIMARY]]))
    tokens = st.dictionaries(st.sampled_from(["csn", "L", "xid", "6"]), st.sampled_from(["", "7", "0.1"]), max_size=2)
    known = [replace(operation, tokens=draw(tokens)) for operation in draw(operations(table))]
    keyword = together(drawn)
    assume(PRIMARY[0] not in keyword[0] or all(shows_key(table, operation) for operation in known))
    return Changes(table, known, draw(st.booleans())), keyword


@given(cases())
@examples(200)
def test_keys_are_those_of_the_oracle(case: tuple[Changes, Keyword]) -> None:
    changes, (source, show) = case
    keys = addressed(changes, settings(key=source, group=GROUP)).keys
    assert keys is not None
    assert keys.to_pylist() == [show(changes.table, operation) for operation in changes.operations]


@given(cases(), st.integers(0, 3))
@examples(50)
def test_keys_of_batches_that_are_views_too(case: tuple[Changes, Keyword], start: int) -> None:
    changes, (source, _) = case
    addressing = Addressing(table_def(changes.table), settings(key=source, group=GROUP), Clock(MOMENT))
    batch = make_batch(changes)
    start = min(start, len(batch))
    whole, part = (addressing.of(one).keys for one in (batch, slice_batch(batch, start, len(batch))))
    assert whole is not None and part is not None
    assert part.to_pylist() == whole.to_pylist()[start:]


@given(cases())
@examples(50)
def test_topics_are_those_of_the_oracle_if_kafka_can_have_them(case: tuple[Changes, Keyword]) -> None:
    changes, (source, show) = case
    expected = [show(changes.table, operation) for operation in changes.operations]
    plain = {*string.ascii_letters, *string.digits, *"._-"}
    fits = [plain.issuperset(name) and name not in ("", ".", "..") and len(name) <= 249 for name in expected]
    wrong = [row for row, fit in enumerate(fits) if not fit]
    try:
        found = addressed(changes, settings(source, group=GROUP)).topic
    except RowErrors as errors:
        assert [row for row, _ in errors.rows] == wrong
        assert {diagnostic.code for _, diagnostic in errors.rows} == {"GG577"}
    else:
        assert wrong == []
        assert ([found] * len(expected) if isinstance(found, str) else found.to_pylist()) == expected


ONE = PlainTable("GG.CUST", (PlainColumn("CODE", "string", 1), PlainColumn("CITY", "string")))


def change(op: str, before: Any = None, after: Any = None, **tokens: str) -> PlainOperation:
    return PlainOperation(op, "2013-06-02 22:14:36.000000", "00000000000000001444", before, after, tokens)


def of(*changed: PlainOperation, table: PlainTable = ONE, **given: Any) -> Addressed:
    return addressed(Changes(table, list(changed), True), settings(**given))


def refused(*changed: PlainOperation, table: PlainTable = ONE, **given: Any) -> list[tuple[int, str]]:
    with pytest.raises(RowErrors) as raised:
        of(*changed, table=table, **given)
    assert {diagnostic.code for _, diagnostic in raised.value.rows} == {"GG577"}
    assert {diagnostic.span.table for _, diagnostic in raised.value.rows} == {table.name}
    return [(row, diagnostic.message) for row, diagnostic in raised.value.rows]


INSERT = change("I", None, {"CODE": "WILL", "CITY": "SEATTLE"})


def test_one_topic_is_a_text_and_a_null_key_no_array() -> None:
    found = of(INSERT, INSERT, topic="ogg-${tableName}")
    assert found.topic == "ogg-CUST"
    assert found.keys is None
    assert found.headers == ()
    assert of(INSERT, INSERT, topic="${columnValue[CITY]}").topic == "SEATTLE"


def test_an_empty_key_is_no_null() -> None:
    keys = of(INSERT, key="${emptyString}").keys
    assert keys is not None and keys.to_pylist() == [""]


def test_the_padding_of_a_key_stays() -> None:
    table = PlainTable("GG.T", (PlainColumn("ID", "string", 1), PlainColumn("NAME", "string", 2)))
    keys = of(change("I", None, {"ID": "1", "NAME": "test "}), table=table, key="${primaryKeys}").keys
    assert keys is not None and keys.to_pylist() == ["1_test "]


def test_a_delete_has_its_old_key_and_an_update_its_new_one() -> None:
    old, new = {"CODE": "WILL", "CITY": "A"}, {"CODE": "JANE", "CITY": "B"}
    keys = of(change("D", old), change("U", old, new), key="${primaryKeys}").keys
    assert keys is not None and keys.to_pylist() == ["WILL", "JANE"]


def test_a_key_update_that_became_a_delete_and_an_insert_has_both_keys() -> None:
    changes = Changes(ONE, [change("U", {"CODE": "WILL", "CITY": "A"}, {"CODE": "JANE", "CITY": "A"})], True)
    batch = make_batch(changes)
    updates = key_updates(batch)
    assert updates is not None
    arranged, _ = delete_insert(batch, updates)
    found = Addressing(batch.table, settings(key="${primaryKeys}"), Clock(MOMENT)).of(arranged)
    assert found.keys is not None and found.keys.to_pylist() == ["WILL", "JANE"]


TWO = PlainTable("GG.T", (PlainColumn("A", "string", 1), PlainColumn("B", "string", 2)))


def test_a_key_value_that_is_null_is_empty() -> None:
    keys = of(change("I", None, {"A": None, "B": "1"}), change("T"), table=TWO, key="${primaryKeys}").keys
    assert keys is not None and keys.to_pylist() == ["_1", "_"]


def test_an_operation_that_does_not_show_its_key_is_refused() -> None:
    changed = (change("I", None, {"A": "1", "B": "1"}), change("U", {"A": "1", "B": "1"}, {"B": "1"}), change("T"))
    ((row, message),) = refused(*changed, table=TWO, key="${primaryKeys}")
    assert row == 1
    assert "does not show the key column `A`" in message


def test_a_table_without_a_primary_key_has_no_value_for_it() -> None:
    table = PlainTable("GG.T", (PlainColumn("A", "string"),))
    (found,) = refused(change("I", None, {"A": "1"}), table=table, key="${primaryKeys}")
    assert "no primary key" in found[1]


def test_headers_have_the_bytes_of_metadata_columns() -> None:
    text = "${objectname[table]},${optype},${position[pos]},${token[csn].L},${groupname},${primarykeys}"
    text += ",${currenttimestamp}"
    context = Context(variables={"${groupname}": "Ré"})
    found = of(INSERT, change("T", L="7"), headers=text, op_keys=("N", "U", "D", "T"), context=context)
    assert [(name, values.to_pylist()) for name, values in found.headers] == [
        ("table", [b"GG.CUST"] * 2),
        ("optype", [b"N", b"T"]),
        ("pos", [b"00000000000000001444"] * 2),
        ("csn", [b"", b"7"]),
        ("groupname", ["Ré".encode()] * 2),
        ("primarykeys", [b"WILL", b""]),
        ("currenttimestamp", [b"2026-01-05 07:08:09.004000"] * 2),
    ]
    assert {values.type for _, values in found.headers} == {pa.binary()}


@pytest.mark.parametrize("topic", ["a/b", "", ".", "..", "x" * 250, "é", "a b", "topic\n"])
def test_a_name_that_kafka_does_not_allow_for_a_topic(topic: str) -> None:
    insert = change("I", None, {"CODE": "1", "CITY": topic})
    fine = change("I", None, {"CODE": "2", "CITY": "x" * 249})
    assert [row for row, _ in refused(insert, fine, insert, topic="${columnValue[CITY]}")] == [0, 2]
    assert of(fine, topic="${columnValue[CITY]}").topic == "x" * 249


def test_many_wrong_topics_are_refused_at_once() -> None:
    inserts = [change("I", None, {"CODE": "1", "CITY": city}) for city in ("a b", "ok", "c d", "a b")]
    assert [row for row, _ in refused(*inserts, topic="${columnValue[CITY]}")] == [0, 2, 3]


def test_a_value_that_is_null_or_missing_needs_a_text_of_its_own() -> None:
    null, missing = change("I", None, {"CODE": "1", "CITY": None}), change("I", None, {"CODE": "1"})
    key = "${columnValue[CITY]}"
    assert [(row, "is NULL" in message) for row, message in refused(INSERT, null, key=key)] == [(1, True)]
    assert [(row, "is missing" in message) for row, message in refused(missing, INSERT, key=key)] == [(0, True)]
    found = of(null, missing, INSERT, key="${columnValue[CITY][none][gone]}").keys
    assert found is not None and found.to_pylist() == ["none", "gone", "SEATTLE"]


def test_a_column_that_a_table_lacks() -> None:
    assert "no column `STREET`" in refused(INSERT, key="${columnValue[STREET][none][gone]}")[0][1]
    assert "no column for the table" in refused(INSERT, key="${columnValue[X.Y=CODE]}")[0][1]
    assert "no text for the table" in refused(INSERT, key="${staticMap[X.Y=CODE]}")[0][1]


def test_a_pattern_that_takes_too_long_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggfmt.sinks.kafka.templates.MAX_SECONDS", 0.05)
    slow = change("I", None, {"CODE": "a" * 40 + "b", "CITY": "x"})
    assert "takes more than" in refused(slow, key="${regex[${primaryKeys}][(a+)+c][x]}")[0][1]


def test_settings_can_be_sent_to_tasks() -> None:
    given = settings("${regex[${tableName}][a][b]}", "${token[x]}", "${optype}")
    assert pickle.loads(pickle.dumps(given)) == given


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("${custom[com.example.Key]}", "`${custom}`, which calls a Java class"),
        ("x${env[HOME]}", "`${env}`, which"),
        ("${javaProp[a]}", "`${javaProp}`, which"),
        ("${static[a]}", "`${static}`, which"),
        ("${concat[a]}", "`${concat}`, which"),
        ("${UUID}", "`${uuid}`, which"),
        ("${toLowerCase[${opType}]}", "`${opType}`, which"),
        ("${insertCount}", "`${insertCount}`, which counts the operations of a file"),
        ("${something}", "no keyword `${something}`"),
        ("a${null}", "beside something else"),
        ("${toLowerCase[${null}]}", "beside something else"),
        ("${primaryKeys[-]}", "does not apply"),
        ("${token}", "it takes 1"),
        ("${tableName", "not closed"),
        ("CDATA[]", "is empty"),
        ("\ud800", "cannot be"),
    ],
)
def test_a_template_that_has_no_known_value(template: str, reason: str) -> None:
    with pytest.raises(InvalidValueError) as raised:
        parse_message_template(template)
    assert reason in str(raised.value)
