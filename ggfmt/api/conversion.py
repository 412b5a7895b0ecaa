"""`ggfmt.convert`: what `ggfmt run` does, for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ggfmt.api import arguments
from ggfmt.api.arguments import Path, Paths, Properties
from ggfmt.api.runners import STREAM, choose_runner
from ggfmt.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from ggfmt.engine.dry_run import DryRun
    from ggfmt.engine.output.rejects import RejectEntry
    from ggfmt.engine.progress import ProgressSnapshot
    from ggfmt.model.table import TableDef

Mode = Literal["error", "append", "overwrite"]
OnReject = Literal["abend", "quarantine"]


@dataclass(frozen=True)
class Result:
    """A run that is committed.

    totals     what was read, written and lost, as `--report` has it
    manifests  by output directory, what its `_ggfmt/manifest.json` says; none of a run that had nothing to do, or that
               wrote to standard output
    warnings   of the handler files
    plan       of a dry run, which has nothing else
    """

    totals: Mapping[str, Any]
    manifests: Mapping[str, Mapping[str, Any]]
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)
    plan: DryRun | None = field(default=None, repr=False)

    @property
    def manifest(self) -> Mapping[str, Any] | None:
        """That of the first output directory."""
        return next(iter(self.manifests.values()), None)

    @property
    def reject_count(self) -> int:
        """Of all handlers together: a record that none of two can write counts twice."""
        return sum(sum(handler["rejects"].values()) for handler in self.totals["handlers"].values())

    @property
    def rejects(self) -> Iterator[RejectEntry]:
        """The records that were set aside, and why, as their files have them: handler by handler, in the order of the
        input. They are read as they are asked for, and anew each time."""
        from ggfmt.engine.output.rejects import read_rejects

        for root, manifest in self.manifests.items():
            yield from read_rejects(root, manifest)


def convert(
    inputs: Path | Sequence[Path],
    config: Paths = None,
    output: Path | None = None,
    to: str | None = None,
    handlers: str | Sequence[str] | None = None,
    input_format: str = "auto",
    input_config: Path | None = None,
    input_options: Properties = None,
    definitions: Mapping[str, TableDef] | Paths = None,
    settings: Properties = None,
    mode: Mode = "error",
    on_reject: OnReject = "abend",
    strict_fidelity: bool = False,
    allow_empty: bool = False,
    checkpoint: Path | None = None,
    settle: float | None = None,
    current_timestamp: datetime | str | None = None,
    master: str | None = None,
    spark_conf: Properties = None,
    java_home: Path | None = None,
    split_size: int | str | None = None,
    max_record: int | str | None = None,
    dry_run: bool = False,
    remote: str | None = None,
    *,
    spark: object | None = None,
    warn: Callable[[Sequence[Diagnostic]], None] = lambda _: None,
    progress: Callable[[ProgressSnapshot], None] | None = None,
) -> Result:
    """Converts change files to the messages of the configured handlers, as `ggfmt run` does.

    The arguments are the options of `ggfmt run`, with the same names, meanings and defaults: see `ggfmt run --help`, or
    the page Commands. Paths are texts or `Path`s, one or several; `settings`, `input_options` and `spark_conf` are
    mappings, or texts like `KEY=VALUE`; `definitions` are files, or table definitions by name; sizes are numbers of
    bytes, or texts like `64m`.

    `spark` is a SparkSession, a session of Spark Connect or a SparkContext for the run to take. Without it a run takes
    the one that this process has, and starts one of its own where there is none; see the page Spark.

    `warn` is called with the warnings of the handler files before the run starts, `progress` with where it stands
    whenever that changes, on any thread.

    Raises ConfigurationError for handler files and definitions, UsageError for a run that makes no sense, Abend where
    nothing was committed because of the data, and Committed where something failed after the commit.
    """
    from ggfmt.engine.run import RunSettings, execute
    from ggfmt.formats.api.reading import MAX_RECORD_BYTES

    files = arguments.texts(inputs)
    target = arguments.text(output)
    runner = choose_runner(master, spark_conf, arguments.text(java_home), remote, spark)
    runner.check_reach(files, target)
    configuration = arguments.configuration(config, settings, handlers, to, stream=target == STREAM)
    warn(configuration.diagnostics)
    input_format, source = arguments.input_settings(input_format, input_config, input_options)
    wanted = RunSettings(
        inputs=files,
        handlers=configuration.handlers,
        output=target,
        input_format=input_format,
        definitions=arguments.tables(definitions, source),
        mode=arguments.check_choice("mode", mode, Mode),
        quarantine=arguments.check_choice("on_reject", on_reject, OnReject) == "quarantine",
        strict=strict_fidelity,
        current_timestamp=arguments.parse_timestamp(current_timestamp),
        split_size=arguments.size(split_size, "the split size"),
        max_record=arguments.size(max_record, "the longest record") or MAX_RECORD_BYTES,
        own=configuration.run,
        source=source,
        replacements=configuration.replacements,
        allow_empty=allow_empty,
        checkpoint=arguments.text(checkpoint),
        settle=settle,
    )
    if dry_run:
        from ggfmt.engine.dry_run import as_planned

        planned = as_planned(wanted, runner.parallelism)
        return Result(planned.totals, {}, configuration.diagnostics, planned)
    done = execute(wanted, runner.start, progress)
    return Result(done.report, done.manifests, configuration.diagnostics)
