"""Metadata by templates and by releases, and the newer options of delimited text and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest
from dialects import ALL_SHOWN, transactions_of, written
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft4Validator
from oracle import PlainColumn, PlainOperation, PlainTable, row_image
from runs import content, run_ggfmt, write_lines
from strategies import Changes, changes, examples, json_numbers, make_batch, table_def

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, WriterSettings
from ggfmt.formats.goldengate.metacolumns import KEYWORDS, Template
from ggfmt.java.charsets import codec_of
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.options.releases import RELEASES

NOW = datetime(2015, 9, 18, 13, 39, 35, 447001)
FIVE = "${objectname[table]},${optype[op_type]},${timestamp[op_ts]},${currenttimestamp[current_ts]},${position[pos]}"
SEVEN = f"{FIVE},${{primarykeycolumns[primary_keys]}},${{alltokens[tokens]}}"  # as Oracle's manual of 19.1 prints it


def messages(name: str, made: Changes, release: str = "12.2", /, tokens: Any = False, **texts: str) -> list[str]:
    """The messages of a text format under options given as texts."""
    format = FORMATS[name]
    options: Any = format.options.parse(texts)
    context = Context(tokens, release, variables={"${groupname}": "rep1", "${env.SITE}": "A"})
    formatter = format.write_support.formatter(table_def(made.table), options, context, Clock(NOW))
    arranged, _ = formatter.arrange(make_batch(made))
    return non_null_values(formatter.format(arranged))


# Templates


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("${optype}", [("optype", "optype", None)]),
        ("${OpType[OP]},${primaryKeys}", [("optype", "OP", None), ("primarykeys", "primarykeys", None)]),
        (" ${optype} , ${token.TKN} ", [("optype", "optype", None), ("token", "token", "TKN")]),
        ("${token[name].TK N}", [("token", "name", "TK N")]),
        ("${static[a, b].c, d}", [("static", "a, b", "c, d")]),
        ("${javaprop.user.home}", [("javaprop", "javaprop", "user.home")]),
    ],
)
def test_a_template_is_read(text: str, columns: list[tuple[str, str, str | None]]) -> None:
    parsed = Template().parse(text)
    assert [(column.keyword, column.name, column.argument) for column in parsed] == columns
    assert Template().parse(Template().render(parsed)) == parsed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("optype", "cannot have the item `optype`"),
        ("${optype},", "cannot have the item ``"),
        ("${optype}${position}", "cannot have the item"),
        ("${}", "cannot have the item"),
        ("${optyp}", "has the unknown keyword `optyp`"),
        ("${token}", "without the name of the token"),
        ("${static[x].}", "without the text"),
        ("${optype.x}", "and `optype` has no argument"),
        ("${optype[]}", "with an empty name"),
        ("${optype},${OPTYPE}", "has the field `optype` twice"),
        ("${optype[a]},${position[a]}", "has the field `a` twice"),
        ("${metadatachanged}", "which ggfmt does not write: the value that GoldenGate writes"),
    ],
)
def test_what_is_no_template_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidValueError, match=r".") as caught:
        Template().parse(text)
    assert problem in str(caught.value)
    assert caught.value.help


@examples(200)
@given(st.text("${}[],. optyekn", max_size=40))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        parsed = Template().parse(text)
    except InvalidValueError:
        return
    assert Template().parse(Template().render(parsed)) == parsed


@pytest.mark.parametrize("name", ["delimitedtext", "delimitedtext_op", "json", "json_row"])
@pytest.mark.parametrize(("template", "tokens"), [(FIVE, False), (SEVEN, True)])
@examples(25)
@given(made=changes(number=json_numbers))
def test_the_templates_of_the_manual_give_the_messages_of_12_2(
    name: str, template: str, tokens: bool, made: Changes
) -> None:
    fixed = {"iso8601Format": "false"}
    if name in ("delimitedtext", "delimitedtext_op"):
        # Their fixed fields have another order, and no keys.
        template = "${optype},${objectname},${timestamp},${currenttimestamp},${position}"
        template += ",${alltokens}" if tokens else ""
    elif tokens:
        fixed["includePrimaryKeys"] = "true"
    if name in ("delimitedtext", "json_row"):
        fixed["pkUpdateHandling"] = "update"
    by_template = {**fixed, "metaColumnsTemplate": template, "iso8601Format": "true"}
    assert messages(name, made, tokens=tokens, **by_template) == messages(name, made, tokens=tokens, **fixed)


TABLE = PlainTable(
    "CAT.GG.T", (PlainColumn("K1", "string", 1), PlainColumn("V", "string"), PlainColumn("K2", "string", 2))
)
TOKENS = {"L": "791065", "6": "0.6.23.552", "TKN": 'a"|b', "opseqno": "3"}
OPERATIONS = [
    PlainOperation(
        "I", "2013-06-02 22:14:36.000001", "00000000160000003101", None, {"K1": "a", "V": "v", "K2": "b"}, TOKENS
    ),
    PlainOperation("U", None, "mysql-bin.1:4", {"K1": "a", "K2": "b"}, {"K1": "a", "V": None, "K2": "b"}, {}),
    PlainOperation("D", "1969-12-31 23:59:59.999999", None, {"K1": "x", "K2": None}, None, {"scn": "5"}),
]
# For each item the texts of the three operations, by the reference of keywords.
VALUES: dict[str, list[str]] = {
    "optype": ["I", "U", "D"],
    "objectname": ["CAT.GG.T"] * 3,
    "catalog": ["CAT"] * 3,
    "schema": ["GG"] * 3,
    "table": ["T"] * 3,
    "position": ["00000000160000003101", "mysql-bin.1:4", ""],
    "seqno": ["16", "", ""],
    "rba": ["3101", "", ""],
    "timestamp": ["2013-06-02 22:14:36.000001", "", "1969-12-31 23:59:59.999999"],
    "timestampmicro": ["1370211276000001", "", "-1"],
    "currenttimestamp": ["2015-09-18 13:39:35.447001"] * 3,
    "currenttimestampiso8601": ["2015-09-18T13:39:35.447001"] * 3,
    "currenttimestampmicro": ["1442583575447001"] * 3,
    "csn": ["791065", "", "5"],
    "xid": ["0.6.23.552", "", ""],
    "opseqno": ["3", "", ""],
    "txind": ["", "", ""],
    "token.TKN": ['a"|b', "", ""],
    "static.s": ["s"] * 3,
    "groupname": ["rep1"] * 3,
    "env.SITE": ["A"] * 3,
    "primarykeys": ["a_b", "a_b", "x_"],
}
BESIDE = {"alltokens", "primarykeycolumns", "metadatachanged", "sys", "javaprop"}  # sys and javaprop are as env


def test_every_keyword_is_among_these() -> None:
    assert {item.partition(".")[0] for item in VALUES} | BESIDE == set(KEYWORDS)


@pytest.mark.parametrize("item", VALUES)
def test_the_value_of_a_keyword(item: str) -> None:
    made = Changes(TABLE, OPERATIONS, False)
    template = f"${{{item}}}"
    assert [
        json.loads(text)[item.partition(".")[0]] for text in messages("json", made, metaColumnsTemplate=template)
    ] == VALUES[item]
    lines = messages("delimitedtext", made, metaColumnsTemplate=template, fieldDelimiter="~", pkUpdateHandling="update")
    assert [line.partition("~")[0] for line in lines] == VALUES[item]


def test_keys_and_tokens_are_lists_and_maps() -> None:
    made = Changes(TABLE, OPERATIONS, False)
    found = [
        json.loads(text) for text in messages("json", made, metaColumnsTemplate="${primarykeycolumns},${alltokens[t]}")
    ]
    assert [item["primarykeycolumns"] for item in found] == [["K1", "K2"]] * 3
    assert [item["t"] for item in found] == [TOKENS, {}, {"scn": "5"}]
    (line, *_) = messages(
        "delimitedtext",
        made,
        metaColumnsTemplate="${primarykeycolumns},${alltokens}",
        fieldDelimiter="~",
        pkUpdateHandling="update",
    )
    assert line.split("~")[:2] == ["K1,K2", 'L=791065,6=0.6.23.552,TKN=a"|b,opseqno=3']


def _running(stamps: pa.StringArray | pa.StringScalar) -> list[str]:
    assert isinstance(stamps, pa.StringArray)
    return non_null_values(stamps)


def test_microseconds_of_a_running_clock_are_distinct_and_rise() -> None:
    clock = Clock()
    before = datetime.now(timezone.utc).timestamp() * 1e6
    stamps = [int(text) for text in [*_running(clock.micros(3)), *_running(clock.micros(2))]]
    assert stamps == sorted(set(stamps))
    assert abs(stamps[0] - before) < 60e6


# Releases


@pytest.mark.parametrize(
    ("release", "fixed"),
    [("12.2", True), ("12.3", True), ("12.3.2", True), ("21", False), ("23", False), ("26", False)],
)
@pytest.mark.parametrize("name", ["json", "json_row"])
def test_metadata_are_fixed_up_to_12_3_2(name: str, release: str, fixed: bool) -> None:
    (text,) = messages(name, Changes(TABLE, OPERATIONS[:1], False), release)
    assert ("op_type" in json.loads(text)) is fixed
    if not fixed:
        columns = {"K1": "a", "V": "v", "K2": "b"}
        assert json.loads(text) == (columns if name == "json_row" else {"after": columns})


def test_text_of_21_without_a_template_is_columns_alone() -> None:
    made = Changes(TABLE, OPERATIONS[:1], False)
    assert messages("delimitedtext", made, "21", fieldDelimiter="|") == ["a|v|b\n"]
    assert messages("delimitedtext_op", made, "21", fieldDelimiter="|") == ["|a||v||b\n"]


def test_19_1_without_a_template_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(GgfmtError, match="GG138"):
        run_ggfmt([write_lines(tmp_path / "in.json", [])], None, "gg.handler.h.format=json", "ggfmt.compatibility=19.1")


# Messages of later releases, as they were captured (reference, section 8)


def captured(template: str, made: Changes) -> str:
    (text,) = messages("json", made, "23", metaColumnsTemplate=template)
    return text


def test_a_captured_update_with_names_by_default_and_a_key_as_text() -> None:
    table = PlainTable(
        "HR.EMP", (PlainColumn("EMP_ID", "number", 1), PlainColumn("NAME", "string"), PlainColumn("SALARY", "number"))
    )
    before = {"EMP_ID": "1000", "NAME": "Emp1000", "SALARY": "64000"}
    update = PlainOperation("U", "t", "p", before, {"EMP_ID": "1000", "SALARY": "65000"}, {})
    assert captured("${optype},${primarykeys}", Changes(table, [update], False)) == (
        '{"optype":"U","primarykeys":"1000","before":{"EMP_ID":1000,"NAME":"Emp1000","SALARY":64000},'
        '"after":{"EMP_ID":1000,"SALARY":65000}}'
    )
    delete = PlainOperation("D", "t", "p", {"EMP_ID": "26000"}, None, {})
    assert captured("${optype},${primarykeys}", Changes(table, [delete], False)) == (
        '{"optype":"D","primarykeys":"26000","before":{"EMP_ID":26000}}'
    )


def test_a_captured_insert_with_a_blank_in_its_current_time() -> None:
    table = PlainTable("DB.T", (PlainColumn("A", "integer", 1), PlainColumn("B", "string")))
    insert = PlainOperation(
        "I", "2024-08-13 15:54:17.020636", "00000000160000003101", None, {"A": "6", "B": "Teste 6"}, {}
    )
    template = "${timestamp[op_ts]},${currenttimestamp[current_ts]},${position[pos]}"
    assert captured(template, Changes(table, [insert], False)) == (
        '{"op_ts":"2024-08-13 15:54:17.020636","current_ts":"2015-09-18 13:39:35.447001",'
        '"pos":"00000000160000003101","after":{"A":6,"B":"Teste 6"}}'
    )


# Options


STATES: dict[str, Any] = {"value": "1", "NULL": None}


def image(**states: str) -> dict[str, Any]:
    """An image by the state of each column; one that is missing is not in it."""
    return {name: STATES[state] for name, state in states.items() if state != "missing"}


@pytest.mark.parametrize("name", ["json", "json_row"])
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("before", ["value", "NULL", "missing"])
@pytest.mark.parametrize("after", ["value", "NULL", "missing"])
def test_nulls_are_left_out(name: str, special: bool, before: str, after: str) -> None:
    table = PlainTable("T", (PlainColumn("K", "string", 1), PlainColumn("C", "string")))
    key = {"K": "k"}
    made = [
        PlainOperation("U", "t", "p", key | image(C=before), key | image(C=after), {}),
        PlainOperation("I", "t", "p", None, key | image(C=after), {}),
        PlainOperation("D", "t", "p", key | image(C=before), None, {}),
    ]
    texts = {"omitNullValues": "true", "omitNullValuesSpecialUpdateHandling": str(special).lower()}
    if name == "json_row":
        texts["pkUpdateHandling"] = "update"
    update, insert, delete = map(json.loads, messages(name, Changes(table, made, False), **texts))
    shown = (update, insert, delete) if name == "json_row" else (update["after"], insert["after"], delete["before"])
    kept = after == "value" or (special and after == "NULL" and before != "NULL")
    assert ["C" in item for item in shown] == [kept, after == "value", before == "value"]
    if name == "json":
        assert ("C" in update["before"]) is (before == "value")


@examples(40)
@given(made=changes(number=json_numbers), delimiter=st.sampled_from([".", "_", "::"]), pretty=st.booleans())
def test_a_flattened_message_has_the_members_of_the_images(made: Changes, delimiter: str, pretty: bool) -> None:
    shape = {"prettyPrint": str(pretty).lower(), "beforeObjectName": "old", "afterObjectName": "new"}
    plain = map(json.loads, messages("json", made, **shape))
    flat = messages("json", made, flatten="true", flattenDelimiter=delimiter, **shape)
    for expected, text in zip(plain, flat, strict=True):
        members = json.loads(text, object_pairs_hook=list)
        images = [(name, expected.pop(name)) for name in ("old", "new") if name in expected]
        names = [name for name, _ in members]
        of_images = [f"{image}{delimiter}{column}" for image, columns in images for column in columns]
        assert names == [*expected, *of_images]


@examples(60)
@given(
    made=changes(number=json_numbers),
    template=st.sampled_from(["", FIVE, SEVEN, "${csn[c]},${optype}"]),
    flatten=st.booleans(),
    release=st.sampled_from(["12.2", "12.3", "21"]),
)
@pytest.mark.parametrize("name", ["json", "json_row"])
def test_messages_are_as_their_schemas_say(
    name: str, made: Changes, template: str, flatten: bool, release: str
) -> None:
    if release != "12.2":  # whose numbers any digits fit
        assume({column.kind for column in made.table.columns} <= {"string", "boolean"})
    texts = {"metaColumnsTemplate": template, "omitNullValues": "true"}
    texts |= {"flatten": str(flatten).lower()} if name == "json" else {"pkUpdateHandling": "update"}
    if name == "json_row" and {column.name for column in made.table.columns} & {"c", "tokens", "table", "pos"}:
        return
    options: Any = FORMATS[name].options.parse(texts)
    make = FORMATS[name].write_support.schema
    assert make is not None
    (schema,) = make(table_def(made.table), options, Context(True, release))
    validator = Draft4Validator(json.loads(schema.content))
    Draft4Validator.check_schema(json.loads(schema.content))
    for text in messages(name, made, release, tokens=True, **texts):
        assert list(validator.iter_errors(json.loads(text))) == []


def test_text_with_both_images_in_either_order() -> None:
    table = PlainTable("T", (PlainColumn("A", "string", 1), PlainColumn("B", "string")))
    made = Changes(
        table,
        [
            PlainOperation("I", "t", "p", None, {"A": "1", "B": None}, {}),
            PlainOperation("U", "t", "p", {"A": "1", "B": "x"}, {"A": "1"}, {}),
            PlainOperation("D", "t", "p", {"A": "1", "B": "x"}, None, {}),
            PlainOperation("T", "t", "p", None, None, {}),
        ],
        False,
    )
    texts = {"metaColumnsTemplate": "${optype}", "fieldDelimiter": "|"}
    assert messages("delimitedtext_op", made, **texts) == ["I||1||NULL\n", "U|1|1|x|\n", "D|1||x|\n", "T||||\n"]
    texts["includeColumnNames"] = "true"
    assert messages("delimitedtext_op", made, **texts)[1] == "U|A|1|1|B|x|\n"
    texts["includeGroupCols"] = "true"
    assert messages("delimitedtext_op", made, **texts)[1] == "U|A|B|1|x|1|\n"
    texts["includeMetaColumnNames"] = "true"
    assert messages("delimitedtext_op", made, **texts)[1] == "optype|U|A|B|1|x|1|\n"


def test_quotes_stand_around_texts_alone() -> None:
    table = PlainTable("T", (PlainColumn("A", "string", 1), PlainColumn("N", "integer"), PlainColumn("B", "string")))
    insert = PlainOperation("I", "t", "p", None, {"A": 'a"b|', "N": "5"}, {})
    null = PlainOperation("I", "t", "p", None, {"A": None, "N": "5", "B": "NULL"}, {})
    texts = {"metaColumnsTemplate": "${optype}", "fieldDelimiter": "|", "wrapStringsInQuotes": "true"}
    made = Changes(table, [insert, null], False)
    assert messages("delimitedtext", made, pkUpdateHandling="update", **texts) == [
        'I|"a""b|"|5|\n',
        'I|NULL|5|"NULL"\n',
    ]


LINES = [
    {
        "table": "GG.T",
        "op_type": "I",
        "op_ts": f"2013-06-02 22:14:36.{n:06d}",
        "pos": f"{n:020d}",
        "after": {"ID": f"{n}", "NAME": f"n{n}"},
    }
    for n in range(7)
]
DEFINED = {"GG.T": TableDef("GG.T", (Column("ID", SqlType(Kind.INTEGER), key=1), Column("NAME")))}


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16"])
def test_every_file_starts_with_the_names_of_its_fields(encoding: str, tmp_path: Path) -> None:
    settings = [
        "gg.handler.h.format=delimitedtext",
        "gg.handler.h.format.fieldDelimiter=,",
        f"gg.handler.h.format.encoding={encoding}",
        "gg.handler.h.format.enableFieldDescriptorHeaders=true",
        "gg.handler.h.format.metaColumnsTemplate=${optype[op]},${position},${objectname[t]}",
        "gg.handler.h.format.pkUpdateHandling=update",
        "gg.handler.h.maxFileSize=300",
    ]
    source = write_lines(tmp_path / "in.json", LINES)
    run_ggfmt([source], tmp_path / "out", *settings, definitions=DEFINED)
    files = sorted((tmp_path / "out" / "h" / "GG.T").iterdir())
    assert len(files) > 1 or encoding == "UTF-8"
    assert all(file.read_text(encoding).startswith("op,position,t,ID,NAME\n") for file in files)
    if encoding == "UTF-8":
        frame = polars.concat([polars.read_csv(file, infer_schema_length=0) for file in files])
        assert frame["position"].to_list() == [f"{n:020d}" for n in range(7)]
    config = tmp_path / "h.properties"
    config.write_text("gg.handlerlist=h\n" + "\n".join(settings))
    for size in (None, 1, 30, 97):
        back = tmp_path / f"back{size}"
        run_ggfmt(
            files,
            back,
            "gg.handler.j.format=json",
            "gg.handler.j.format.jsonDelimiter=CDATA[\\n]",
            source=told(config),
            input_format="delimitedtext",
            definitions=DEFINED,
            split_size=size,
        )
        rows = [json.loads(line) for line in content(back, "j").splitlines()]
        assert [(row["op_type"], row["pos"], row["table"]) for row in rows] == [
            ("I", f"{n:020d}", "GG.T") for n in range(7)
        ]
        assert [row["after"]["NAME"] for row in rows] == [f"n{n}" for n in range(7)]


@pytest.mark.parametrize("named", ["false", "true"])
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16"])
def test_a_file_without_its_header_loses_no_operation(encoding: str, named: str, tmp_path: Path) -> None:
    options = {
        "encoding": encoding,
        "fieldDelimiter": ",",
        "enableFieldDescriptorHeaders": "true",
        "metaColumnsTemplate": "${position},${optype[I]},${objectname[t]}",
        "includeMetaColumnNames": named,
    }
    settings = ["gg.handler.h.format=delimitedtext", *(f"gg.handler.h.format.{k}={v}" for k, v in options.items())]
    config = tmp_path / "h.properties"
    config.write_text("gg.handlerlist=h\n" + "\n".join(settings))
    run_ggfmt([write_lines(tmp_path / "in.json", LINES)], tmp_path / "out", *settings, definitions=DEFINED)
    (whole,) = (tmp_path / "out" / "h" / "GG.T").iterdir()
    part = tmp_path / "part.txt"
    part.write_bytes(whole.read_bytes().partition("\n".encode(codec_of(encoding)))[2])
    for file in (whole, part):
        again = tmp_path / "again" / file.name
        run_ggfmt([file], again, *settings, source=told(config), input_format="delimitedtext", definitions=DEFINED)
        assert content(again, "h") == whole.read_bytes()


def told(config: Path) -> Any:
    from ggfmt.config.handlers import read_configuration
    from ggfmt.reading.recognition import source_of_handler

    return source_of_handler(read_configuration([str(config)]))[1]


@pytest.mark.parametrize("name", ["json", "json_row"])
def test_messages_that_name_no_table_are_of_the_one_that_is_defined(name: str, tmp_path: Path) -> None:
    config = tmp_path / "h.properties"
    config.write_text(
        f"gg.handlerlist=h\ngg.handler.h.format={name}\ngg.handler.h.format.metaColumnsTemplate=${{optype}},${{timestampmicro[us]}},${{token[t].TKN}}\n"
    )
    body: Mapping[str, Any] = {"ID": 1, "NAME": "x"}
    record = {"optype": "I", "us": "1370211276000001", "t": "abc", **({"after": body} if name == "json" else body)}
    source = write_lines(tmp_path / "in.json", [record])
    settings = ("gg.handler.j.format=json", "gg.handler.j.includeTokens=true")
    run_ggfmt([source], tmp_path / "out", *settings, source=told(config), input_format=name, definitions=DEFINED)
    message = json.loads(content(tmp_path / "out", "j"))
    assert (message["table"], message["op_ts"], message["tokens"]) == (
        "GG.T",
        "2013-06-02 22:14:36.000001",
        {"TKN": "abc"},
    )
    with pytest.raises(GgfmtError, match="messages do not name their table, and 0 tables are defined"):
        run_ggfmt([source], tmp_path / "none", *settings, source=told(config), input_format=name)


@pytest.mark.parametrize("name", ["json", "json_row", "delimitedtext"])
def test_messages_without_operation_types_are_not_read(name: str, tmp_path: Path) -> None:
    config = tmp_path / "h.properties"
    config.write_text(
        f"gg.handlerlist=h\ngg.handler.h.format={name}\ngg.handler.h.format.metaColumnsTemplate=${{position}}\n"
    )
    source = write_lines(tmp_path / "in.json", [{"position": "1", "after": {}}])
    with pytest.raises(GgfmtError, match=r"GG103.*without operation types cannot be read"):
        run_ggfmt(
            [source],
            tmp_path / "out",
            "gg.handler.j.format=json",
            source=told(config),
            input_format=name,
            definitions=DEFINED,
        )


def test_the_releases_are_in_order() -> None:
    assert list(RELEASES) == ["12.2", "12.3", "12.3.2", "19.1", "21", "23", "26"]
    assert all(len(release.changes) == 3 for release in RELEASES.values())
    assert row_image(replace(OPERATIONS[2])) == {"K1": "x", "K2": None}


IN_TRANSACTIONS = Changes(
    PlainTable("S.T", (PlainColumn("A", "string", 1),)),
    [
        PlainOperation("I", "2013-06-02 22:14:36.000000", "1", None, {"A": "x"}, tokens)
        for tokens in ({"R": "A", "6": "9.0.80330"}, {"xid": "1.2.3"}, {})
    ],
    False,
)


def transactions_in(name: str, **options: str) -> list[str | None]:
    table = table_def(IN_TRANSACTIONS.table)
    trusted = {} if FORMATS[name].read_support.discovery is not None else {table.full_name: table}
    if name == "delimitedtext":
        options["encoding"] = "UTF-8"
    source = WriterSettings(FORMATS[name].options.parse(options), ALL_SHOWN)
    return transactions_of(name, written(name, IN_TRANSACTIONS, None, ALL_SHOWN, **options), source, trusted)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("${xid}", ["9.0.80330", "1.2.3", None]),
        ("${token[t].6}", ["9.0.80330", None, None]),
        ("${alltokens}", ["9.0.80330", "1.2.3", None]),
        ("${csn}", [None, None, None]),
    ],
)
@pytest.mark.parametrize(
    "name", ["json", "json_row", "delimitedtext", "avro_op", "avro_row", "avro_op_ocf", "kafkaconnect_json"]
)
def test_the_transaction_is_known_by_its_column_or_its_token(name: str, column: str, expected: Any) -> None:
    assert transactions_in(name, metaColumnsTemplate=f"{FIVE},{column}") == expected


@pytest.mark.parametrize("name", ["json", "xml", "avro_op", "kafkaconnect_json"])
def test_the_transaction_is_known_by_the_token_of_a_release_without_templates(name: str) -> None:
    assert transactions_in(name) == ["9.0.80330", "1.2.3", None]
