"""The request of a run that writes messages, and the targets of its handlers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ggfmt.commit.commit import opened, write_error
from ggfmt.commit.journal import is_below
from ggfmt.commit.names import METADATA_DIRECTORY
from ggfmt.config.handler_options import MOVE, RENAME, HandlerConfig, RunOptions, absolute_paths
from ggfmt.config.lint.releases import ReleaseFinding
from ggfmt.config.refusals import layout_refusals
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, Diagnostic, Span, UsageError
from ggfmt.engine import RunRequest
from ggfmt.location import reason, remedy, write_problem
from ggfmt.options.value_types import Replacements
from ggfmt.sinks.messages.layout import OutputLayout
from ggfmt.sinks.messages.pipeline import HandlerOutput, HandlerSettings

if TYPE_CHECKING:
    from ggfmt.kafka.request import KafkaRequest

log = logging.getLogger("ggfmt")

STREAM = "-"  # an output; a directory of this name is `./-`
BELOW, MAP = "below", "map"  # where the files of stores are: below the output directory, or in the stores


@dataclass(frozen=True, kw_only=True)
class RunSettings(RunRequest):
    handlers: Sequence[HandlerConfig]
    output: str | None = None
    run_options: RunOptions = field(default_factory=RunOptions)
    replacements: Replacements = field(default_factory=Replacements)
    release: ReleaseFinding | None = None
    event_handlers: str = BELOW
    kafka: KafkaRequest | None = None


def chosen_layout(config: HandlerConfig, run_options: RunOptions) -> OutputLayout:
    handler = config.handler
    problems = list(layout_refusals(config, run_options))
    if problems:
        raise ConfigurationError.of(*problems)
    for problem in absolute_paths(handler):
        log.info("handler %s: `%s` %s", config.name, problem.property, problem.message)
    return OutputLayout(
        handler.file_suffix,
        handler.path_mapping_template,
        handler.file_name_mapping_template,
        handler.partitioner,
        run_options.group_name or "",
    )


def make_targets(settings: RunSettings) -> list[HandlerOutput]:
    """Return a target for each handler. Raises: ConfigurationError GG109 without an output directory, GG515 for a
    layout."""
    problems = []
    targets = []
    for config in settings.handlers:
        handler = config.handler
        given = settings.output or handler.root_file_path
        if given is None:
            help = f"give `-o DIR` or set `gg.handler.{config.name}.rootFilePath`"
            problems.append(Diagnostic("GG109", f"handler `{config.name}` has no output directory", help=help))
            continue
        root = opened(given, "the output")
        own = HandlerSettings.of(config, settings.run_options)
        layout = chosen_layout(config, settings.run_options)
        output = HandlerOutput(own, root, handler.max_file_size, layout, handler.schema_file_path)
        if config.executed_handlers or any(action in handler.finalize_action for action in (MOVE, RENAME)):
            from ggfmt.sinks.messages.events import with_stages

            group = settings.run_options.group_name or ""
            output = with_stages(output, config, group, settings.event_handlers == MAP)
        targets.append(output)
    if problems:
        raise ConfigurationError.of(*problems)
    return targets


def check_schema_directories(targets: Sequence[HandlerOutput]) -> None:
    """Raises: Abend if ggfmt could not write schemas once the run is decided; errors for directories that leave the
    output."""
    help = "set another `schemaDirectory` or `schemaFilePath`"
    for target in targets:
        problem = write_problem(target.root)
        if problem is not None:  # schemas within it cannot work either
            raise Abend.of(write_error(target.root, problem))
        what = f"the schema directory of handler `{target.handler}`"
        try:
            for directory in target.schema_directories:
                directory.file_system()
                place = Span(file=directory.shown)
                inside = directory.child("x").name_below(target.root)
                if inside is not None and (not is_below(inside) or inside.startswith(f"{METADATA_DIRECTORY}/")):
                    message = f"{what} is relative, but not within the output directory"
                    raise ConfigurationError("GG103", message, place, f"{help}, or an absolute path")
                problem = write_problem(directory)
                if problem is not None:
                    message = f"{what} cannot be written: {reason(problem)}"
                    raise Abend("GG506", message, place, remedy(problem, help) or help)
        except OSError as error:
            advice = "; ".join(filter(None, (getattr(error, "help", None), help)))
            raise UsageError("GG506", f"{what} cannot be opened: {error}", help=advice) from None
