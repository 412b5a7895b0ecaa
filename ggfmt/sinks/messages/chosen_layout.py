"""The layout that a handler's properties choose, or why there is none."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from ggfmt.config.file_layout import absolute_paths, not_done
from ggfmt.config.handlers import HandlerConfig
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic
from ggfmt.formats.api.framing import TextFraming
from ggfmt.java.charsets import byte_order_mark
from ggfmt.java.text import visible
from ggfmt.model.table import TableDef
from ggfmt.sinks.messages.layout import Layout
from ggfmt.sinks.messages.pipeline import HandlerSettings

log = logging.getLogger("ggfmt")


def chosen_layout(config: HandlerConfig, settings: HandlerSettings, group: str | None) -> Layout:
    """ConfigurationError GG515 for a layout that ggfmt does not do."""
    handler = config.handler
    problems = [*_not_done(config, group), *_no_mark(config, settings)]
    if problems:
        raise ConfigurationError(*problems)
    for problem in absolute_paths(handler):
        log.info("handler %s: `%s` %s", config.name, problem.property, problem.message)
    return Layout(
        handler.file_suffix,
        handler.path_mapping_template,
        handler.file_name_mapping_template,
        handler.partitioner,
        group or "",
    )


def _not_done(config: HandlerConfig, group: str | None) -> Iterator[Diagnostic]:
    for problem in not_done(config.handler, group):
        name = f"gg.handler.{config.name}.{problem.property}"
        yield Diagnostic("GG515", f"`{name}`: {visible(problem.message)}", config.place(problem.property), problem.help)


def _no_mark(config: HandlerConfig, settings: HandlerSettings) -> Iterator[Diagnostic]:
    """Why files cannot begin with the bytes of `bom`."""
    if not settings.bom:
        return
    framing = settings.write_support.framing(TableDef("T"), settings.options, settings.context)
    name = f"gg.handler.{config.name}.bom"
    if not isinstance(framing, TextFraming):
        message = f"`{name}` is for files of text, which `{settings.format}` does not write"
    elif byte_order_mark(getattr(settings.options, "encoding", "UTF-8")):
        message = f"`{name}` would be a second byte order mark: the `encoding` has one"
    else:
        return
    yield Diagnostic("GG515", message, config.place("bom"), "remove it")
