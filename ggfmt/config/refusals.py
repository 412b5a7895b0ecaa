"""What a run refuses of a handler whose file is right for GoldenGate. A check finds it too, with the same codes."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ggfmt.config.handler_options import HandlerConfig, RunOptions, not_done
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.metacolumns import variables_of
from ggfmt.java.charsets import byte_order_mark, native_charset
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import TableDef
from ggfmt.options.spec import Options
from ggfmt.options.value_types import NATIVE, SchemaDirectory

SCHEME = lazy_regex(r"[A-Za-z][A-Za-z0-9+.-]+:")


# The codes of these findings that are not codes of handler files.
REFUSAL_CODES = ("GG206", "GG216", "GG410", "GG411", "GG515")


def refusals(config: HandlerConfig, run_options: RunOptions) -> Iterator[Diagnostic]:
    """Yield all that a run would refuse."""
    yield from layout_refusals(config, run_options)
    yield from variables(config, run_options)[1]
    yield from mask_refusals(config)
    yield from _schema_directories(config)
    yield from _codecs(config)
    # Names that the messages of every table have.
    context = Context(config.handler.include_tokens, run_options.compatibility)
    found = FORMATS[config.format].name_problem(config.options, context)
    if found is not None:
        given = [name for property in found.properties if (name := f"format.{property}") in config.entries]
        yield replace(found.diagnostic, span=config.place(next(iter(given), "")))


def layout_refusals(config: HandlerConfig, run_options: RunOptions) -> Iterator[Diagnostic]:
    """Yield GG515 for names of files that ggfmt does not make, and GG112 for a byte order mark that none can have."""
    for problem in not_done(config, run_options.group_name):
        prefix = "" if problem.property.startswith("gg.") else f"gg.handler.{config.name}."
        message = f"`{prefix}{problem.property}`: {visible(problem.message)}"
        yield Diagnostic("GG515", message, config.place(problem.property), problem.help)
    yield from _no_mark(config, run_options)


def with_charset(options: Options, native: str | None = None) -> Options:
    """Return options with a charset in place of `native`: this machine's, unless `native` names one."""
    if getattr(options, "encoding", None) != NATIVE:
        return options
    return replace(options, encoding=native or native_charset())  # type: ignore[call-arg]


def _no_mark(config: HandlerConfig, run_options: RunOptions) -> Iterator[Diagnostic]:
    if not config.handler.bom:
        return
    from ggfmt.formats.api.writing import TextFraming  # it loads Arrow, which a check does without

    options = with_charset(config.options)
    context = Context(config.handler.include_tokens, run_options.compatibility)
    framing = FORMATS[config.format].write_support.framing(TableDef("T"), options, context)
    name = f"gg.handler.{config.name}.bom"
    if not isinstance(framing, TextFraming):
        message = f"`{name}` is for files of text, which `{config.format}` does not write"
    elif byte_order_mark(getattr(options, "encoding", "UTF-8")):
        message = f"`{name}` would be a second byte order mark: the `encoding` has one"
    else:
        return
    yield Diagnostic("GG112", message, config.place("bom"), "remove it")


def variables(config: HandlerConfig, run_options: RunOptions) -> tuple[Mapping[str, str], list[Diagnostic]]:
    columns = getattr(config.options, "meta_columns_template", None) or ()
    found, lacking = variables_of(columns, dict(run_options.variables), run_options.group_name, os.environ)
    if not lacking:
        return found, []
    help = "set `ggfmt.variables=NAME=VALUE,...`, or `ggfmt.groupName` for the name of the Replicat group"
    message = f"`{lacking[0]}` in `metaColumnsTemplate` has no value here"
    return found, [Diagnostic("GG411", message, config.place("format.metaColumnsTemplate"), help)]


def mask_refusals(config: HandlerConfig) -> Iterator[Diagnostic]:
    reads_by_mask = not FORMATS[config.format].handler_type  # Kafka Connect's converter has time stamps of one form
    if not reads_by_mask or not getattr(config.options, "enable_timestamp_logical_type", False):
        return
    from ggfmt.java.date_format import date_mask

    try:
        date_mask(config.timestamp_mask)
    except InvalidValueError as error:
        message = f"`gg.format.timestamp` {error}"
        if not config.timestamp_mask:
            message = "`enableTimestampLogicalType` needs the mask of times in columns, `gg.format.timestamp`"
        yield Diagnostic("GG216", message, config.place("format.enableTimestampLogicalType"), error.help)


def _codecs(config: HandlerConfig) -> Iterator[Diagnostic]:
    """Yield GG149 for files that an event handler would compress with LZO, for which there is no library."""
    from ggfmt.formats.goldengate.container_files import LZO

    for event in config.events:
        if getattr(event.options, "compression_codec", None) == LZO:
            entry = event.entries["compressionCodec"]
            message = f"ggfmt cannot compress with `{LZO}`, as `{entry.key}` says"
            yield Diagnostic("GG149", message, entry.value_span, "choose another codec")


def _schema_directories(config: HandlerConfig) -> Iterator[Diagnostic]:
    """Yield GG149 for a relative directory of schemas that leaves the output."""
    for options, prefix in ((config.options, "format."), (config.handler, "")):
        for spec in options.specs():
            value = getattr(options, spec.attr)
            if not isinstance(spec.kind, SchemaDirectory) or not value or SCHEME.match(value):
                continue
            path = posixpath.normpath(value)
            if path.split("/")[0] == "..":
                message = f"the schema directory of handler `{config.name}` is relative, and not within the output"
                help = "set another `schemaDirectory` or `schemaFilePath`, or an absolute path"
                yield Diagnostic("GG149", message, config.place(f"{prefix}{spec.name}"), help)
