"""`ggfmt.preview`, `ggfmt.schema` and `ggfmt.lint`: the commands of these names, for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from ggfmt.api import arguments
from ggfmt.api.arguments import Path, Paths, Properties
from ggfmt.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from ggfmt.engine.preview.preview import Preview
    from ggfmt.formats.api.writing import SchemaFile
    from ggfmt.model.table import TableDef

SchemaKind = Literal["avro", "json", "xsd", "ddl"]


def preview(
    inputs: Path | Sequence[Path],
    config: Paths = None,
    count: int = 5,
    table: str | None = None,
    to: str | None = None,
    handlers: str | Sequence[str] | None = None,
    input_format: str = "auto",
    input_config: Path | None = None,
    input_options: Properties = None,
    definitions: Mapping[str, TableDef] | Paths = None,
    settings: Properties = None,
    current_timestamp: datetime | str | None = None,
    *,
    warn: Callable[[Sequence[Diagnostic]], None] = lambda _: None,
) -> Preview:
    """The first messages of each table as a run would write them; nothing is written, and no Spark is started.

    The arguments are the options of `ggfmt preview`, in the forms that `convert` takes. The messages of a table are
    among its items, with their bytes as `data`, and so are the diagnostics of rejects.

    Raises what `convert` raises.
    """
    from ggfmt.engine.preview.preview import PreviewSettings
    from ggfmt.engine.preview.preview import preview as look

    configuration = arguments.configuration(config, settings, handlers, to)
    warn(configuration.diagnostics)
    input_format, source = arguments.input_settings(input_format, input_config, input_options)
    wanted = PreviewSettings(
        inputs=arguments.texts(inputs),
        handlers=configuration.handlers,
        count=count,
        table=table,
        input_format=input_format,
        definitions=arguments.tables(definitions, source),
        current_timestamp=arguments.parse_timestamp(current_timestamp),
        own=configuration.run,
        source=source,
        replacements=configuration.replacements,
    )
    return look(wanted)


def schema(
    inputs: Path | Sequence[Path] | None = None,
    config: Paths = None,
    definitions: Mapping[str, TableDef] | Paths = None,
    settings: Properties = None,
    handlers: str | Sequence[str] | None = None,
    input_format: str = "auto",
    kind: SchemaKind | None = None,
    *,
    warn: Callable[[Sequence[Diagnostic]], None] = lambda _: None,
) -> list[SchemaFile]:
    """The schemas of the messages, each with the `name` of its file and its `content` in bytes, for the tables of
    `definitions` or those found in the inputs.

    The arguments are the options of `ggfmt schema`, in the forms that `convert` takes. Raises ConfigurationError where
    a schema cannot be made, UsageError where there is nothing to make one of.
    """
    from ggfmt.engine.schema import schemas

    configuration = None
    if arguments.texts(config) or arguments.lines(settings):
        configuration = arguments.configuration(config, settings, handlers, None)
        warn(configuration.diagnostics)
    wanted = None if kind is None else arguments.check_choice("kind", kind, SchemaKind)
    return schemas(arguments.texts(inputs), configuration, arguments.tables(definitions), input_format, wanted)


def lint(
    files: Path | Sequence[Path] | None = None,
    text: str | bytes | None = None,
    settings: Properties = None,
    name: str = "<text>",
) -> list[Diagnostic]:
    """All that `ggfmt validate-config` finds in handler files, or in the text of one, in order.

    `files` are files, directories of them, or globs; `name` is what a text is called in what is told of it. Settings of
    the linter in `ggfmt.toml` and `pyproject.toml` are not taken. Raises UsageError for a file that is not there.
    """
    import io

    from ggfmt.config.lint.files import find_sources
    from ggfmt.config.lint.linter import lint as check

    given = arguments.lines(settings)
    found: list[Diagnostic] = []
    if text is not None:
        found += check(text.encode() if isinstance(text, str) else text, name, settings=given)
    if arguments.texts(files):
        for source in find_sources(arguments.texts(files), io.BytesIO()).found:
            found += check(source.content, source.name, settings=given)
    return list(dict.fromkeys(found))
