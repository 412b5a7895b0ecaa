"""What every format owes, declared format by format: a module of this package has the contracts of one system.

`contract_of` finds it by the package of the format, so that a new system is a new module here and nothing else. It is
loaded when it is first asked for: one that cannot be loaded is a failure of its formats alone. `rules` has what is
asked of every contract, and `tests/contract/test_contract.py` asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from dialects import ALL_SHOWN
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import Changes, table_def

from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.model.table import TableDef

Texts = Mapping[str, str]  # options as a properties file gives them, by the names of properties


@dataclass(frozen=True)
class Case:
    """Operations, and the options by which they are written; `told` has those that only the reader gets.
    `defined`: the reader has the definition of the table from elsewhere."""

    changes: Changes
    options: Texts = field(default_factory=dict)
    told: Texts = field(default_factory=dict)
    context: Context = ALL_SHOWN
    defined: bool = False

    @property
    def operations(self) -> list[PlainOperation]:
        return self.changes.operations

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.changes.table.columns)

    @property
    def definition(self) -> TableDef:
        return table_def(self.changes.table)


@dataclass(frozen=True)
class Recorded:
    """A file of other people's messages: its path below the recorded data, and what is in it.

    `operations` has a letter for each, in input order; `others` counts the records that are none by kind; `reasons` are
    those of rejects.
    """

    path: str
    operations: str
    others: Mapping[str, int] = field(default_factory=dict)
    reasons: Sequence[str] = ()
    options: Texts = field(default_factory=dict)


def as_it_is(case: Case) -> TableDef:
    return case.definition


def column_names(case: Case, table: TableDef) -> Any:
    return table.column_names


def names_and_keys(case: Case, table: TableDef) -> Any:
    return table.column_names, table.primary_keys


def names_kinds_and_keys(case: Case, table: TableDef) -> Any:
    return [(column.name, column.type.kind, column.key) for column in table.columns]


def whole(case: Case, table: TableDef) -> Any:
    return table


def nothing(case: Case, table: TableDef) -> Any:
    return None


@dataclass(frozen=True)
class Contract:
    """One format.

    cases     operations that it can show, with options
    shown     of a case, the operations as they are read back: less what the format does not show
    table     of a case, the definition that is read back; `told` picks the parts that messages have. That columns are
              among those of the definition is asked in any case
    transactions  the names of the tokens that are ids of transactions too; the first one that is not empty counts
    truncates  a truncate has a form
    records   messages as they are between `frame`s, by hand: the first `base` of them describe the others.
        Together, after `head`, they are a file
    told_of_records  options that the records are read with
    table_of_records  their definition, where the data do not have it
    isolated  a damaged record harms no other: the frames are found again
    texts     records are JSON objects
    recorded  files of other people's messages
    alone     a case is taken for what it is, by its records alone
    made      the file of a case, of a format that ggfmt does not write
    """

    cases: st.SearchStrategy[Case]
    shown: Callable[[Case], list[PlainOperation]]
    records: Sequence[bytes]
    told: Callable[[Case, TableDef], Any] = nothing
    table: Callable[[Case], TableDef] = as_it_is
    transactions: Sequence[str] = ()
    truncates: bool = True
    base: int = 0
    head: bytes = b""
    frame: Callable[[bytes], bytes] = lambda record: record + b"\n"
    told_of_records: Texts = field(default_factory=dict)
    table_of_records: TableDef | None = None
    isolated: bool = True
    texts: bool = True
    recorded: Sequence[Recorded] = ()
    alone: Callable[[Case], bool] = lambda case: True
    made: Callable[[Case], bytes] | None = None
    name: str = ""

    def file(self, *records: bytes) -> bytes:
        return self.head + b"".join(map(self.frame, records))


def contract_of(name: str) -> Contract:
    """The contract of a format: of `ggfmt.formats.canal.read` it is in `contract.canal`."""
    format = FORMATS[name]
    module = format.reads or format.writes
    assert module is not None, "a format is read, or written, or both"
    contracts: Mapping[str, Contract] = import_module(f"{__name__}.{module.split('.')[-2]}").CONTRACTS
    return replace(contracts[name], name=name)
