"""The declaration of a format: its id, its options, and in which modules its parts are.

Declarations are light, so that a handler file can be checked without loading Arrow: the modules that format and read
are loaded when they are first asked for. One `Format` record in a module's `FORMATS`, and an import line in
`ggfmt.formats`, make a format known; the module named by `writes` has a `WRITE_SIDES` and the one named by `reads` an
`READ_SIDES`, by the ids of formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from ggfmt.formats.api.loss import Loss
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
