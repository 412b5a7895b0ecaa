"""The codes of `ggfmt compare`."""

from __future__ import annotations

from ggfmt.diagnostics.code import Code, error, warning

CODES_OF_COMPARISON: dict[str, Code] = {
    "GG580": error(
        "a comparison that cannot be made",
        "`ggfmt compare` was asked for a table, a key, a column to ignore or an option of CSV files that there is not, "
        "or for columns without names beside others of another number.",
    ),
    "GG581": error(
        "a place without tables",
        "`ggfmt compare` reads directories that hold tables, directories of the files of one, and files. The directory "
        "has none of that, or is the output of `ggfmt run`, which holds messages.",
    ),
    "GG582": error(
        "a file of rows that cannot be read",
        "The file is damaged, is none of what its name says, is written otherwise than the options for CSV files tell, "
        "or has columns of other types than other files of its table.",
    ),
    "GG583": error(
        "rows that are not the same",
        "Of two sets of rows that are compared, some rows are in the first alone (missing), in the second alone "
        "(extra), or have other values under the same key (different).",
    ),
    "GG584": error("a table that one side does not have", "Of two places that are compared, one has the table alone."),
    "GG585": error(
        "columns that one side does not have",
        "Of two tables that are compared, one has a column alone. Columns belong together by their names; where a "
        "name is not there, by the name in any case.",
    ),
    "GG586": warning(
        "a key that is there more than once",
        "Rows of one side have the same key, so that it is not known which of them belongs to which of the other. They "
        "are compared as wholes: each is equal to a row of the other side, or is missing or extra.",
    ),
    "GG587": error(
        "no room for temporary files",
        "Tables that are larger than memory should hold are written to temporary files while they are compared.",
    ),
}
