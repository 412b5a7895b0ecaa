"""Search and replacement in names and values: the keys, the kernels beside a plain oracle, and whole runs."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from runs import (
    JSON_LINES,
    MOMENT,
    PIPES,
    content,
    metadata,
    operation,
    output_files,
    run_ggfmt,
    tables,
    write_lines,
)
from strategies import GARBAGE, Changes, changes, examples, make_batch, plain_operations, slice_batch

from ggfmt.columnar.images import key_updates
from ggfmt.columnar.replacement import (
    Replacer,
    UnusableName,
    column_replacements,
    merged_tables_error,
    replace_names,
    replace_values,
)
from ggfmt.config.handlers import Configuration, read_configuration
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError
from ggfmt.java.regex import JavaRegex, translate
from ggfmt.java.replacement import Replacement
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.options.value_types import Replacements, Transform
from ggfmt.reading.scan import ScanRequest
from ggfmt.sinks.schema import schemas


def pair(pattern: str, text: str = "") -> Replacement:
    return Replacement(translate(pattern), text)


def replaced_content(batch: ChangeBatch, *replacements: Replacement) -> ChangeBatch:
    return Replacer(Replacements(content=replacements)).batch(batch)


# Pairs of Java, and the same for `re.sub`; those of the second table are beyond RE2.
BY_RE2 = {
    ("[\\n\\r|]", " "): ("[\n\r|]", " "),
    ("a", "\\\\"): ("a", r"\\"),
    ("NULL|null", ""): ("NULL|null", ""),
    ("([a-z])([0-9])", "$2$1"): ("([a-z])([0-9])", r"\2\1"),
    ("\\A[ ]+|[ ]+\\z", ""): (r"\A[ ]+|[ ]+\Z", ""),
    ("[^\\x00-\\x7f]", "?"): ("[^\x00-\x7f]", "?"),
    ("(?i)nu", "<$0>"): ("[nN][uU]", r"<\g<0>>"),
}
BY_PYTHON = {
    ("(?<=a)b|$", "!"): (r"(?<=a)b|(?=(?:\r\n|[\r\x85\u2028\u2029]|(?<!\r)\n)?\Z)", "!"),
    ("(.)\\1", "$1"): ("([^\n\r\x85\u2028\u2029])\\1", r"\1"),
    ("[0-9]*", "#"): ("[0-9]*", "#"),
    ("x(?!y)", "$0$0"): ("x(?!y)", r"\g<0>\g<0>"),
}
PAIRS = {**BY_RE2, **BY_PYTHON}
_values = st.lists(
    st.sampled_from([*"aabbxy019 |\n\r\\\"'é€", "😀", "NULL", "null", "Nu", "\r\n", "a1"])
    | st.characters(exclude_categories=["Cs"]),
    max_size=6,
).map("".join)


def test_both_ways_are_taken() -> None:
    assert [of for of in BY_RE2 if pair(*of).re2 is None] == []
    assert [of for of in BY_PYTHON if pair(*of).re2 is not None] == []


@examples(300)
@given(st.sampled_from(sorted(PAIRS)), st.lists(_values | st.none(), max_size=8), st.data())
def test_a_column_at_once_is_value_by_value(
    java: tuple[str, str], values: list[str | None], data: st.DataObject
) -> None:
    array = pa.array(values, pa.string())
    start = data.draw(st.integers(0, len(values)))
    array = array.slice(start)
    replaced = replace_values(array, pair(*java))
    pattern, text = PAIRS[java]
    wanted = [None if value is None else re.sub(pattern, text, value) for value in values[start:]]
    assert replaced.to_pylist() == wanted
    replaced.validate(full=True)
    texts = [value for value in values[start:] if value is not None]
    if not any(re.search(pattern, text) for text in (*texts, "".join(texts))):
        assert replaced is array, "a column without a match is not touched"


def test_a_match_across_two_values_is_none() -> None:
    array = pa.array(["a", "0", None, "a0"])
    assert replace_values(array.slice(0, 3), pair("([a-z])([0-9])", "$2$1")).to_pylist() == ["a", "0", None]
    assert replace_values(array, pair("([a-z])([0-9])", "$2$1")).to_pylist() == ["a", "0", None, "0a"]


@examples(150)
@given(changes(), st.lists(st.sampled_from(sorted(PAIRS)), min_size=1, max_size=3), st.data())
def test_batches_are_replaced_where_they_hold_text(
    given_changes: Changes, chosen: list[tuple[str, str]], data: st.DataObject
) -> None:
    batch = make_batch(given_changes)
    start = data.draw(st.integers(0, len(batch)))
    batch = slice_batch(batch, start, len(batch))
    text = {column.name for column in batch.table.columns if column.type.kind is Kind.STRING}

    def plain(image: Mapping[str, str | None] | None) -> dict[str, str | None] | None:
        if image is None:
            return None
        replaced = dict(image)
        for name, value in image.items():
            if name in text and value is not None:
                for java in chosen:
                    value = re.sub(*PAIRS[java], value)
                replaced[name] = value
        return replaced

    replaced = replaced_content(batch, *(pair(*java) for java in chosen))
    wanted = [replace(op, before=plain(op.before), after=plain(op.after)) for op in plain_operations(batch)]
    assert plain_operations(replaced) == wanted
    # An update of the key is one by the values of the source.
    old, new = key_updates(batch), key_updates(replaced)
    assert (new is None or not new.true_count) if old is None else new is not None and new.equals(old)


def one_table(rows: int, *names: str, key: int = 0) -> TableDef:
    return TableDef("S.T", tuple(Column(name, key=1 if index < key else 0) for index, name in enumerate(names)))


def batch_of(before: Image, after: Image, ops: str, table: TableDef) -> ChangeBatch:
    empty = pa.array([None] * len(ops), pa.string())
    return ChangeBatch(table, pa.array([*ops]), empty, empty, before, after, pa.array(range(len(ops)), pa.int64()))


def test_shared_columns_stay_shared() -> None:
    columns = (ImageColumn(pa.array(["a|", "b"])), ImageColumn(pa.array(["x", None])))
    before = Image(columns, pa.array([False, True]))
    batch = batch_of(before, Image(columns, pa.array([True, False])), "ID", one_table(2, "A", "B"))
    replaced = replaced_content(batch, pair("[|]", "-"))
    assert replaced.before.columns is replaced.after.columns
    assert replaced.before.columns[0].values.to_pylist() == ["a-", "b"]
    assert replaced.before.columns[1] is columns[1]
    assert replaced.before.exists is before.exists
    assert replaced_content(batch, pair("z", "-")) is batch


def test_what_a_missing_value_hides_does_not_matter() -> None:
    unavailable = pa.array([True, False])
    column = ImageColumn(pa.array([GARBAGE, "|"]), pa.array([False, True]), unavailable=unavailable)
    batch = batch_of(Image((column,), pa.array([False, False])), Image((column,)), "II", one_table(2, "A"))
    replaced = replaced_content(batch, pair("[|]", "-")).after.columns[0]
    assert replaced.values[1].as_py() == "-"
    assert replaced.present is column.present
    assert replaced.unavailable is unavailable


def test_a_key_update_is_one_by_the_values_of_the_source() -> None:
    table = one_table(2, "ID", key=1)
    before = Image((ImageColumn(pa.array(["1 ", "2", "3"])),))
    after = Image((ImageColumn(pa.array(["1", "2", "4"])),))
    batch = batch_of(before, after, "UUU", table)
    replaced = replaced_content(batch, pair(" "))
    assert replaced.before.columns[0].values.to_pylist() == ["1", "2", "3"]
    found = key_updates(replaced)
    assert found is not None and found.to_pylist() == [True, False, True]


def test_other_types_stay_as_they_are() -> None:
    kinds = [kind for kind in Kind if kind is not Kind.STRING]
    table = TableDef("T", tuple(Column(kind.value, SqlType(kind)) for kind in kinds))
    image = Image(tuple(ImageColumn(pa.array(["1"])) for _ in kinds))
    batch = batch_of(Image(image.columns, pa.array([False])), image, "I", table)
    assert replaced_content(batch, pair("1", "2")) is batch


# Transforms

# Patterns of Java for names, and whether one fits a name as a whole.
NAME_PATTERNS: dict[str | None, Callable[[str], bool]] = {
    None: lambda name: True,
    ".*": lambda name: True,
    "[A-C]+": lambda name: re.fullmatch("[A-C]+", name) is not None,
    "A|B": lambda name: name in ("A", "B"),
    "S": lambda name: name == "S",
    "(?i)t": lambda name: name in ("T", "t"),
    ".+": lambda name: name != "",
    "": lambda name: name == "",
}


def regex(pattern: str | None) -> JavaRegex | None:
    return None if pattern is None else translate(pattern or "()")


@examples(150)
@given(
    changes(),
    st.lists(st.sampled_from(sorted(PAIRS)), max_size=1),
    st.lists(
        st.tuples(
            st.sampled_from(sorted(PAIRS)),
            *[st.sampled_from(list(NAME_PATTERNS))] * 3,
            st.sampled_from([None, ".*", ".*[A-M].*", "[^A]*", "C[0-9]"]),
        ),
        max_size=3,
    ),
)
def test_transforms_beside_a_plain_oracle(
    given_changes: Changes, content: list[tuple[str, str]], chosen: list[tuple[Any, ...]]
) -> None:
    batch = make_batch(given_changes)
    *others, table = batch.table.full_name.split(".")
    schema, catalog = [*reversed(others), "", ""][:2]
    of_name: dict[str, list[tuple[str, str]]] = {}
    for column in batch.table.columns:
        if column.type.kind is Kind.STRING:
            of_name[column.name] = content + [
                java
                for java, for_catalog, for_schema, for_table, for_column in chosen
                if NAME_PATTERNS[for_catalog](catalog)
                and NAME_PATTERNS[for_schema](schema)
                and NAME_PATTERNS[for_table](table)
                and (for_column is None or re.fullmatch(for_column, column.name, re.DOTALL))
            ]

    def plain(image: Mapping[str, str | None] | None) -> dict[str, str | None] | None:
        if image is None:
            return None
        replaced = dict(image)
        for name, value in image.items():
            for java in of_name.get(name, ()):
                value = None if value is None else re.sub(*PAIRS[java], value)
            replaced[name] = value
        return replaced

    transforms = tuple(Transform("t", pair(*java), *map(regex, patterns)) for java, *patterns in chosen)
    replacer = Replacer(Replacements(content=tuple(pair(*java) for java in content), transforms=transforms))
    wanted = [replace(op, before=plain(op.before), after=plain(op.after)) for op in plain_operations(batch)]
    assert plain_operations(replacer.batch(batch)) == wanted
    assert plain_operations(replacer.batch(batch)) == wanted, "what a table's columns get is found once"


@pytest.mark.parametrize(
    ("full_name", "patterns", "fits"),
    [
        ("T", {}, True),
        ("T", {"table": "T"}, True),
        ("TT", {"table": "T"}, False),
        ("t", {"table": "T"}, False),
        ("S.T", {"schema": "S", "table": "T"}, True),
        ("S.T", {"catalog": "S"}, False),
        ("S.T", {"catalog": ".*"}, True),
        ("C.S.T", {"catalog": "C", "schema": "S", "table": "T", "column": "A"}, True),
        ("C.S.T", {"catalog": "S"}, False),
        ("C.S.T", {"schema": "C"}, False),
        ("C.S.T", {"column": "B"}, False),
    ],
)
def test_which_columns_a_transform_picks(full_name: str, patterns: dict[str, str], fits: bool) -> None:
    table = TableDef(full_name, (Column("A"), Column("N", SqlType(Kind.DOUBLE))))
    transform = Transform("t", pair("x"), **{part: translate(pattern) for part, pattern in patterns.items()})
    found = column_replacements(table, Replacements(transforms=(transform,)))
    assert found == ({0: (transform.replacement,)} if fits else {})
    assert column_replacements(table, Replacements(content=(pair("y"),), transforms=(transform,)))[0] == (
        (pair("y"), transform.replacement) if fits else (pair("y"),)
    )


def test_a_transform_sees_the_names_of_the_source() -> None:
    transform = Transform("t", pair("[|]", "-"), column=translate("A[$]"))
    table = TableDef("S.T", (Column("A$"), Column("B$")))
    columns = (ImageColumn(pa.array(["|"])), ImageColumn(pa.array(["|"])))
    batch = batch_of(Image(columns, pa.array([False])), Image(columns), "I", table)
    replaced = Replacer(Replacements((pair("[$]"),), transforms=(transform,))).batch(batch)
    assert replaced.table.column_names == ("A", "B")
    assert [column.values.to_pylist() for column in replaced.after.columns] == [["-"], ["|"]]


@pytest.mark.example("GG212")
def test_a_pattern_of_names_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggfmt.columnar.replacement.MAX_SECONDS", 0.05)
    transform = Transform("t", pair("x"), column=translate("(a+)+b"))
    table = TableDef("S.T", (Column("a" * 40),))
    with pytest.raises(Abend) as caught:
        column_replacements(table, Replacements(transforms=(transform,)))
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.table) == ("GG212", "S.T")
    assert "`gg.transform.t.matcher.columnRegex`: the pattern `(a+)+b`" in found.message


# Names


def names(table: TableDef, *replacements: Replacement) -> tuple[str, ...]:
    replaced = replace_names(table, replacements)
    return (replaced.full_name, *replaced.column_names)


def test_parts_of_a_name_are_replaced_each_on_its_own() -> None:
    table = TableDef("C$.S$.T$", (Column("A$", key=1), Column("B")))
    assert names(table, pair("[$]")) == ("C.S.T", "A", "B")
    assert names(table, pair("^.", "<$0>")) == ("<C>$.<S>$.<T>$", "<A>$", "<B>")
    assert names(table, pair(r"\.", "_")) == ("C$.S$.T$", "A$", "B")
    assert names(table, pair("[$]", "_"), pair("_", "__")) == ("C__.S__.T__", "A__", "B")
    replaced = replace_names(table, [pair("[$]")])
    assert replaced.primary_keys == ("A",)
    assert replaced.columns[0] == Column("A", key=1)
    assert replace_names(table, [pair("x")]) is table


HELP = "change `gg.schemareplaceregex`, so that names stay distinct"


@pytest.mark.parametrize(
    ("full_name", "columns", "pattern", "text", "told"),
    [
        ("S.T", ["A#", "A$"], "[#$]", "", "the columns `A#` and `A$` both become `A`"),
        ("S.T", ["A", "A$", "B"], "[$]", "", "the columns `A` and `A$` both become `A`"),
        ("S.T", ["A", "$"], "[$]", "", "the name of column `$` becomes empty"),
        ("S.$", ["A"], "[$]", "", "the table's name becomes `S.`, which has an empty part"),
        ("S.T_U", ["A"], "_", ".", "the table's name becomes `S.T.U`, which has a dot within a part"),
        ("A.B.C_D", ["A"], "_", ".", "the table's name becomes `A.B.C.D`, which has more than three parts"),
        ("S.T", ["A"], "T", "\n", "the table's name becomes `S.\n`, which has an empty part"),
        ("S.T", ["A"], "T", "T\\\x01U", "the table's name becomes `S.T\x01U`, which holds a control character"),
    ],
)
def test_names_that_cannot_be_are_told(full_name: str, columns: list[str], pattern: str, text: str, told: str) -> None:
    table = TableDef(full_name, tuple(map(Column, columns)))
    with pytest.raises(UnusableName) as caught:
        replace_names(table, [pair(pattern, text)])
    assert str(caught.value.diagnostic) == f"table {full_name}: error[GG210] {told}; {HELP}"


def test_two_tables_that_become_one_are_told() -> None:
    assert merged_tables_error(["S.A1", "S.B1", "S.A1"], [pair("[0-9]")]) is None
    assert merged_tables_error(["S.A", "S.A"], []) is None
    told = "table S.A2: error[GG210] the tables `S.A1` and `S.A2` both become `S.A`"
    assert str(merged_tables_error(["S.A1", "S.B1", "S.A2"], [pair("[0-9]")])) == f"{told}; {HELP}"


def test_a_definition_is_looked_at_once() -> None:
    replacer = Replacer(Replacements(schema=(pair("[$]"),)))
    table = TableDef("T$", (Column("A"),))
    assert replacer.table(table) is replacer.table(TableDef("T$", (Column("A"),)))


# The keys


def configured(*lines: str) -> Configuration:
    return read_configuration([], ["gg.handler.k.format=json", *lines])


def told(*lines: str) -> list[str]:
    """The findings; the n-th line is setting n + 1."""
    try:
        return list(map(str, configured(*lines).diagnostics))
    except ConfigurationError as error:
        return list(map(str, error.diagnostics))


def shown(replacements: Sequence[Replacement]) -> list[tuple[str, str]]:
    return [(item.regex.java, item.text) for item in replacements]


def test_pairs_are_read_in_order() -> None:
    lines = [
        "gg.contentreplaceregex2=c",
        "gg.contentreplaceregex=a",
        "gg.contentreplaceregex1=b",
        "gg.contentreplacestring1=CDATA[ x ]",
        "gg.contentreplacestring=  $0  ",
        "gg.schemareplaceregex1=CDATA[ ]",
    ]
    found = configured(*lines)
    assert found.diagnostics == ()
    assert shown(found.replacements.content) == [("a", "$0"), ("b", " x "), ("c", "")]
    assert shown(found.replacements.schema) == [(" ", "")]
    assert list(found.replacements.summary()) == [
        "in names, ` ` is replaced by ``",
        "in values, `a` is replaced by `$0`",
        "in values, `b` is replaced by ` x `",
        "in values, `c` is replaced by ``",
    ]
    assert found.replacements
    assert pickle.loads(pickle.dumps(found.replacements)) == found.replacements
    assert not configured().replacements


def test_the_manuals_examples() -> None:
    found = configured(
        "gg.schemareplaceregex=[$]",
        "gg.schemareplacestring=",
        r"gg.contentreplaceregex=[\n]",
        "gg.contentreplacestring=CDATA[ ]",
        r"gg.contentreplaceregex1=^\\s+|\\s+$",
        "gg.contentreplacestring1=CDATA[]",
    )
    assert found.diagnostics == ()
    assert shown(found.replacements.content) == [("[\n]", " "), (r"^\s+|\s+$", "")]
    assert shown(found.replacements.schema) == [("[$]", "")]


def test_warnings() -> None:
    assert told("gg.contentreplaceregex=a", "gg.contentreplaceregex2=b", "gg.contentreplacestring2=c") == [
        "--set:3:1: warning[GG120] `gg.contentreplaceregex2` is not applied, "
        "because `gg.contentreplaceregex1` is missing; number the pairs from 1 without a gap",
        "--set:4:1: warning[GG120] `gg.contentreplacestring2` is not applied, "
        "because `gg.contentreplaceregex1` is missing; number the pairs from 1 without a gap",
    ]
    assert told("gg.schemareplaceregex1=a", "gg.schemareplaceregex3=a", "gg.schemareplaceregex01=a") == [
        "--set:3:1: warning[GG120] `gg.schemareplaceregex3` is not applied, "
        "because `gg.schemareplaceregex2` is missing; number the pairs from 1 without a gap",
        "--set:4:1: warning[GG120] `gg.schemareplaceregex01` is not applied, "
        "because `gg.schemareplaceregex2` is missing; number the pairs from 1 without a gap",
    ]
    assert told("gg.schemareplacestring=a", "gg.contentreplacestring4=b") == [
        "--set:2:1: warning[GG120] `gg.schemareplacestring` is not applied, "
        "because `gg.schemareplaceregex` is missing;"
        " add `gg.schemareplaceregex`, or remove the string",
        "--set:3:1: warning[GG120] `gg.contentreplacestring4` is not applied, "
        "because `gg.contentreplaceregex4` is missing;"
        " add `gg.contentreplaceregex4`, or remove the string",
    ]
    assert told("gg.contentReplaceRegex=a", "gg.contentreplaceregex=b") == [
        "--set:2:1: warning[GG102] `gg.contentReplaceRegex` is read as `gg.contentreplaceregex`",
        "--set:3:1: warning[GG107] `gg.contentreplaceregex` was given before, in line 2;"
        " remove one of them; the last one counts",
    ]


def test_errors() -> None:
    correct = "correct it; a backslash is written `\\\\` in a handler file"
    dollar = "write `\\\\$` for a dollar sign"
    assert told("gg.contentreplaceregex=[a", "gg.schemareplaceregex=(a)", "gg.schemareplacestring=$2") == [
        "--set:2:24: error[GG103] `gg.contentreplaceregex` is not a Java pattern: it ends where `]` should follow;"
        f" {correct}",
        f"--set:4:24: error[GG103] `gg.schemareplacestring` refers to group 2 of 1; {dollar}",
    ]
    assert told("gg.contentreplaceregex=", "gg.contentreplaceregex1=CDATA[]") == [
        "--set:2:24: error[GG103] `gg.contentreplaceregex` is empty; give a regular expression, or remove it",
        "--set:3:25: error[GG103] `gg.contentreplaceregex1` is empty; give a regular expression, or remove it",
    ]
    assert told(r"gg.contentreplaceregex1=(?<=a\\d?)b") == [
        "--set:2:25: error[GG149] `gg.contentreplaceregex1` is refused by Python: look-behind requires fixed-width"
        " pattern; write it in another way"
    ]


def test_a_misprint_of_a_key_is_told() -> None:
    assert told("gg.contentreplacergx=a") == [
        "--set:2:1: warning[GG101] `gg.contentreplacergx` is not a property that ggfmt knows; "
        "did you mean `gg.contentreplaceregex`?"
    ]


# The keys of transforms

NOTES = (
    "gg.transform.t.matcher=regex",
    "gg.transform.t.matcher.columnRegex=NAME.",
    "gg.transform.t.converter=regex",
    "gg.transform.t.converter.replaceRegex=[|]",
)
LISTED = ("ggfmt.compatibility=21", "gg.transforms=t", *NOTES)


def test_transforms_are_read_in_the_order_of_their_list() -> None:
    lines = [line.replace(".t.", ".u.") for line in NOTES]
    found = configured(
        "ggfmt.compatibility=21",
        *NOTES,
        *lines,
        "gg.transforms= u , t",
        "gg.transform.t.converter.replaceString=CDATA[ ]",
        "gg.transform.u.matcher.catalogRegex=*",
        "gg.transform.u.matcher.schemaRegex=.*",
        "gg.transform.u.matcher.tableRegex=CDATA[T]",
        "gg.contentreplaceregex=a",
    )
    assert found.diagnostics == ()
    assert list(found.replacements.summary()) == [
        "in values, `a` is replaced by ``",
        "in values by `u` (schema `.*`, table `T`, column `NAME.`), `[|]` is replaced by ``",
        "in values by `t` (column `NAME.`), `[|]` is replaced by ` `",
    ]
    assert pickle.loads(pickle.dumps(found.replacements)) == found.replacements


def test_a_transform_for_all_columns() -> None:
    found = configured(*LISTED, "gg.transform.t.matcher.columnRegex=*").replacements
    assert list(found.summary()) == ["in values by `t` (all columns), `[|]` is replaced by ``"]
    assert found


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        (
            "gg.transform.t.matcher.tablRegex=x",
            "warning[GG101] `gg.transform.t.matcher.tablRegex` is not a property of",
        ),
        ("gg.transform.t.matcher.tableregex=x", "warning[GG102] `gg.transform.t.matcher.tableregex` is read as"),
        ("gg.transforms=t,t", "warning[GG107] `gg.transforms` was given before, in line 3;"),
        ("gg.transform.t.matcher.columnRegex=x", "warning[GG107] `gg.transform.t.matcher.columnRegex` was given"),
        ("gg.transform.u.matcher=regex", "warning[GG134] the transform `u` is not applied: `gg.transforms` does"),
        ("gg.transform.t.converter.replaceString=\\ ", "warning[GG114] the blanks at the ends of"),
        ("gg.transform.t.converter.replaceString=CDATA[x", "warning[GG115] "),
        ("gg.transfrom.t.matcher=regex", "warning[GG101] `gg.transfrom.t.matcher` is not a property that ggfmt knows"),
        ("gg.transform.t=regex", "warning[GG101] `gg.transform.t` is not a property that ggfmt knows"),
        ("gg.transform.t.matcher=glob", "error[GG103] `gg.transform.t.matcher` cannot be `glob`; the legal value is"),
        ("gg.transform.t.converter=", "error[GG103] `gg.transform.t.converter` cannot be ``; the legal value is"),
        (
            "gg.transform.t.matcher.tableRegex=[",
            "error[GG103] `gg.transform.t.matcher.tableRegex` is not a Java pattern",
        ),
        ("gg.transform.t.matcher.schemaRegex=", "error[GG103] `gg.transform.t.matcher.schemaRegex` is empty"),
        ("gg.transform.t.converter.replaceRegex=*", "error[GG103] `gg.transform.t.converter.replaceRegex` is not"),
        (
            "gg.transform.t.converter.replaceString=$1",
            "error[GG103] `gg.transform.t.converter.replaceString` refers",
        ),
        (
            "gg.transforms=t,u",
            "error[GG109] the transform `u` lacks `gg.transform.u.matcher`, `gg.transform.u.matcher.columnRegex`,"
            " `gg.transform.u.converter`, `gg.transform.u.converter.replaceRegex`; add what is missing",
        ),
    ],
)
def test_what_is_wrong_with_transforms(line: str, finding: str) -> None:
    found = [text.partition(": ")[2] for text in told(*LISTED, line)]
    assert [text for text in found if text.startswith(finding)] != []
    assert len({text[:14] for text in found}) <= 2


def test_transforms_are_of_a_later_release() -> None:
    assert told("ggfmt.compatibility=12.3.2", *LISTED[1:]) == [
        "--set:3:1: warning[GG111] `gg.transforms` came with GoldenGate for Big Data 21.1, and `ggfmt.compatibility`"
        " is 12.3.2; remove it, or set `ggfmt.compatibility` to a release that has it"
    ]
    assert told(*LISTED[1:]) == []  # they are a sign of that release
    assert configured(*LISTED[1:]).run.compatibility == "21"
    assert configured(*LISTED[1:]).replacements == configured(*LISTED).replacements


# Whole runs

NAMES = (
    "gg.schemareplaceregex=[$#]",
    "gg.schemareplacestring=_",
    "gg.schemareplaceregex1=^GG$",
    "gg.schemareplacestring1=ODS",
)
VALUES = (
    "gg.contentreplaceregex=[|]",
    "gg.contentreplacestring=/",
    "gg.contentreplaceregex1=name",
    "gg.contentreplacestring1=N",
)
TOKENS = ("gg.handler.j.includeTokens=true", "gg.handler.d.includeTokens=true")
TABLE = "GG.T$ORD"


def story() -> list[dict[str, Any]]:
    """Operations of one table with all column states, and a metadata change in the middle."""
    first = {"ID": "1|", "NAME#": "name|", "AMOUNT": 1}
    types = {"ID": "string", "NAME#": "string", "AMOUNT": "number"}
    return [
        {**operation(0, TABLE), "after": first, "tokens": {"R|": "name|"}},
        metadata(TABLE, **types),
        {**operation(1, TABLE, "U"), "before": first, "after": {**first, "NAME#": None}},
        {**operation(2, TABLE, "D"), "before": {"ID": "1|"}},
        metadata(TABLE, **types, **{"NEW$": "string"}),
        {**operation(3, TABLE), "after": {**first, "NEW$": "x|name"}},
        operation(4, TABLE, "T"),
    ]


def expected(message: dict[str, Any]) -> dict[str, Any]:
    def image(columns: dict[str, Any]) -> dict[str, Any]:
        return {
            re.sub("[$#]", "_", name): value.replace("|", "/").replace("name", "N") if isinstance(value, str) else value
            for name, value in columns.items()
        }

    images: dict[str, Any] = {key: image(message[key]) for key in ("before", "after") if key in message}
    return {**message, "table": "ODS.T_ORD", "current_ts": MOMENT.isoformat(timespec="microseconds"), **images}


@pytest.mark.parametrize("split_size", [None, 120])
def test_json(split_size: int | None, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", story())
    out = tmp_path / "out"
    settings = (*JSON_LINES, *TOKENS[:1], *NAMES, *VALUES)
    result = run_ggfmt([source], out, *settings, split_size=split_size)
    assert list(tables(out, "j")) == ["ODS.T_ORD"]
    messages = [json.loads(line) for line in content(out, "j").splitlines()]
    wanted = [expected(message) for message in story() if message["op_type"] in "IUDT"]
    assert messages == [{**message, "tokens": message.get("tokens", {})} for message in wanted]
    assert {table for table, _ in result.totals.operations} == {"ODS.T_ORD"}
    [manifest] = result.manifests.values()
    assert {file["table"] for file in manifest["files"]} == {"ODS.T_ORD"}


@pytest.mark.parametrize("split_size", [None, 120])
def test_delimited_text(split_size: int | None, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = write_lines(tmp_path / "in.json", story())
    settings = (*PIPES, *TOKENS[1:], "gg.handler.d.format.includeColumnNames=true", *NAMES, *VALUES)
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *settings, split_size=split_size)
    stamps = f"ODS.T_ORD|2013-06-02 22:14:36.000000|{MOMENT.isoformat(timespec='microseconds')}"
    assert content(tmp_path / "out", "d").decode().splitlines() == [
        f"I|{stamps}|00000000000000000000|R|=name||ID|1/|NAME_|N/|AMOUNT|1",
        f"U|{stamps}|00000000000000000001||ID|1/|NAME_|NULL|AMOUNT|1",
        f"D|{stamps}|00000000000000000002||ID|1/|NAME_||AMOUNT|",
        f"I|{stamps}|00000000000000000003||ID|1/|NAME_|N/|AMOUNT|1|NEW_|x/N",
        f"T|{stamps}|00000000000000000004||ID||NAME_||AMOUNT||NEW_|",
    ]
    assert len(output_files(tmp_path / "out", "d")) == 3, "a metadata change starts a new file"
    assert "in names, `[$#]` is replaced by `_`" in caplog.messages
    assert "Fields of table ODS.T_ORD as written by handler d" in caplog.text
    assert "Column NEW_" in caplog.text


def test_without_configuration_nothing_changes(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", story())
    run_ggfmt([source], tmp_path / "out")
    assert list(tables(tmp_path / "out", "d")) == [TABLE]
    run_ggfmt(
        [source], tmp_path / "same", *JSON_LINES, *PIPES, "gg.schemareplaceregex=[!]", "gg.contentreplaceregex=[!]"
    )
    assert tables(tmp_path / "same", "d") == tables(tmp_path / "out", "d")


@pytest.mark.parametrize("split_size", [None, 120])
def test_a_run_with_transforms(split_size: int | None, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = write_lines(tmp_path / "in.json", story())
    settings: tuple[str, ...] = (
        *PIPES,
        *TOKENS[1:],
        "gg.handler.d.format.includeColumnNames=true",
        *NAMES,
        *LISTED[1:],
    )
    settings = (*settings, "ggfmt.compatibility=12.2")  # with the fixed metadata
    replaced = (
        "gg.transform.t.converter.replaceString=!",
        "gg.contentreplaceregex=name",
        "gg.contentreplacestring=N|",
    )
    with caplog.at_level("INFO", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *settings, *replaced, split_size=split_size)
    stamps = f"ODS.T_ORD|2013-06-02 22:14:36.000000|{MOMENT.isoformat(timespec='microseconds')}"
    assert content(tmp_path / "out", "d").decode().splitlines() == [
        f"I|{stamps}|00000000000000000000|R|=name||ID|1||NAME_|N!!|AMOUNT|1",
        f"U|{stamps}|00000000000000000001||ID|1||NAME_|NULL|AMOUNT|1",
        f"D|{stamps}|00000000000000000002||ID|1||NAME_||AMOUNT|",
        f"I|{stamps}|00000000000000000003||ID|1||NAME_|N!!|AMOUNT|1|NEW_|x|N|",
        f"T|{stamps}|00000000000000000004||ID||NAME_||AMOUNT||NEW_|",
    ]
    assert "in values by `t` (column `NAME.`), `[|]` is replaced by `!`" in caplog.messages


def test_names_in_definition_files_are_those_of_the_source(tmp_path: Path) -> None:
    definition = TableDef(TABLE, (Column("ID", key=1), Column("NAME#"), Column("AMOUNT", SqlType(Kind.STRING))))
    source = write_lines(tmp_path / "in.json", [story()[0]])
    run_ggfmt(
        [source],
        tmp_path / "out",
        *JSON_LINES,
        "gg.handler.j.format.includePrimaryKeys=true",
        "gg.schemareplaceregex=[$#]",
        "gg.schemareplaceregex1=ID",
        "gg.schemareplacestring1=KEY",
        definitions={TABLE: definition},
    )
    message = json.loads(content(tmp_path / "out", "j"))
    assert message["table"] == "GG.TORD"
    assert message["primary_keys"] == ["KEY"]
    assert message["after"] == {"KEY": "1|", "NAME": "name|", "AMOUNT": "1"}


def test_schemas_of_a_run_have_the_new_names(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [story()[0]])
    settings = ("gg.handler.j.format=json", f"gg.handler.j.format.schemaDirectory={tmp_path / 'dirdef'}", *NAMES)
    run_ggfmt([source], tmp_path / "out", *settings)
    (file,) = (tmp_path / "dirdef").iterdir()
    assert file.name == "ODS.T_ORD.schema.json"
    row = json.loads(file.read_text())["definitions"]["row"]["properties"]
    assert list(row) == ["ID", "NAME_", "AMOUNT"]


KEYED = {"GG.T": TableDef("GG.T", (Column("ID", key=1), Column("NAME"), Column("AMOUNT", SqlType(Kind.DECIMAL))))}


def test_a_key_update_that_the_replacement_hides_is_one(tmp_path: Path) -> None:
    record = operation(1, "GG.T", "U", ID="1 ")
    record["after"] = {**record["before"], "ID": "1"}
    source = write_lines(tmp_path / "in.json", [record])
    trim = (*PIPES, "gg.contentreplaceregex=\\\\s+$")
    with pytest.raises(Abend, match="GG402"):
        run_ggfmt([source], tmp_path / "out", *trim, definitions=KEYED)
    run_ggfmt(
        [source], tmp_path / "out", *trim, "gg.handler.d.format.pkUpdateHandling=delete-insert", definitions=KEYED
    )
    lines = content(tmp_path / "out", "d").decode().splitlines()
    assert [(line[0], line.split("|")[5]) for line in lines] == [("D", "1"), ("I", "1")]


def test_rejects_are_the_records_as_they_were(tmp_path: Path) -> None:
    bad = {**operation(1, "GG.T"), "after": {"ID": "name|", "NAME": "name", "AMOUNT": "no number"}}
    source = write_lines(tmp_path / "in.json", [operation(0, "GG.T"), bad])
    out = tmp_path / "out"
    run_ggfmt([source], out, *JSON_LINES, *NAMES, *VALUES, definitions=KEYED, quarantine=True)
    assert len(content(out, "j").splitlines()) == 1
    (records,) = (out / "j" / "_rejects").glob("*.records")
    assert records.read_bytes() == source.read_bytes().splitlines(keepends=True)[1]
    (reasons,) = (out / "j" / "_rejects").glob("*.jsonl")
    reason = json.loads(reasons.read_text())
    assert (reason["code"], reason["table"], reason["column"]) == ("GG401", "ODS.T", "AMOUNT")


def clash(number: int) -> dict[str, Any]:
    return {**operation(number), "after": {"A$": "x", "A#": "y"}}


@pytest.mark.parametrize("split_size", [None, 100])
def test_a_table_with_unusable_names_stops_the_run(split_size: int | None, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, "GG.OTHER"), clash(1)])
    with pytest.raises(Abend) as caught:
        run_ggfmt([source], tmp_path / "out", *JSON_LINES, *PIPES, *NAMES, split_size=split_size)
    offset = len(source.read_bytes().splitlines(keepends=True)[0])
    assert str(caught.value) == (
        f"{source}, byte {offset}, table GG.TCUSTORD, position 00000000000000000001: error[GG210]"
        f" the columns `A$` and `A#` both become `A_`; {HELP}"
    )
    assert not (tmp_path / "out").exists()


def test_a_table_with_unusable_names_is_set_aside(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [clash(0), operation(1, "GG.OTHER"), clash(2)])
    out = tmp_path / "out"
    result = run_ggfmt([source], out, *JSON_LINES, *PIPES, *NAMES, quarantine=True)
    assert result.totals.handlers["j"].rejected == {"GG210": 2}
    assert list(tables(out, "j")) == list(tables(out, "d")) == ["ODS.OTHER"]
    (records,) = (out / "j" / "_rejects").glob("*.records")
    lines = source.read_bytes().splitlines(keepends=True)
    assert records.read_bytes() == lines[0] + lines[2]


@pytest.mark.parametrize("defined", [False, True])
def test_two_tables_that_become_one_stop_the_run(defined: bool, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, "GG.T1"), operation(1, "GG.T2")])
    columns = KEYED["GG.T"].columns
    definitions = {name: TableDef(name, columns) for name in ("GG.T2", "GG.T1", "GG.T3")} if defined else None
    with pytest.raises(Abend) as caught:
        run_ggfmt([source], tmp_path / "out", *JSON_LINES, "gg.schemareplaceregex=[0-9]", definitions=definitions)
    assert str(caught.value) == f"table GG.T2: error[GG210] the tables `GG.T1` and `GG.T2` both become `GG.T`; {HELP}"
    assert not (tmp_path / "out").exists()


# `ggfmt schema`


def schema_configuration(*lines: str) -> Configuration:
    return read_configuration([], ["gg.handler.k.format=json", *lines])


def test_schemas_without_a_run_have_the_new_names(tmp_path: Path) -> None:
    configuration = schema_configuration("gg.schemareplaceregex=CUST", "gg.schemareplacestring=C")
    definitions = load_definitions([str(ROOT / "samples" / "TCUSTORD.def")])
    files = {
        file.name: json.loads(file.content)
        for file in schemas(ScanRequest([], definitions=definitions), configuration, None)
    }
    assert files["GG.TCORD.schema.json"]["title"] == "GG.TCORD"
    assert "C_CODE" in files["GG.TCORD.schema.json"]["definitions"]["row"]["properties"]
    source = write_lines(tmp_path / "in.json", [operation(0)])
    (found,) = schemas(ScanRequest([str(source)]), configuration, None)
    assert found.name == "GG.TCORD.schema.json"


def test_schemas_of_unusable_names_are_errors() -> None:
    tables = {name: TableDef(name, (Column("A"), Column("A1"))) for name in ("S.T", "S.T1")}
    with pytest.raises(ConfigurationError) as caught:
        schemas(ScanRequest([], definitions=tables), schema_configuration("gg.schemareplaceregex=[0-9]"), None)
    assert str(caught.value).splitlines() == [
        f"table S.T: error[GG210] the columns `A` and `A1` both become `A`; {HELP}",
        f"table S.T1: error[GG210] the columns `A` and `A1` both become `A`; {HELP}",
        f"table S.T1: error[GG210] the tables `S.T` and `S.T1` both become `S.T`; {HELP}",
    ]


def test_the_example_of_the_documents() -> None:
    page = (ROOT / "ggfmt" / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    block = page.split("## Search and replacement\n", 1)[1].split("```properties\n", 1)[1].split("```", 1)[0]
    found = configured(*block.splitlines())
    assert found.diagnostics == ()
    assert replace_names(TableDef("S.A$B", (Column("C#"),)), found.replacements.schema).full_name == "S.A_B"
    values = pa.array(["a|b\n", "joe@home", None])
    for replacement in found.replacements.content:
        values = replace_values(values, replacement)
    assert values.to_pylist() == ["a b ", "home: joe", None]
