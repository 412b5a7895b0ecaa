"""Lines of delimited text, looked through by a native kernel: it takes those that can be operations, and leaves the
others to who can tell what is wrong with them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ggfmt.formats.api.context import Context
from ggfmt.formats.goldengate.delimited import Cell, DelimitedOptions, Part
from ggfmt.formats.goldengate.metacolumn_roles import Roles
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.kernels import REFUSALS, native
from ggfmt.model.change import OP_TYPES
from ggfmt.model.table import TableDef

_PARTS = (Part.NAME, Part.BEFORE, Part.AFTER, Part.VALUE)  # by the number that the kernel has for each
_MOST_METADATA = 256
_MOST_COLUMNS = 1 << 17  # of all tables together: each takes some memory


class OddLine(NamedTuple):
    ordinal: int
    start: int
    end: int


def wanted_metadata(roles: Roles, tokens: bool) -> list[int]:
    """The places of the metadata columns of which a reader wants the texts."""
    wanted = [roles.micros if roles.op_ts is None else roles.op_ts, roles.position]
    if tokens:
        wanted += [place for place, _ in roles.single] if roles.tokens is None else [roles.tokens]
    return sorted({place for place in wanted if place is not None})


def regular_lines(
    options: DelimitedOptions, context: Context, tokens: bool, define: Callable[[str], TableDef | None]
) -> RegularLines | None:
    """What takes lines of some options; None where no kernel can."""
    metadata = options.metadata(context)
    step = 1 + options.include_meta_column_names
    roles = Roles.of(metadata)
    delimiters = options.field_delimiter and options.line_delimiter
    if native is None or not delimiters or roles.op is None or len(metadata) * step > _MOST_METADATA:
        return None

    def fields(places: Iterable[int]) -> tuple[int, ...]:
        """Those with the values of metadata columns."""
        return tuple(place * step + step - 1 for place in places)

    (op,) = fields([roles.op])
    # Of words that stand for several types the first one counts.
    letters = reversed([*zip(op_keys(options), OP_TYPES, strict=True)])
    try:
        scanner = native.DelimitedScanner(
            between=options.field_delimiter.encode(),
            behind=options.line_delimiter.encode(),
            null=options.null_value_representation.encode(),
            missing=options.missing_value_representation.encode(),
            quoted=options.wrap_strings_in_quotes,
            head=len(metadata) * step,
            op=op,
            name=fields(roles.name),
            slots=fields(wanted_metadata(roles, tokens)),
            kinds={word.encode(): letter.encode() for word, letter in letters},
        )
    except REFUSALS:
        return None
    return RegularLines(scanner, options.cells, define)


class RegularLines:
    """What a scanner of lines takes. `cells` are those of a table of so many columns; `define` has the definition of a
    table by the name that its lines have, None if it has none."""

    def __init__(
        self, scanner: Any, cells: Callable[[int], tuple[Cell, ...]], define: Callable[[str], TableDef | None]
    ) -> None:
        self._scanner = scanner
        self._cells = cells
        self._define = define
        self.tables: dict[str, TableDef] = {}
        self._numbers: dict[str, int] = {}
        self._columns = 0

    def scan(self, data: bytes, place: int, first: int) -> tuple[int, Sequence[OddLine]]:
        """Takes lines of UTF-8 from a place on, of which `first` is the ordinal of the first; the ordinal behind the
        last, and the lines that were not taken."""
        odd = array("q")
        ordinal = first
        while True:
            place, ordinal, noted, unknown = self._scanner.scan(data, place, ordinal)
            odd.frombytes(noted)
            if unknown is None:
                return ordinal, [OddLine(*odd[at : at + 3]) for at in range(0, len(odd), 3)]
            self._meet(unknown)

    def _meet(self, name: bytes) -> None:
        table = self._define(name.decode())
        cells = () if table is None else self._cells(len(table.columns))
        self._columns += len(cells)
        if table is None or not cells or self._columns > _MOST_COLUMNS:
            self._scanner.refuse(name)
            return
        fields = tuple((_PARTS.index(cell.part), cell.column) for cell in cells)
        both = any(cell.part is Part.BEFORE for cell in cells)
        try:
            number = self._scanner.bind(name, fields, len(table.columns), both)
        except REFUSALS:
            self._scanner.refuse(name)
            return
        self.tables[table.full_name] = table
        self._numbers[table.full_name] = number

    def held(self, table: str) -> int:
        """How many operations are held of a table."""
        number = self._numbers.get(table)
        return 0 if number is None else int(self._scanner.rows(number))

    def take(self, table: str) -> ScannedBatch:
        """The operations held of a table, of which there are some, and which are not held any more. Formats with one
        image alone have it in `after`."""
        return ScannedBatch.of(self._scanner.take(self._numbers[table]), False)
