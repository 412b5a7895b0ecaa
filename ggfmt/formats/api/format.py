"""The declaration of a format, and the settings that formats get from the handler, the run and the input's writer.

Declarations are light, so that ggfmt can check a handler file without loading Arrow: the modules that write and read
are loaded on first use. To add a format, put a `Format` record into a package's `FORMATS` and a line into
`ggfmt.formats`. The module that writes the format has `WRITE_SIDES` and the one that reads it has `READ_SIDES`, each by
the ids of formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.losses import Loss
from ggfmt.model.table import TableDef
from ggfmt.options.releases import FIRST_RELEASE
from ggfmt.options.spec import Options, choice, option
from ggfmt.options.value_types import Keys, TableKeys

if TYPE_CHECKING:
    from ggfmt.formats.api.reading import ReadSupport
    from ggfmt.formats.api.writing import WriteSupport

# The check of the names in messages: no record of a message has a name twice, and names are legal in its encoding.

AVRO_MAGIC = b"Obj\x01"  # the start of a container file
TEMPLATE = "metaColumnsTemplate"


class Name(NamedTuple):
    """A name in a message, and what it names, in words.

    property  the property of the format that sets it; empty if the format or the table does
    column    the column that it is made from; empty for none
    """

    text: str
    what: str
    property: str = ""
    column: str = ""


class NameProblem(NamedTuple):
    """Why messages cannot be written, and the properties that set the names; none if the table is the cause."""

    diagnostic: Diagnostic
    properties: Sequence[str]


Records = Iterable[Sequence[Name]]  # the names in each record, or object, of a message


def column_names(table: TableDef, flag: str = "", prefix: str = "", property: str = "") -> list[Name]:
    """Return the names of columns, each with those of its flag."""
    names = []
    for name in table.column_names:
        names.append(Name(prefix + name, "a column", property, name))
        if flag:
            names.append(Name(name + flag, f"the flag of `{name}`"))
    return names


def name_problem(records: Records, table: str, legal: Callable[[str], object] | None = None) -> NameProblem | None:
    """Return the first problem of the names in messages of a table. `legal`: whether a name is legal in Avro."""
    for record in records:
        seen: dict[str, Name] = {}
        for name in record:
            other = seen.setdefault(name.text, name)
            if legal is not None and not legal(name.text):
                message = f"`{name.text}`, the name of {name.what}, is not a legal Avro name"
            elif other is not name:
                message = f"messages would have the name `{name.text}` twice: for {other.what} and for {name.what}"
            else:
                continue
            involved = dict.fromkeys((other, name))
            properties = [each.property for each in involved if each.property]
            place = Span(table=table or None, field=name.column or other.column or None)
            code = "GG410" if legal is None else "GG206"
            return NameProblem(Diagnostic(code, message, place, _remedy(properties)), properties)
    return None


def _remedy(properties: Sequence[str]) -> str:
    if TEMPLATE in properties:
        return f"give the field another name in `{TEMPLATE}`: `${{keyword[name]}}`"
    if properties:
        return f"set another {' or '.join(f'`{property}`' for property in properties)}"
    return "set `gg.schemareplaceregex` and `gg.schemareplacestring` to replace the characters or the name"


@dataclass(frozen=True)
class Format:
    """A format by its id.

    schema_kind  kind of its schemas, a key of `ggfmt schema --kind`; None for none
    schema_in_run  a run writes the schemas; otherwise only `ggfmt schema` does
    names        the names in each record of messages that can be equal, by (options, context, table)
    legal_name   returns whether a name is legal in Avro; None if messages are not Avro
    losses       what the messages do not show of operations; losses of single values are counted where they happen
    by_table     a file can hold only one table, with one definition
    any_text     any rows fit the format, also changes in another format, which must not be read as such rows
    times_in_utc  times of operations are in UTC; otherwise they are local times of the source, without a zone
    since        release of GoldenGate that introduced the format, for a format of GoldenGate
    proposed     non-default lines of a new handler file, without `gg.handler.<name>.`
    writes, reads, handler_type  as in `ggfmt.formats.ENTRIES`, which sets them
    """

    name: str
    doc: str
    options: type[Options]
    schema_kind: str | None = None
    schema_in_run: bool = True
    names: Callable[[Any, Context, TableDef], Records] = lambda options, context, table: ()
    legal_name: Callable[[str], object] | None = None
    losses: tuple[Loss, ...] = ()
    by_table: bool = False
    any_text: bool = False
    times_in_utc: bool = False
    since: str = FIRST_RELEASE
    proposed: tuple[str, ...] = ()
    writes: str | None = None
    reads: str | None = None
    handler_type: str = ""

    @property
    def is_formatter(self) -> bool:
        """Whether it is a formatter of GoldenGate, which a handler chooses by `format`."""
        return self.options.of_goldengate and not self.handler_type

    def name_problem(self, options: Any, context: Context, table: TableDef | None = None) -> NameProblem | None:
        """Return why the names in messages of a table, or of any table, are unusable; None if they are not."""
        records = self.names(options, context, TableDef("T") if table is None else table)
        return name_problem(records, "" if table is None else table.full_name, self.legal_name)

    @cached_property
    def write_support(self) -> WriteSupport:
        assert self.writes is not None
        side: WriteSupport = import_module(self.writes).WRITE_SIDES[self.name]
        return side

    @cached_property
    def read_support(self) -> ReadSupport:
        assert self.reads is not None
        side: ReadSupport = import_module(self.reads).READ_SIDES[self.name]
        return side


@dataclass(frozen=True)
class Context:
    """Settings of the handler and the run that a format gets besides its own options.

    release         release of GoldenGate whose type mapping applies (`ggfmt.compatibility`)
    codec           compression of object container files
    variables       texts that templates of the handler refer to
    timestamp_mask  mask of times in columns (`gg.format.timestamp`), empty for none
    """

    include_tokens: bool = False
    release: str = "12.2"
    codec: str = "null"
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    timestamp_mask: str = ""


@dataclass(frozen=True)
class Projection:
    """What the formatters of a run need from the reader, which decodes no more.

    row_only   the before image of an update is needed only to detect primary key updates
    in_order   tables share a file, so that the reader must not hold back an operation at the end of a chunk or at a
               schema change
    transactions  batches have the ids of transactions, and the origins of positions, if the format has them
    statements  statements that drop or create tables are events
    batch_growth  batches have so many times the usual number of operations
    """

    row_only: bool = False
    key_updates: bool = False
    tokens: bool = False
    in_order: bool = False
    transactions: bool = False
    statements: bool = False
    batch_growth: int = 1

    def __or__(self, other: Projection) -> Projection:
        return Projection(
            self.row_only and other.row_only,
            self.key_updates or other.key_updates,
            self.tokens or other.tokens,
            self.in_order or other.in_order,
            self.transactions or other.transactions,
            self.statements or other.statements,
            min(self.batch_growth, other.batch_growth),
        )


@dataclass(frozen=True)
class WriterSettings:
    """How the input was written, as far as it does not describe this itself.

    options  options of the handler that wrote the input; None for the defaults of the format
    context  context of that handler
    facts    findings of the discovery pass about the whole input, besides its tables
    given    options as texts by name, which override the others
    """

    options: Any = None
    context: Context = field(default_factory=Context)
    facts: Mapping[Any, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)


DEFAULT_SETTINGS = WriterSettings()


ABSENT_MISSING, ABSENT_NULL = "missing", "null"


class DialectOptions(Options):
    """The base class of the options of formats that are not GoldenGate's."""

    of_goldengate: ClassVar[bool] = False


def absent_means_option() -> str:
    """Return the option that says whether an absent column is missing or NULL, for writers that may omit NULL."""
    return choice(
        "For reading: how to read a column that a row does not contain.",
        (ABSENT_MISSING, "as missing"),
        (ABSENT_NULL, "as NULL, because the writer of the messages omits NULL from whole rows"),
    )


def primary_keys_option() -> Keys:
    """Return the option for the primary keys of tables, for messages that do not contain them."""
    doc = "The primary keys of tables, for reading messages that do not contain keys."
    return option(TableKeys(), (), doc, example="GG.TCUSTORD=CUST_CODE,PRODUCT", since="")
