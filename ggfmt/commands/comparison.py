"""`ggfmt.compare`: the command of this name, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from ggfmt.commands import arguments, declaration
from ggfmt.commands.arguments import Path, Properties
from ggfmt.commands.declaration import Argument, OldName, Option, settings_from
from ggfmt.dataclasses import dataclass

if TYPE_CHECKING:
    from ggfmt.comparison.comparison import Comparison


@dataclass(frozen=True, eq=False, repr=False)
class CompareRequest:
    """The rows of two places compared: whether they are the same, how many are not, and examples of those.

    The arguments are the options of `ggfmt compare`. `key` is a text as the command takes it, the columns of the key of
    every table, or those of each table by its name.

    Raises UsageError where there is nothing to compare or what is asked for makes no sense, Abend for a file that
    cannot be read. Differences are no errors.
    """

    a: Annotated[
        Path,
        Argument(
            metavar="A",
            help="A directory of tables, a directory of one table, a file, or the URL of a database such as "
            "`postgresql://USER@HOST/DATABASE`; see the page `comparing`.",
        ),
    ]
    b: Annotated[Path, Argument(metavar="B", help="The other side, for example an export of the database.")]
    key: Annotated[str | Sequence[str] | Mapping[str, Sequence[str]] | None, declaration.KEY] = None
    table: Annotated[str | None, declaration.TABLE] = None
    ignore_columns: Annotated[
        str | Sequence[str] | None,
        Option("--ignore-column", metavar="COLUMN", panel="Checks", help="Do not compare this column."),
        OldName("ignore"),
    ] = None
    csv_options: Annotated[
        Properties,
        Option("--csv-option", metavar="NAME=VALUE", help="An option for CSV files; `b.null=\\\\N`: for one side."),
    ] = None
    as_: Annotated[
        Literal["values", "text"],
        Option("--as", panel="Checks", help="Compare the meaning of values, or their exact text."),
    ] = "values"
    examples: Annotated[int, Option(metavar="N", min=0, help="How many rows of each kind to show for a table.")] = 5


def run_comparison(request: CompareRequest) -> Comparison:
    from ggfmt.comparison.comparison import ComparisonOptions
    from ggfmt.comparison.comparison import compare as compare_places

    options = settings_from(request, ComparisonOptions)(
        arguments.text(request.a) or "",
        arguments.text(request.b) or "",
        keys=arguments.keys(request.key),
        ignored=arguments.words(request.ignore_columns),
        csv=arguments.pairs(request.csv_options, "`--csv-option`", "`null=\\N`"),
    )
    return compare_places(options)
