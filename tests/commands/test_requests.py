"""Requests: an option is one field, and the command line, its help, completion and Python's function have it."""

from __future__ import annotations

import ast
import inspect
import pickle
import pydoc
import textwrap
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import pytest
import typer
from runs import operation, write_lines
from typer.testing import CliRunner

import ggfmt
from ggfmt.cli import app, app_for, completion, main
from ggfmt.cli.message_commands import run
from ggfmt.cli.typer_commands import CommandParameters, register, with_common_options
from ggfmt.commands import arguments
from ggfmt.commands.api import request_function
from ggfmt.commands.comparison import CompareRequest, run_comparison
from ggfmt.commands.consolidation import ConsolidateRequest, run_consolidation
from ggfmt.commands.conversion import ConvertRequest, run_conversion
from ggfmt.commands.declaration import Argument, Option, PythonOnly, parameters, shared_fields
from ggfmt.commands.inspection import (
    LintRequest,
    PreviewRequest,
    SchemaRequest,
    find_mistakes,
    make_schemas,
    run_preview,
)
from ggfmt.comparison.comparison import ComparisonOptions
from ggfmt.formats import FORMATS
from ggfmt.rows.run import ConsolidationSettings
from ggfmt.sinks.messages.run import RunSettings
from ggfmt.sinks.preview import PreviewSettings

if TYPE_CHECKING:
    from ggfmt.model.table import TableDef

    # Unused ignores are errors of mypy, so that each of these calls has to be one.
    ggfmt.convert("in.json", confg="x.properties")  # type: ignore[call-arg]
    ggfmt.convert("in.json", settle="soon")  # type: ignore[arg-type]
    ggfmt.convert("in.json", mode="replace")  # type: ignore[arg-type]
    ggfmt.convert()  # type: ignore[call-arg]
    ggfmt.consolidate("in.json")  # type: ignore[call-arg]
    ggfmt.preview("in.json", None, 5, None, None, None, "auto", None, None, None, None, None, print)  # type: ignore[call-arg, arg-type]
    result: ggfmt.Result = ggfmt.convert("in.json", ["a", Path("b")], "out", strict=True, spark=object())
    number: int = ggfmt.lint(text="")  # type: ignore[assignment]

Color = Literal["red", "green"]
MORE = [Option("--colour", help="Paint the messages.", panel="Output"), Option(metavar="ID", complete="input_formats")]
BODIES: dict[type, tuple[Callable[[Any], object], Any]] = {
    ConvertRequest: (run_conversion, RunSettings),
    ConsolidateRequest: (run_consolidation, ConsolidationSettings),
    CompareRequest: (run_comparison, ComparisonOptions),
    PreviewRequest: (run_preview, PreviewSettings),
    SchemaRequest: (make_schemas, None),
    LintRequest: (find_mistakes, None),
}


@dataclass(frozen=True, eq=False, repr=False)
class PaintRequest(ConvertRequest):
    """Converts and paints."""

    color: Annotated[Color, MORE[0]] = "red"
    source: Annotated[str | None, MORE[1]] = None


def paint(request: PaintRequest) -> tuple[object, str, str | None]:
    return request.inputs, request.color, request.source


painted = request_function(PaintRequest, paint, "painted")
SEEN: list[tuple[object, str, str | None]] = []


def brush(request: PaintRequest) -> None:
    """Paint.

    `ggfmt brush`
    """
    SEEN.append(paint(request))


def program() -> typer.Typer:
    small = typer.Typer(rich_markup_mode="markdown")
    register(small, brush)
    small.command()(lambda: None)
    return small


def test_an_option_that_is_a_field_is_everywhere() -> None:
    signature = inspect.signature(painted)
    assert [*signature.parameters][25:27] == ["color", "source"], "behind those of the request that has fewer"
    assert str(signature.parameters["color"]) == "color: 'Color' = 'red'"
    assert "color: Color = 'red'" in pydoc.plain(pydoc.render_doc(painted)).replace("'Color'", "Color")
    assert painted("in", color="green", source="xml") == ("in", "green", "xml")
    small = program()
    runner = CliRunner()
    told = runner.invoke(small, ["brush", "--help"], env={"COLUMNS": "100", "NO_COLOR": "1"}).output
    assert "--colour" in told and "red|green" in told and "Paint the messages." in told
    assert runner.invoke(small, ["brush", "a", "b", "--colour", "green", "--source", "xml"]).exit_code == 0
    assert SEEN.pop() == (["a", "b"], "green", "xml")
    assert runner.invoke(small, ["brush", "a", "--colour", "blue"]).exit_code == 2
    read = [name for name, format in FORMATS.items() if format.reads is not None]
    assert offered(small, "ggfmt brush a --colour ") == ["red", "green"]
    assert offered(small, "ggfmt brush a --source ") == ["auto", *read]


def offered(small: typer.Typer, line: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    environment = {"_GGFMT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    typer.main.get_command(small)  # which takes up typer's own ways to complete
    return CliRunner().invoke(small, [], prog_name="ggfmt", env=environment).output.split()


@pytest.mark.parametrize("request_class", BODIES, ids=lambda each: each.__name__)
def test_every_field_of_a_request_reaches_the_work(request_class: type) -> None:
    body, settings = BODIES[request_class]
    taken = set() if settings is None else set(shared_fields(request_class, settings))
    assert {each.name for each in parameters(request_class)} == fields_read(body) | taken


def fields_read(body: Any) -> set[str]:
    """The fields of `request` that a function reads, or another one of its module that it gives the request to."""
    nodes = list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(body)))))
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "request"}
    calls = (node for node in nodes if isinstance(node, ast.Call) and "request" in map(ast.unparse, node.args))
    names = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    own = (body.__globals__[name] for name in names)
    if any(ast.unparse(node) == "arguments.input_settings" for node in nodes):
        rows = ast.walk(ast.parse(inspect.getsource(arguments)))
        read |= {node.attr for node in rows if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "rows"}
    return read.union(*(fields_read(each) for each in own if each.__module__ == body.__module__))


