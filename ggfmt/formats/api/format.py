"""The declaration of a format: its id, its options, and in which modules its parts are. Declarations are light, so
that a handler file can be checked without loading Arrow: the modules that format and read are loaded when they are
first asked for. One `Format` record in a module's `FORMATS`, and an import line in `ggfmt.formats`, make a format
known; the module named by `writes` has a `WRITE_SIDES` and the one named by `reads` an `READ_SIDES`, by the ids of
formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ggfmt.formats.api.losses import Loss
from ggfmt.options.releases import FIRST_RELEASE
from ggfmt.options.spec import Options

if TYPE_CHECKING:
    from ggfmt.formats.api.reading import ReadSupport
    from ggfmt.formats.api.writing import WriteSupport


@dataclass(frozen=True)
class Format:
    """One format by its id.

    writes       the module that writes it; None if it cannot be written
    reads        the module that reads it; None if it cannot be read
    marks        an input of this format has one of these in its first bytes; none: it cannot be recognised
    schema_kind  what kind of schemas it has: a key of `ggfmt schema --kind`; None for none
    schema_in_run  a run writes the schemas; otherwise they are for `ggfmt schema` alone
    losses       what of operations the messages do not show; those of single values are counted where they happen
    by_table     a file can hold one table only, and one definition of it
    handler_type  the type of GoldenGate's handlers that write it without a formatter: its properties are theirs
    times_in_utc  its times of operations are in UTC; otherwise they are local times of the source, without a zone
    since        the release of GoldenGate that it came with, for a format of GoldenGate
    proposed     what a new handler file sets otherwise than by default: lines of it, less `gg.handler.<name>.`
    """

    name: str
    doc: str
    options: type[Options]
    writes: str | None = None
    reads: str | None = None
    marks: tuple[bytes, ...] = ()
    schema_kind: str | None = None
    schema_in_run: bool = True
    losses: tuple[Loss, ...] = ()
    by_table: bool = False
    handler_type: str = ""
    times_in_utc: bool = False
    since: str = FIRST_RELEASE
    proposed: tuple[str, ...] = ()

    @cached_property
    def write_support(self) -> WriteSupport:
        """What writes the format. It is a mistake to ask for it if `writes` is None."""
        assert self.writes is not None
        side: WriteSupport = import_module(self.writes).WRITE_SIDES[self.name]
        return side

    @cached_property
    def read_support(self) -> ReadSupport:
        """What reads the format. It is a mistake to ask for it if `reads` is None."""
        assert self.reads is not None
        side: ReadSupport = import_module(self.reads).READ_SIDES[self.name]
        return side


# What formats are told beside their own options: by the handler, by the run, and of whoever wrote an input.


@dataclass(frozen=True)
class Context:
    """What a format is told beside its own options, by the handler and by the run.

    `release` is the release of GoldenGate whose mapping of types is followed (`ggfmt.compatibility`), `codec` the
    compression of object container files. `variables` has the texts that templates of the handler name.
    `timestamp_mask` is the mask of times in columns (`gg.format.timestamp`), empty if there is none.
    """

    include_tokens: bool = False
    release: str = "12.2"
    codec: str = "null"
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    timestamp_mask: str = ""


@dataclass(frozen=True)
class Projection:
    """What the formatters of a run ask of the reader, so that it decodes no more.

    `row_only`: the before image of an update is asked for only as far as a primary key update must be seen.
    `in_order`: tables share a file, so that no operation may be held back over the end of a chunk or over a metadata
    change event.
    """

    row_only: bool = False
    key_updates: bool = False
    tokens: bool = False
    in_order: bool = False

    def __or__(self, other: Projection) -> Projection:
        return Projection(
            self.row_only and other.row_only,
            self.key_updates or other.key_updates,
            self.tokens or other.tokens,
            self.in_order or other.in_order,
        )


@dataclass(frozen=True)
class WriterSettings:
    """How the input was written, where it does not say so itself: by the options and the context of the handler that
    wrote it; `options` None stands for a format's defaults. `facts` is what the discovery pass learned of the whole
    input besides its tables; `given` has options as texts by name, which override the others."""

    options: Any = None
    context: Context = field(default_factory=Context)
    facts: Mapping[Any, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)


DEFAULT_SETTINGS = WriterSettings()
