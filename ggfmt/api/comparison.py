"""`ggfmt.compare`: the command of this name, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ggfmt.api import arguments
from ggfmt.api.arguments import Path, Properties

if TYPE_CHECKING:
    from ggfmt.comparison.comparison import Comparison
    from ggfmt.options.table_keys import Keys


def compare(
    a: Path,
    b: Path,
    key: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    table: str | None = None,
    ignore: str | Sequence[str] | None = None,
    csv_options: Properties = None,
    examples: int = 5,
) -> Comparison:
    """The rows of two places compared: whether they are the same, how many are not, and examples of those.

    The arguments are the options of `ggfmt compare`. `key` is a text as the command takes it, the columns of the key of
    every table, or those of each table by its name.

    Raises UsageError where there is nothing to compare or what is asked for makes no sense, Abend for a file that
    cannot be read. Differences are no errors.
    """
    from ggfmt.comparison.comparison import ComparisonOptions
    from ggfmt.comparison.comparison import compare as compare_places

    asked = ComparisonOptions(
        arguments.text(a) or "",
        arguments.text(b) or "",
        _keys(key),
        table,
        arguments.words(ignore),
        arguments.pairs(csv_options, "the option of CSV files", "`null=\\N`"),
        examples,
    )
    return compare_places(asked)


def _keys(key: str | Sequence[str] | Mapping[str, Sequence[str]] | None) -> Keys:
    from ggfmt.java.text import InvalidValueError
    from ggfmt.options.table_keys import EVERY_TABLE, parse_keys

    if key is None:
        return ()
    if isinstance(key, Mapping):
        return tuple((table, tuple(arguments.words(columns))) for table, columns in key.items())
    if not isinstance(key, str):
        return ((EVERY_TABLE, tuple(key)),)
    try:
        return parse_keys(key)
    except InvalidValueError as error:
        raise arguments.argument_error(f"the key {error}", error.help) from None
