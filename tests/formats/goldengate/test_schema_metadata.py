"""Metadata of messages are no columns: schemas say which fields are metadata, or `--input-config` does, or it is an
error. Through every keyword of templates, every format with schemas, and both ways by which schemas are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import check_each
from places import ROOT
from runs import PIPES, content, operation, output_files, run_ggfmt, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.config.handlers import read_configuration
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.diagnostic import ConfigurationError, GgfmtError
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Context, WriterSettings
from ggfmt.formats.goldengate.avro import AvroOpOptions
from ggfmt.formats.goldengate.avro.schema import AvroSchema
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.formats.goldengate.metacolumns import KEYWORDS, MetaColumn, Template
from ggfmt.formats.goldengate.schemas import METADATA_PROPERTY, PREFIXES_PROPERTY
from ggfmt.java.text import string_hash
from ggfmt.model.table import Column, TableDef
from ggfmt.reading.recognition import source_of_handler
from ggfmt.reading.scan import ScanRequest
from ggfmt.sinks.schema import schemas

TABLE = TableDef("GG.T", (Column("ID"), Column("NAME"), Column("pos"), Column("AMOUNT")))
NAMES = TABLE.column_names
WITH_SCHEMAS = ("json", "json_row", "avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf")
STREAMS = ("json_row", "avro_row", "avro_op", "json")
USABLE = [keyword for keyword in KEYWORDS.values() if not keyword.refused]


def item(keyword: str, name: str | None = None) -> str:
    field = "" if name is None else f"[{name}]"
    return f"${{{keyword}{field}{'.HOME' if KEYWORDS[keyword].argument else ''}}}"


ALL_KEYWORDS = ",".join(item(keyword.name, f"m{number}") for number, keyword in enumerate(USABLE))
TEMPLATES = {
    "names of their own": "${objectname[obj]},${optype[kind]},${timestamp[when]}",
    "keywords": "${objectname},${optype},${timestamp}",
    "tokens": "${objectname[obj]},${optype[kind]},${alltokens[tk]}",
    "keys": "${primarykeycolumns[k]},${objectname[obj]},${optype[kind]}",
    "names of others": "${static[op_type].X},${optype[what]},${objectname[where]},${token[R].R}",
    "some fixed names": "${objectname[table]},${optype[op_type]},${csn[scn]}",
    "every keyword": ALL_KEYWORDS,
    "every keyword as it is": ",".join(item(keyword.name) for keyword in USABLE),
}
VARIABLES = ("ggfmt.variables=HOME=x", "ggfmt.groupName=REP")


def lines(name: str, template: str | None, *others: str, release: str = "21", handler: str = "h") -> list[str]:
    found = [f"gg.handler.{handler}.format={name}", f"ggfmt.compatibility={release}", *VARIABLES]
    if template is not None:
        found.append(f"gg.handler.{handler}.format.metaColumnsTemplate={template}")
    return [*found, *(f"gg.handler.{handler}.format.{other}" for other in others)]


def story() -> list[dict[str, Any]]:
    """Operations with a column that is called like a metadata field."""
    images = ({"ID": f"{n}", "NAME": f"name {n}", "pos": f"p{n}", "AMOUNT": str(n)} for n in range(6))
    plain = [
        {**operation(n, "GG.T"), "op_type": "I", "after": image, "tokens": {"R": "AAA"}}
        for n, image in enumerate(images)
    ]
    return [*plain, {**operation(6, "GG.T", "D"), "before": plain[0]["after"], "tokens": {}}]


def schema_files(name: str, settings: Sequence[str], folder: Path) -> list[Path]:
    folder.mkdir(parents=True)
    files = []
    for file in schemas(ScanRequest((), definitions={"GG.T": TABLE}), read_configuration([], settings), None):
        (folder / file.name).write_bytes(file.content)
        files.append(folder / file.name)
    return files


def columns(paths: Sequence[Path], source: WriterSettings = DEFAULT_SETTINGS) -> dict[str, tuple[str, ...]]:
    return {name: table.column_names for name, table in load_definitions(map(str, paths), source).items()}


def without_property(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text())
    document.pop(METADATA_PROPERTY, None)
    document.pop(PREFIXES_PROPERTY, None)
    file.write_text(json.dumps(document))
    return document


# Schemas show it


@pytest.mark.parametrize("name", WITH_SCHEMAS)
def test_a_schema_says_which_fields_are_metadata(name: str, tmp_path: Path) -> None:
    alone = [f"{item(word.name, field)},${{optype[kind]}}" for word in USABLE for field in ("m", None)]

    def check(template: str) -> None:
        files = schema_files(name, lines(name, template), Path(mkdtemp(dir=tmp_path)) / "schemas")
        assert columns(files) == {"GG.T": NAMES}

    check_each([*TEMPLATES.values(), *alone], check)


@pytest.mark.parametrize("name", WITH_SCHEMAS)
@pytest.mark.parametrize("release", ["21", "23", "26"])
def test_a_schema_without_metadata_has_columns_alone(name: str, release: str, tmp_path: Path) -> None:
    """Also columns that are called as metadata of earlier releases are."""
    table = TableDef("GG.T", tuple(map(Column, ("table", "op_type", "op_ts", "current_ts", "pos", "tokens", "ID"))))
    settings = read_configuration([], lines(name, None, release=release))
    (file,) = (
        file
        for file in schemas(ScanRequest((), definitions={"GG.T": table}), settings, None)
        if "wrapper" not in file.name
    )
    (tmp_path / file.name).write_bytes(file.content)
    assert columns([tmp_path / file.name]) == {"GG.T": table.column_names}


@pytest.mark.parametrize("name", ["json", "json_row"])
@pytest.mark.parametrize("template", [None, "${objectname[table]},${position[pos]},${optype[op_type]}"])
def test_a_column_of_a_row_that_is_called_as_a_member_is_a_column(
    name: str, template: str | None, tmp_path: Path
) -> None:
    files = schema_files(name, lines(name, template, release="12.3"), tmp_path / "schemas")
    assert columns(files) == {"GG.T": NAMES}


@pytest.mark.parametrize("given", [("before", "after", "."), ("alt", "neu", "_")])
@pytest.mark.parametrize("template", [None, "${objectname[obj]},${optype[kind]}"])
def test_flattened_columns_are_columns(given: tuple[str, str, str], template: str | None, tmp_path: Path) -> None:
    before, after, delimiter = given
    others = ("flatten=true", f"beforeObjectName={before}", f"afterObjectName={after}", f"flattenDelimiter={delimiter}")
    settings = lines("json", template, *others, release="12.3" if template is None else "21")
    files = schema_files("json", settings, tmp_path / "schemas")
    assert columns(files) == {"GG.T": NAMES}
    (file,) = files
    without_property(file)
    _, source = source_of_handler(read_configuration([], settings))
    assert columns(files, source) == {"GG.T": NAMES}


# What GoldenGate prints stays


@pytest.mark.parametrize("name", WITH_SCHEMAS)
@pytest.mark.parametrize("release", ["12.2", "12.3", "12.3.2"])
def test_schemas_of_fixed_metadata_have_no_property(name: str, release: str, tmp_path: Path) -> None:
    table = TableDef("GG.T", (Column("ID"), Column("NAME")))
    for template in (None, ",".join(("${objectname[table]}", "${optype[op_type]}", "${timestamp[op_ts]}"))):
        settings = read_configuration([], lines(name, template, release=release))
        for file in schemas(ScanRequest((), definitions={"GG.T": table}), settings, None):
            assert (METADATA_PROPERTY in file.content.decode()) == (template is not None)
    fixed = (
        "${objectname[table]},${optype[op_type]},${timestamp[op_ts]},${currenttimestamp[current_ts]},${position[pos]}"
        ",${primarykeycolumns[primary_keys]},${alltokens[tokens]}"
    )
    for file in schemas(
        ScanRequest((), definitions={"GG.T": table}), read_configuration([], lines(name, fixed, release=release)), None
    ):
        assert METADATA_PROPERTY not in file.content.decode()


@pytest.mark.parametrize("by_image", [False, True])
@pytest.mark.parametrize("by_fingerprint", [False, True])
def test_numbers_of_schemas_in_messages_do_not_change(by_image: bool, by_fingerprint: bool) -> None:
    template = Template().parse(TEMPLATES["names of their own"])
    options = AvroOpOptions(
        meta_columns_template=template,
        wrap_message_in_generic_avro_message=True,
        generic_wrapper_use_fingerprint=by_fingerprint,
    )
    made = avro_schema(TABLE, options, Context(release="21"), by_image)
    plain = {name: value for name, value in made.document.items() if name != METADATA_PROPERTY}
    assert (METADATA_PROPERTY in made.document) is by_fingerprint
    assert made.fingerprint == AvroSchema(plain).fingerprint
    if not by_fingerprint:
        assert made.hash == string_hash(made.text)


# Round trips


def direct(source: Path, out: Path) -> bytes:
    """What operations are as delimited text, without any schema between."""
    run_ggfmt([source], out, *TEXT, definitions={"GG.T": TABLE}, input_format="json")
    return content(out, "d")


TEXT = (*PIPES, "gg.handler.d.format.metaColumnsTemplate=${objectname},${optype}", "ggfmt.compatibility=21")


@pytest.mark.parametrize("name", [*WITH_SCHEMAS, "delimitedtext"])
@pytest.mark.parametrize("template", ["names of their own", "keywords", "tokens", "some fixed names", "every keyword"])
@pytest.mark.parametrize("by_run", [True, False], ids=["run", "schema"])
def test_messages_come_back_with_the_schema_that_was_written_with_them(
    name: str, template: str, by_run: bool, tmp_path: Path
) -> None:
    source = write_lines(tmp_path / "in.json", story())
    settings = lines(name, TEMPLATES[template])
    of_schema = (
        lines("json_row", TEMPLATES[template], "schemaDirectory=dirdef") if name == "delimitedtext" else settings
    )
    if by_run:
        for number, wanted in enumerate((settings, of_schema)):
            run_ggfmt([source], tmp_path / f"out{number}", *wanted, definitions={"GG.T": TABLE}, input_format="json")
        described = tmp_path / "out1" / "dirdef"
    else:
        run_ggfmt([source], tmp_path / "out0", *settings, definitions={"GG.T": TABLE}, input_format="json")
        described = tmp_path / "schemas"
        schema_files(name, of_schema, described)
    config = tmp_path / "handler.properties"
    config.write_text("\n".join(("gg.handlerlist=h", *settings)))
    arguments = ["run", str(tmp_path / "out0" / "h"), "--input-config", str(config), "--definitions", str(described)]
    arguments += [word for line in TEXT for word in ("--set", line)]
    ended = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "back"), "--master", "none"])
    assert ended.exit_code == 0, f"{ended.output}\n{ended.exception!r}"
    assert content(tmp_path / "back", "d") == direct(source, tmp_path / "direct")


@pytest.mark.parametrize("name", ["avro_row_ocf", "avro_op_ocf"])
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_a_container_is_read_by_its_header_alone(name: str, template: str, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", story())
    run_ggfmt([source], tmp_path / "out", *lines(name, template), definitions={"GG.T": TABLE}, input_format="json")
    run_ggfmt([tmp_path / "out" / "h"], tmp_path / "back", *TEXT)
    expected = direct(source, tmp_path / "direct")
    if "${objectname" in template:
        assert content(tmp_path / "back", "d") == expected


# Schemas of others


@pytest.mark.parametrize("name", ["json_row", "avro_row", "avro_row_ocf"])
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_input_config_settles_schemas_of_others_and_else_they_are_refused(
    name: str, template: str, tmp_path: Path
) -> None:
    settings = lines(name, template)
    (file,) = schema_files(name, settings, tmp_path / "schemas")
    without_property(file)
    _, source = source_of_handler(read_configuration([], settings))
    assert columns([file], source) == {"GG.T": NAMES}
    assert columns([file], WriterSettings(given={"metaColumnsTemplate": template})) == {"GG.T": NAMES}
    with pytest.raises(ConfigurationError) as refused:
        columns([file])
    (found,) = refused.value.diagnostics
    assert found.code == "GG202"
    assert "--input-config" in str(found.help)
    assert "metadata" in found.message
    assert found.span.table == "GG.T"


def test_the_property_may_be_written_by_hand(tmp_path: Path) -> None:
    fields = [{"name": "ID", "type": "string"}, {"name": "NAME", "type": ["null", "string"]}]
    file = tmp_path / "a.avsc"
    record = {"type": "record", "name": "T", "namespace": "GG", "fields": fields}
    file.write_text(json.dumps(record))
    with pytest.raises(ConfigurationError, match="does not say whether the field `ID` is a column or metadata"):
        columns([file])
    file.write_text(json.dumps({**record, METADATA_PROPERTY: ""}))
    assert columns([file]) == {"GG.T": ("ID", "NAME")}
    file.write_text(json.dumps({**record, METADATA_PROPERTY: "${optype[ID]}"}))
    assert columns([file]) == {"GG.T": ("NAME",)}


@pytest.mark.parametrize("value", [7, "optype", "${nothing}", "${optype[lacking]}", "${optype},${optype}"])
@pytest.mark.parametrize("name", ["json_row", "avro_row"])
def test_a_property_that_is_wrong_is_an_error(name: str, value: Any, tmp_path: Path) -> None:
    (file,) = schema_files(name, lines(name, "${optype[kind]}"), tmp_path / "schemas")
    file.write_text(json.dumps({**json.loads(file.read_text()), METADATA_PROPERTY: value}))
    with pytest.raises(ConfigurationError) as refused:
        columns([file])
    assert {found.code for found in refused.value.diagnostics} == {"GG202"}
    assert METADATA_PROPERTY in refused.value.diagnostics[0].message


def test_a_schema_in_doubt_does_no_harm_where_a_better_file_defines_the_table(tmp_path: Path) -> None:
    known = load_definitions([str(ROOT / "samples" / "TCUSTORD.def")])
    settings = read_configuration([], lines("avro_row", "${optype[kind]}"))
    file = schemas(ScanRequest((), definitions=known), settings, None)[0]
    path = tmp_path / file.name
    path.write_bytes(file.content)
    without_property(path)
    with pytest.raises(GgfmtError):
        columns([path])
    assert load_definitions([str(path), str(ROOT / "samples" / "TCUSTORD.def")]) == known


def test_a_run_with_a_schema_in_doubt_ends_with_an_error(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", story())
    (file,) = schema_files("json_row", lines("json_row", TEMPLATES["names of their own"]), tmp_path / "schemas")
    without_property(file)
    arguments = ("run", str(source), "--to", "delimitedtext", "--definitions", str(file), "--master", "none")
    ended = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "out")])
    assert ended.exit_code != 0
    assert isinstance(ended.exception, ConfigurationError)
    assert not (tmp_path / "out").exists() or not output_files(tmp_path / "out", "delimitedtext")


_NAMES = st.text(st.characters(min_codepoint=32, exclude_characters="]${},\x7f", codec="utf-8"), min_size=1)


@given(
    st.lists(
        st.builds(
            lambda keyword, name, text: MetaColumn(keyword, name, text if KEYWORDS[keyword].argument else None),
            st.sampled_from([keyword.name for keyword in USABLE]),
            _NAMES.map(str.strip).filter(bool),
            st.text(st.characters(min_codepoint=32, codec="utf-8"), min_size=1).filter(lambda text: "}" not in text),
        ),
        unique_by=lambda column: column.name,
        min_size=1,
    )
)
def test_a_template_is_the_same_after_it_was_written(template: list[MetaColumn]) -> None:
    written = Template().render(tuple(template))
    assert Template().render(Template().parse(written)) == written