def test_what_needs_no_parsing_is_taken_by_its_name_and_type() -> None:
    assert {"allow_empty", "settle"} <= set(shared_fields(ConvertRequest, RunSettings))
    assert not {"mode", "split_size", "definitions", "current_timestamp"} & set(
        shared_fields(ConvertRequest, RunSettings)
    )


@pytest.mark.parametrize("request_class", BODIES, ids=lambda each: each.__name__)
def test_every_field_says_what_the_command_line_has_of_it(request_class: type) -> None:
    for each in parameters(request_class):
        about = [item for item in each.metadata if isinstance(item, (Argument, PythonOnly))]
        assert len(about) == 1, each.name
        if isinstance(about[0], Argument):
            assert about[0].help
            assert about[0].complete is None or callable(getattr(completion, about[0].complete))


def test_a_request_does_not_show_passwords() -> None:
    request = ConvertRequest("in", spark_conf={"spark.hadoop.fs.s3a.secret.key": "hidden"})
    assert "hidden" not in repr(request)


# The functions


def test_a_function_is_one_of_ggfmt() -> None:
    for name in ("run", "consolidate", "compare", "preview", "schema", "validate_config"):
        function = getattr(ggfmt, name)
        assert (function.__module__, function.__name__, function.__qualname__) == ("ggfmt", name, name)
        assert pickle.loads(pickle.dumps(function)) is function
        assert "Annotated" not in str(inspect.signature(function))
        assert set(function.__annotations__) == {*inspect.signature(function).parameters, "return"}
        assert inspect.isfunction(function)
    assert ggfmt.convert is ggfmt.run and ggfmt.lint is ggfmt.validate_config


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"run\(\) missing a required argument: 'inputs'"),
        ({"inputs": "x", "confg": "y"}, r"run\(\) got an unexpected keyword argument 'confg'"),
    ],
)
def test_a_wrong_call_is_told_by_the_name_of_the_function(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ggfmt.convert(**arguments)


def test_positions_are_as_they_are_declared(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(1)])
    assert ggfmt.convert(source, None, tmp_path / "out", "json", master="none").manifest is not None
    lint: Any = ggfmt.lint
    with pytest.raises(TypeError, match="too many positional"):
        lint(None, "", None, "name", "more")


# How fields are read


@dataclass
class OfStrings:
    table: TableDef | None
    _: KW_ONLY
    size: Annotated[int | str | None, Argument(help="A, B [C].")] = None


def test_types_may_be_for_type_checkers_alone() -> None:
    table, size = parameters(OfStrings)
    assert (table.shown_type, table.type, table.keyword_only) == ("TableDef | None", Any | None, False)
    assert (table.default, table.metadata) == (inspect.Parameter.empty, ())
    assert (size.shown_type, size.type) == ("int | str | None", int | str | None)
    assert (size.default, size.keyword_only) == (None, True)
    assert [each.help for each in size.metadata if isinstance(each, Argument)] == ["A, B [C]."]


def test_types_may_be_evaluated() -> None:
    argument = Argument(help="A name.")
    name, size = parameters(make_dataclass("OfTypes", [("name", Annotated[str, argument]), ("size", int, 5)]))
    assert (name.shown_type, name.type, [*name.metadata]) == (str, str, [argument])
    assert (size.shown_type, size.type, [*size.metadata], size.default) == (int, int, [], 5)


# The command line


def test_a_command_has_the_types_that_typer_parses() -> None:
    hints = get_type_hints(with_common_options(run))
    expected = {
        "inputs": list[str],
        "config": list[Path] | None,
        "output": str | None,
        "settings": list[str] | None,
        "mode": Literal["error", "append", "overwrite"],
        "dry_run": bool,
        "settle": float | None,
        "split_size": str | None,
        "progress": bool | None,
        "report": Path | None,
    }
    assert {name: hints[name] for name in expected} == expected
    assert not {"spark", "warn", "request"} & set(hints)


def test_an_option_of_the_command_alone_is_not_the_argument_of_python_with_its_name() -> None:
    """`--progress` is a flag, and `progress` of Python a function."""
    made = CommandParameters(run)
    given = {each.name: each.default for each in made.parameters} | {"inputs": ["in"], "progress": True, "to": "xml"}
    arguments = made.arguments(given)
    request = arguments.pop("request")
    assert arguments == {"report": None, "open_report": False, "progress": True}
    assert (request.inputs, request.to, request.progress) == (["in"], "xml", None)


@pytest.mark.parametrize("name", [command.name for command in app.registered_commands])
def test_a_command_alone_is_the_same(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert [each.name for each in app_for([name, "-h"]).registered_commands] == [name]
    assert main([name, "--help"]) == 0
    alone = capsys.readouterr().out
    with pytest.raises(SystemExit):
        app([name, "--help"], prog_name="ggfmt")
    assert capsys.readouterr().out == alone


def test_flags_before_a_command_do_not_make_all_commands() -> None:
    assert [each.name for each in app_for(["-v", "--quiet", "run"]).registered_commands] == ["run"]


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--log-level", "run"], ["nothing"], ["-V", "run"]])
def test_all_commands_are_there_where_none_is_named_first(arguments: list[str]) -> None:
    assert app_for(arguments) is app
