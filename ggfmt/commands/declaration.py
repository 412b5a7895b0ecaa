"""Declare the arguments of a command once: as the fields of a dataclass, its request.

A field has a name, a Python type, a default, and what the command line needs besides: an `Option` or an `Argument`.
`ggfmt.commands.api` makes the Python function of a request, `ggfmt.cli.typer_commands` the parameters of its command.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from ggfmt.dataclasses import KW_ONLY, MISSING, dataclass, fields

P = ParamSpec("P")
T = TypeVar("T")

_ANNOTATED = "Annotated["
Panel = Literal["Input", "Handlers", "Output", "Kafka", "Spark", "Display", "Checks", "Fixes", "Logging"]


class Argument:
    """A value without a name on the command line.

    panel     the part of the help that lists it
    complete  the function of `ggfmt.cli.completion` that offers values
    file      a file of this machine; other paths may be URIs
    multiple  whether it may be repeated; None: if the Python type has a sequence
    min       the least number
    required  on the command line, although Python has a default
    """

    def __init__(
        self,
        *names: str,
        metavar: str | None = None,
        help: str = "",
        panel: Panel | None = None,
        complete: str | None = None,
        file: bool = False,
        multiple: bool | None = None,
        min: int | None = None,
        required: bool = False,
    ) -> None:
        self.names, self.metavar, self.help, self.panel = names, metavar, help, panel
        self.complete, self.file, self.multiple, self.min, self.required = complete, file, multiple, min, required


class Option(Argument):
    """A value with a name on the command line: `--NAME` as the parameter is called, or `names`."""


class PythonOnly:
    """An argument that the command line does not have."""


@dataclass(eq=False, repr=False)
class OldName:
    """The name in Python that an argument had in earlier releases. It goes on working, with a warning.

    value  the word that the option of this name stood for, if it was a flag
    """

    name: str
    value: str | None = None

    @property
    def option(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@dataclass(eq=False, repr=False)
class After:
    """The place of an option in the help of the command: after the one of this name."""

    name: str


@dataclass(eq=False, repr=False)
class Parameter:
    """A parameter that a field of a request or a function declares.

    `type` has Any for names that only type checkers import; `default` may be `inspect.Parameter.empty`.
    """

    name: str
    type: Any
    default: Any
    metadata: Sequence[object]
    annotation: Any = None
    keyword_only: bool = False

    @property
    def argument(self) -> Argument | None:
        """Return what the command line needs; None if it does not have the parameter."""
        return next((each for each in self.metadata if isinstance(each, Argument)), None)

    @property
    def old(self) -> OldName | None:
        return next((each for each in self.metadata if isinstance(each, OldName)), None)

    @property
    def option(self) -> str:
        names = self.argument.names if self.argument is not None else ()
        return names[-1] if names else f"--{self.name.replace('_', '-')}"

    @property
    def shown_type(self) -> Any:
        if not isinstance(self.annotation, str):
            return self.type
        if not self.annotation.startswith(_ANNOTATED):
            return self.annotation
        annotated = ast.parse(self.annotation, mode="eval").body
        assert isinstance(annotated, ast.Subscript) and isinstance(annotated.slice, ast.Tuple)
        return ast.unparse(annotated.slice.elts[0])


@cache
def parameters(request: type) -> tuple[Parameter, ...]:
    """List the fields of a request in order, keyword-only fields last."""
    owners = {name: owner for owner in reversed(request.__mro__) for name in inspect.get_annotations(owner)}
    found = []
    for field in fields(request):
        type_, metadata = type_and_metadata(field.type, sys.modules[owners[field.name].__module__])
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        found.append(Parameter(field.name, type_, default, metadata, field.type, bool(field.kw_only)))
    return tuple(sorted(found, key=lambda each: each.keyword_only))


def type_and_metadata(annotation: Any, module: ModuleType) -> tuple[Any, Sequence[object]]:
    """Evaluate an annotation of a module, and split it where it is `Annotated`."""
    if not isinstance(annotation, str):
        metadata = getattr(annotation, "__metadata__", ())
        return annotation.__origin__ if metadata else annotation, metadata
    if not annotation.startswith(_ANNOTATED):
        return _evaluated(annotation, module), ()
    type_, *metadata = _evaluated(annotation[len(_ANNOTATED) : -1], module)  # `Annotated[...]` itself is slow to make
    return type_, metadata


def _evaluated(expression: str, module: ModuleType) -> Any:
    code = compile(expression, module.__name__, "eval")
    names = vars(module)
    unknown = [name for name in code.co_names if name not in names and not hasattr(builtins, name)]
    return eval(code, {**names, **dict.fromkeys(unknown, Any)} if unknown else names)


def settings_from(request: object, settings: Callable[P, T]) -> Callable[P, T]:
    """Return a constructor of settings that takes fields of the same name and type from the request."""
    plain = {name: getattr(request, name) for name in shared_fields(type(request), settings)}

    def make(*args: P.args, **kwargs: P.kwargs) -> T:
        return settings(*args, **{**plain, **kwargs})

    return make


def shared_fields(request: type, settings: Any) -> list[str]:
    types = {field.name: field.type for field in fields(settings)}
    return [each.name for each in parameters(request) if each.name in types and types[each.name] == each.shown_type]


INPUTS = Argument(
    metavar="INPUT",
    help="Files, directories or globs; .gz, .bz2, .xz and .zst are read. `-`: standard input. A topic of Kafka: "
    "`kafka://BROKER/TOPIC`.",
)
CHANGES_AND_DATABASE = Argument(
    metavar="INPUT... DATABASE",
    help="Change files, as of `ggfmt consolidate`, and the URL of a PostgreSQL or MariaDB.",
)
CONFIG = Option(
    "-c", "--config", metavar="FILE", file=True, panel="Handlers", help="A GoldenGate handler file (Java properties)."
)
REPLICAT = Option(
    metavar="FILE",
    file=True,
    panel="Handlers",
    help="The parameter file of a Replicat, `dirprm/NAME.prm`: its MAPs, and its handler file unless `-c` is given.",
)
SETTINGS = Option(
    "--set",
    metavar="KEY=VALUE",
    panel="Handlers",
    complete="settings",
    help="Set a property, as a line of the handler file does.",
)
TO = Option(
    metavar="FORMAT",
    panel="Handlers",
    complete="written_formats",
    help="Use the handler that `ggfmt init FORMAT` creates, instead of `-c`.",
)
HANDLERS = Option(
    "--handler",
    metavar="NAME",
    panel="Handlers",
    complete="handlers",
    help="Use only this handler of `gg.handlerlist`.",
)
DEFINITIONS = Option(
    metavar="FILE|URL",
    panel="Input",
    help="Table definitions: DEFGEN, SQL, JSON schema, .avsc, CSV header, or `postgresql://...`.",
)
INPUT_FORMAT = Option(metavar="ID", panel="Input", complete="input_formats", help="`auto`, or the id of a format.")
INPUT_CONFIG = Option(
    metavar="FILE", file=True, panel="Input", help="The handler file that the input was written with."
)
INPUT_OPTIONS = Option(
    "--input-option",
    metavar="NAME=VALUE",
    panel="Input",
    help="A property of the format that the input was written with.",
)
SCHEMA_REGISTRY = Option(
    metavar="URL|DIR", panel="Input", help="The registry of Avro schemas with ids, or a directory of files `<id>.avsc`."
)
PRODUCER_CONFIG = Option(
    metavar="FILE", file=True, panel="Kafka", help="A file with properties of a Kafka client, such as its security."
)
STAGING = Option(
    metavar="DIR",
    panel="Kafka",
    help="A directory for messages on their way to or from Kafka. On a cluster, all workers must reach it. Default: a "
    "temporary directory.",
)
ALLOW_EMPTY = Option(panel="Input", help="Also run without an input file.")
CHECKPOINT = Option(
    metavar="DIR", panel="Input", help="Read only input that no earlier run with this DIR has read; add to the output."
)
SETTLE = Option(
    metavar="SECONDS",
    min=0,
    panel="Input",
    help="With `--checkpoint`: skip files that were just written to, and all files after them.",
)
MAX_FILES = Option(
    metavar="N", min=1, panel="Input", help="With `--checkpoint`: commit after so many files, until nothing is left."
)
MAX_BYTES = Option(
    metavar="BYTES", panel="Input", help="With `--checkpoint`: commit after files of this size, such as `10g`."
)
RESUME = Option(panel="Output", help="Keep finished work in case the run dies, also below 1 GB of input.")
FRESH = Option(panel="Output", help="Remove what an interrupted run has kept, and start again.")
CURRENT_TIMESTAMP = Option(
    metavar="TS", panel="Handlers", help="Use one `current_ts` for all messages, so that a run is repeatable."
)
MODE = Option(panel="Output", help="What to do with existing output.")
TABLES = Option("--table", metavar="PATTERN", panel="Input", help="Only tables with these names: `ORDERS`, `GG.*`.")
EXCLUDE = Option(metavar="PATTERN", panel="Input", help="Leave out tables with these names.")
COLUMNS = Option(
    metavar="TABLE=COLUMNS", multiple=False, panel="Input", help="Only these columns: `S.A=ID,NAME;S.B=ID`."
)
MASK = Option(
    metavar="TABLE.COLUMN=MASK", panel="Input", help="Hide the values of a column: `null`, `hash` or `fixed:TEXT`."
)
MASK_KEY = Option(
    metavar="FILE", file=True, panel="Input", help="The key of hashes; default: the variable GGFMT_MASK_KEY."
)
ON_REJECT = Option(panel="Output", help="Stop at a bad record, or set it aside and go on.")
KEY = Option(metavar="KEY", multiple=False, help="`ID` for all tables, or `S.A=ID;S.B=ID,LINE`.")
ORDER = Option(help="How to order operations.")
TYPES = Option("--type", metavar="TABLE.COLUMN=TYPE", help="The type of columns, such as `*.PRICE=string`.")
STARTS_EMPTY = Option(help="Assume that the tables had no rows before the first operation in the input.")
TABLE_ERRORS = Option(
    panel="Checks", help="What to do if a table cannot go on: stop, or leave its changes to the next run."
)
TABLE = Option(metavar="NAME", panel="Display", help="Only this table, in full or by the last part of its name.")
JOB = Option(
    metavar="NAME",
    panel="Kafka",
    help="The name under which the cluster remembers what was sent; default: from inputs and settings.",
)
CREATE_TOPICS = Option(
    metavar="PARTITIONS[:REPLICATION]", panel="Kafka", help="Make missing topics. Default: a missing topic is an error."
)
RATE = Option(metavar="N", panel="Kafka", help="Send at most so many messages in a second: `500`, or `500/s`.")
PACE = Option(
    metavar="FACTOR",
    panel="Kafka",
    help="Send messages as far apart as their changes were (`1x`), or faster (`10x`); at most 7 days.",
)
MAX_GAP = Option(
    metavar="DURATION",
    panel="Kafka",
    help="With `--pace`: wait at most so long between messages: `500ms`, `30s`, `5m`.",
)
ATOMIC = Option(panel="Kafka", help="Send all messages in one transaction.")
TIMESTAMPS = Option(
    panel="Kafka", help="The time of a message: of sending (`now`), or of its change, in UTC (`op_ts`)."
)
HEADERS = Option(panel="Kafka", help="Add the headers `ggfmt.job`, `ggfmt.run` and `ggfmt.sequence` to messages.")
TOMBSTONES = Option(panel="Kafka", help="Send a message with the key and without a value after each delete.")

REMOTE = Option(metavar="URL", panel="Spark", help="A Spark Connect server, `sc://HOST:PORT`, instead of a master.")
SPARK_CONF = Option(metavar="KEY=VALUE", panel="Spark", help="A Spark property.")
JAVA_HOME = Option(metavar="DIR", panel="Spark", help="The Java to run Spark on.")
SPLIT_SIZE = Option(metavar="BYTES", panel="Spark", help="The input size of one task, for example `64m`.")
MAX_RECORD = Option(metavar="BYTES", panel="Spark", help="The longest record; default: `64m`.")

CSV = Option(panel="Input", help="Read CSV of any program: `--input-format csv`.")
AS = Option("--as", panel="Input", help="Read CSV or JSON without operations: each row is an insert.")
OP_COLUMN = Option(metavar="COLUMN", panel="Input", help="The column of CSV or JSON with the type of the operation.")
OP_TS_COLUMN = Option(metavar="COLUMN", panel="Input", help="The column with the time of the operation.")
KEY_OF_INPUT = Option(
    "--key", metavar="KEY", multiple=False, panel="Input", help="`ID` for all tables, or `S.A=ID;S.B=ID,LINE`."
)
REPORT = Option(metavar="FILE", panel="Output", help="Write a report: a page if FILE ends in `.html`, else JSON.")
OPEN = Option("--open", panel="Output", help="Open the page in the browser, if this is a terminal with a display.")
PROGRESS = Option("--progress/--no-progress", panel="Logging", help="Show a progress bar. Default: only on a terminal.")


@dataclass(frozen=True, eq=False, repr=False)
class RowArguments:
    """How rows of CSV and JSON are operations."""

    _: KW_ONLY
    csv: Annotated[bool, CSV, After("input_format")] = False
    as_: Annotated[Literal["inserts"] | None, AS, After("csv")] = None
    op_column: Annotated[str | None, OP_COLUMN, After("as_")] = None
    op_ts_column: Annotated[str | None, OP_TS_COLUMN, After("op_column")] = None


@dataclass(frozen=True, eq=False, repr=False)
class KeyedRowArguments(RowArguments):
    """The same for a command that uses keys for nothing else."""

    _: KW_ONLY
    key: Annotated[str | None, KEY_OF_INPUT, After("op_ts_column")] = None
