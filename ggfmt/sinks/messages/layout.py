"""Where the files of a handler are, below its directory: as ggfmt lays them out, or as templates say.

A name that a template makes goes through the same escapes as the name of a table: no part of it leaves the directory,
is hidden, or is longer than file systems take. Two tables, or two partitions of one, that get one name are found by
whoever gives names (`file_name_conflict_error`), and refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from ggfmt.commit.names import FILE_NAME_BYTES, NAME_BYTES, NUMBER_BYTES, FileLocation, plain_place, safe_name, stamp
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.java.time_limit import TimeLimitError, time_limit
from ggfmt.model.table import TableDef
from ggfmt.options.table_keys import Keys
from ggfmt.options.template_pieces import DATA_SLASH, NUMBER, MissingValueError, NameContext, Value
from ggfmt.options.templates import NameTemplate

PATH_BYTES = 900  # object stores take names of 1,024 bytes, of which the output directory has some
MOST_SECONDS = 10  # for the expressions of a template and one name
_HELP = "change `pathMappingTemplate` or `fileNameMappingTemplate`"

Partition = tuple[Value, ...]


@dataclass(frozen=True)
class Layout:
    """`path` and `file` are templates, None for ggfmt's own names, which end with `suffix`. `partitions` has the
    columns by whose values the rows of a table go to files of their own, by full name."""

    suffix: str
    path: NameTemplate | None = None
    file: NameTemplate | None = None
    partitions: Keys = ()
    group: str = ""

    @property
    def has_templates(self) -> bool:
        return self.path is not None or self.file is not None

    def columns(self, table: str) -> tuple[str, ...]:
        return dict(self.partitions).get(table, ())

    def place(self, table: TableDef | None, moment: datetime, partition: Partition = ()) -> FileLocation:
        """Where the files of a table (None: of all tables) are, or of a partition of it. Abend GG515 if the templates
        make no name for them, GG516 if there is none for a value of the partition."""
        name = "" if table is None else table.full_name
        place = plain_place(name, stamp(moment), self.suffix)
        if not self.has_templates:
            return place
        parts = () if table is None else table.parts
        columns = (column.upper() for column in self.columns(name))
        facts = NameContext(moment, name, parts, self.group, dict(zip(columns, partition, strict=True)))
        span = Span(table=name or None)
        try:
            with time_limit(MOST_SECONDS):
                if self.path is not None:
                    place = replace(place, directory="/".join(_directories(self.path.show(facts))))
                if self.file is not None:
                    place = _named(place.directory, self.file.show_numbered(facts))
        except MissingValueError as error:
            raise Abend(Diagnostic("GG516", str(error), span, error.help)) from None
        except InvalidValueError as error:
            raise Abend(Diagnostic("GG515", str(error), span, error.help or _HELP)) from None
        except TimeLimitError:
            message = f"a regular expression of a template takes more than {MOST_SECONDS} seconds"
            help = "write it so that a text can match in one way only"
            raise Abend(Diagnostic("GG515", message, span, help)) from None
        size = len(place.path.encode()) + NUMBER_BYTES + 1
        if size > PATH_BYTES:
            message = f"the templates make a path of {size:,} bytes: ggfmt writes {PATH_BYTES:,}"
            raise Abend(Diagnostic("GG515", message, span, _HELP))
        return place


def _directories(path: str) -> list[str]:
    """The names of directories on a path; one that starts elsewhere is taken as one that starts here."""
    return [safe_name(_with_slashes(part)) for part in path.split("/") if part not in ("", ".")]


def _named(directory: str, text: str) -> FileLocation:
    stem, _, ending = text.partition(NUMBER)
    if not stem:
        raise InvalidValueError("`fileNameMappingTemplate` makes an empty name")
    ending = safe_name(_with_slashes(ending)[1:]) if ending else ""
    ending = f".{ending}" if ending else ""
    room = FILE_NAME_BYTES - NUMBER_BYTES - 1 - len(ending.encode())
    return FileLocation(directory, safe_name(_with_slashes(stem), min(NAME_BYTES, room)), ending)


def _with_slashes(text: str) -> str:
    return text.replace(DATA_SLASH, "/")


def file_name_conflict_error(
    one: tuple[str, Partition], other: tuple[str, Partition], columns: tuple[str, ...], path: str
) -> Abend:
    """GG514 for two tables, or two partitions of a table, whose files would have one name."""
    shown = visible(path)
    if one[0] != other[0]:
        message = f"the tables `{one[0]}` and `{other[0]}` would be in one file, `{shown}`"
        help = f"{_HELP}: `${{fullyQualifiedTableName}}` tells tables apart"
    else:
        names = ", ".join(f"`{column}`" for column in columns)
        message = f"rows that differ in {names} would be in one file, `{shown}`"
        help = f"{_HELP}, so that different values stay different"
    return Abend(Diagnostic("GG514", message, Span(table=other[0]), help))
