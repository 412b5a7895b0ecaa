"""`ggfmt.consolidate`: what `ggfmt consolidate` does, for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ggfmt.api import arguments
from ggfmt.api.arguments import Path, Paths, Properties
from ggfmt.api.runners import choose_runner

if TYPE_CHECKING:
    from ggfmt.engine.progress import ProgressSnapshot
    from ggfmt.model.table import TableDef
    from ggfmt.options.table_keys import Keys

RowFormat = Literal["parquet", "csv", "json", "orc", "avro"]
RowOrder = Literal["auto", "position", "input"]
RowMode = Literal["error", "overwrite"]
Moment = str | datetime | None


def consolidate(
    inputs: Path | Sequence[Path],
    output: Path,
    to: RowFormat = "parquet",
    as_of: Moment = None,
    since: Moment = None,
    history: bool = False,
    changes: bool = False,
    base: Path | None = None,
    checkpoint: Path | None = None,
    settle: float | None = None,
    keep: str | Sequence[str] | None = None,
    primary_keys: str | None = None,
    order: RowOrder = "auto",
    types: Mapping[str, str] | Sequence[str] | None = None,
    strict: bool = False,
    mode: RowMode = "error",
    input_format: str = "auto",
    input_config: Path | None = None,
    input_options: Properties = None,
    definitions: Mapping[str, TableDef] | Paths = None,
    master: str | None = None,
    spark_conf: Properties = None,
    java_home: Path | None = None,
    split_size: int | str | None = None,
    max_record: int | str | None = None,
    remote: str | None = None,
    *,
    allow_empty: bool = False,
    spark: object | None = None,
    progress: Callable[[ProgressSnapshot], None] | None = None,
) -> dict[str, Any]:
    """Writes the rows of all tables in change files as they are after the last operation, as `ggfmt consolidate` does.

    The arguments are the options of `ggfmt consolidate`, with the same names, meanings and defaults. Those that
    `ggfmt.convert` has too are as there; `types` is a mapping of patterns, `keep` has one or several words, and moments
    may be times.

    The manifest, which is also in `_ggfmt/manifest.json`: by table its rows, and the files with their digests.

    Raises ConfigurationError for definitions, UsageError for what makes no sense, Abend where nothing was committed
    because of the data, and Committed where something failed after the commit.
    """
    from ggfmt.consolidation.asked import Asked, unusable
    from ggfmt.consolidation.run import ConsolidationSettings, execute
    from ggfmt.formats.api.reading import MAX_RECORD_BYTES

    if history and changes:
        raise unusable("a history and net changes are two results", "leave out one of `history` and `changes`")
    files, target = arguments.texts(inputs), arguments.text(output)
    assert target is not None
    runner = choose_runner(master, spark_conf, arguments.text(java_home), remote, spark)
    runner.check_reach(files, None)
    kept = [word.strip() for text in arguments.words(keep) for word in text.split(",")]
    asked = Asked(
        "history" if history else "changes" if changes else "current",
        _moment(as_of),
        _moment(since),
        arguments.check_choice("order", order, RowOrder),  # type: ignore[arg-type]
        frozenset(filter(None, kept)),
    )
    input_format, source = arguments.input_settings(input_format, input_config, input_options)
    wanted = ConsolidationSettings(
        inputs=files,
        output=target,
        asked=asked,
        to=arguments.check_choice("to", to, RowFormat),
        mode=arguments.check_choice("mode", mode, RowMode),
        strict=strict,
        base=arguments.text(base),
        allow_empty=allow_empty,
        checkpoint=arguments.text(checkpoint),
        settle=settle,
        keys=_keys(primary_keys),
        types=_types(types),
        input_format=input_format,
        source=source,
        definitions=arguments.tables(definitions, source),
        split_size=arguments.size(split_size, "the split size"),
        max_record=arguments.size(max_record, "the longest record") or MAX_RECORD_BYTES,
    )
    return execute(wanted, runner.start, progress)


def _moment(given: Moment) -> str | None:
    return given.isoformat() if isinstance(given, datetime) else given


def _keys(text: str | None) -> Keys:
    """Keys by table, or of all tables: `ID`, or `S.ORDERS=ID;S.LINES=ID,LINE`."""
    from ggfmt.java.text import InvalidValueError
    from ggfmt.options.table_keys import TableKeys

    if text is None:
        return ()
    try:
        return TableKeys().parse(text if "=" in text else f"*={text}")
    except InvalidValueError as error:
        raise arguments.argument_error(f"the primary keys {error}", error.help) from None


def _types(given: Mapping[str, str] | Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    return tuple((pattern.strip(), type.strip()) for pattern, type in _pairs(given))


def _pairs(given: Mapping[str, str] | Sequence[str] | None) -> Sequence[tuple[str, str]]:
    if isinstance(given, Mapping):
        return list(given.items())
    split = [text.rpartition("=") for text in arguments.words(given)]
    for pattern, equals, type in split:
        if not equals or not pattern or not type:
            raise arguments.argument_error(
                f"`{pattern}{equals}{type}` is not TABLE.COLUMN=TYPE", "for example `*.PRICE=string`"
            )
    return [(pattern, type) for pattern, _, type in split]
