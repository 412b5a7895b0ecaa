"""A manifest as typed values: what `publish` writes, and what earlier versions of ggfmt wrote less of.

Members that are not known are left out. `ggfmt docs output` says what each member is.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from ggfmt.commit.records import CONSOLIDATION_MEMBER, RunRecord
from ggfmt.commit.store import Store
from ggfmt.commit.timeline import STEPS
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError

LAYOUT = 1  # of manifests; a greater one may hold what this ggfmt does not know of
NEWER_LAYOUT_HELP = "use the ggfmt that wrote it, or a later one"

Count = Annotated[int, Meta(ge=0, le=2**62)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Operations = dict[str, Count]  # by type


class InputFile(Struct, frozen=True):
    path: str
    bytes: Count = 0


class Handler(Struct, frozen=True, rename="camel"):
    """The settings of a handler; `options` are those that differ from their defaults, as properties have them."""

    format: str
    include_tokens: bool = False
    options: dict[str, str] = field(default_factory=dict)


class OutputFile(Struct, frozen=True):
    """A file of messages, of one `table` or of all (empty); or one of `rejects`."""

    handler: str
    path: str
    table: str | None = None
    operations: Count = 0
    rejects: Count | None = None
    bytes: Count = 0
    first_position: str | None = None
    last_position: str | None = None


class SchemaFile(Struct, frozen=True):
    path: str
    bytes: Count = 0


class LossCount(Struct, frozen=True):
    """So many values of a column that a handler could not show as they were."""

    table: str
    column: str
    values: Count
    what: str
    loss: str = ""
    code: str = ""


class LossKind(Struct, frozen=True):
    loss: str
    what: str


class HandlerTotals(Struct, frozen=True):
    messages: Count = 0
    extra_messages: Count = 0
    left_out: Count = 0
    files: Count = 0
    bytes: Count = 0
    rejects: dict[str, Count] = field(default_factory=dict)
    lost_characters: Count = 0
    not_shown: list[LossKind] = field(default_factory=list)
    losses: list[LossCount] = field(default_factory=list)


class OperationsByTime(Struct, frozen=True):
    step: Literal[tuple(STEPS)]  # type: ignore[valid-type]
    times: dict[str, Operations]
    untimed: Operations = field(default_factory=dict)


class Totals(Struct, frozen=True):
    operations: dict[str, Operations] = field(default_factory=dict)
    operations_read: Count = 0
    operations_by_time: OperationsByTime | None = None
    records_rejected_by_reader: Count = 0
    other_records: dict[str, Count] = field(default_factory=dict)
    unknown_members: dict[str, Count] = field(default_factory=dict)
    input_bytes: Count = 0
    seconds: Seconds = 0
    seconds_in_tasks: Seconds = 0
    seconds_by_step: dict[str, Seconds] = field(default_factory=dict)
    handlers: dict[str, HandlerTotals] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class Manifest(Struct, frozen=True):
    """What a run read and wrote. `replaced` are handlers whose files later runs replaced."""

    ggfmt: str
    run: str
    totals: Totals
    time: str = ""
    mode: str = ""
    input_format: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    inputs: list[InputFile] = field(default_factory=list)
    handlers: dict[str, Handler] = field(default_factory=dict)
    files: list[OutputFile] = field(default_factory=list)
    schemas: list[SchemaFile] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)


def manifest_of(record: RunRecord, store: Store) -> Manifest:
    """The manifest of a record. UsageError GG560 if it is of rows; Abend GG561 if a later ggfmt wrote it, and GG562 if
    it is none."""
    place = Span(file=store.shown(record.place))
    if CONSOLIDATION_MEMBER in record.document:
        message = "the directory holds rows of `ggfmt consolidate`, and no run that has a report"
        raise UsageError(Diagnostic("GG560", message, place, "its manifest has the counts of all tables"))
    later = later_layout(record.document)
    if later is not None:
        raise Abend(Diagnostic("GG561", later, place, NEWER_LAYOUT_HELP))
    try:
        return msgspec.convert(record.document, Manifest)
    except msgspec.ValidationError as error:
        help = "restore it from a copy; `ggfmt verify` says whether the files are whole"
        raise Abend(Diagnostic("GG562", f"the manifest is damaged: {error}", place, help)) from None


def later_layout(document: dict[str, Any]) -> str | None:
    """That a manifest has a layout which this ggfmt does not know, in words; None if it knows it."""
    layout = document.get("layout", LAYOUT)
    if isinstance(layout, int) and layout <= LAYOUT:
        return None
    return f"the manifest is of a later ggfmt: {document.get('ggfmt')}, layout {layout}"
