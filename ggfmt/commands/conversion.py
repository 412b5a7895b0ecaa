"""`ggfmt.run`: what `ggfmt run` does, for programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ggfmt.commands import arguments, declaration
from ggfmt.commands.arguments import Path, Paths, Properties, ignore_warnings
from ggfmt.commands.declaration import After, OldName, Option, PythonOnly, settings_from
from ggfmt.commands.runners import STREAM, choose_runner
from ggfmt.dataclasses import KW_ONLY, dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.summary import Summarized, Summary, SummaryTable

if TYPE_CHECKING:
    from ggfmt.config.handlers import Configuration
    from ggfmt.kafka.request import KafkaRequest, Pace
    from ggfmt.model.table import TableDef
    from ggfmt.reading.progress import ProgressSnapshot
    from ggfmt.reading.rejects import RejectEntry
    from ggfmt.sinks.dry_run import DryRun
    from ggfmt.sinks.kafka.run import TopicPlan

Mode = Literal["error", "append", "overwrite"]
OnReject = Literal["abend", "quarantine"]
Timestamps = Literal["now", "op_ts"]
EventHandlers = Literal["below", "map"]


@dataclass(frozen=True, repr=False)
class Result(Summarized):
    """A run that is committed.

    totals     what was read, written and lost, as `--report` has it
    manifests  by output directory, what its `_ggfmt/manifest.json` says; none of a run that had nothing to do, or that
               wrote to standard output. Of several commits, the last one
    warnings   of the handler files
    plan       of a dry run, which has nothing else
    topics     what goes to each topic of Kafka
    earlier    the ids of the commits before the last one, in order
    """

    totals: Mapping[str, Any]
    manifests: Mapping[str, Mapping[str, Any]]
    warnings: tuple[Diagnostic, ...] = ()
    plan: DryRun | None = None
    topics: tuple[TopicPlan, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def manifest(self) -> Mapping[str, Any]:
        """That of the first output directory; empty if there is none."""
        return next(iter(self.manifests.values()), {})

    @property
    def reject_count(self) -> int:
        """Of all handlers together: a record that none of two can write counts twice."""
        return sum(sum(handler["rejects"].values()) for handler in self.totals["handlers"].values())

    @property
    def rejects(self) -> Iterator[RejectEntry]:
        """The records that were set aside, and why, as their files have them: handler by handler, in the order of the
        input. They are read as they are asked for, and again each time."""
        from ggfmt.commit.records import record_of
        from ggfmt.commit.store import Store
        from ggfmt.location import Location
        from ggfmt.reading.rejects import read_rejects

        for root, manifest in self.manifests.items():
            for run in self.earlier if self.reject_count else ():
                record = record_of(Store(Location.of(root)), run)
                yield from read_rejects(root, {"files": []} if record is None else record.document)
            yield from read_rejects(root, manifest)

    @property
    def _summary(self) -> Summary:
        from ggfmt.commit.names import counted
        from ggfmt.location import strip_credentials
        from ggfmt.model.change import OP_TYPES

        name = "ggfmt.Result"
        if self.plan is not None:
            return Summary(name, ["a dry run, which wrote nothing"])
        totals = self.totals
        handlers = totals["handlers"]
        read = counted(totals["operations_read"], "operation")
        if self.earlier:
            read += f" read in {counted(len(self.earlier) + 1, 'commit')}"
        elif self.manifests:
            read += f" read from {counted(len(self.manifest.get('inputs', ())), 'file')}"
        written = counted(sum(handler["messages"] for handler in handlers.values()), "message")
        files = counted(sum(handler["files"] for handler in handlers.values()), "file")
        rejected = counted(self.reject_count, "record") + " rejected"
        facts = [
            f"{read} ({counted(totals['input_bytes'], 'byte')})",
            f"{written} written to {files}",
            f"{rejected}, see `rejects`" if self.reject_count else rejected,
            *(f"in {strip_credentials(directory)}" for directory in self.manifests),
        ]
        by_table = [
            (table, *(of_type.get(op, 0) for op in OP_TYPES)) for table, of_type in totals["operations"].items()
        ]
        by_handler = [
            (name, handler["messages"], handler["files"], handler["bytes"], sum(handler["rejects"].values()))
            for name, handler in handlers.items()
        ]
        tables = [
            SummaryTable(("table", *OP_TYPES), by_table),
            SummaryTable(("handler", "messages", "files", "bytes", "rejected"), by_handler),
        ]
        return Summary(name, facts, tables)


@dataclass(frozen=True, eq=False, repr=False)  # options of Spark may be passwords
class ConvertRequest(declaration.KeyedRowArguments):
    """Converts change files to the messages of the configured handlers, as `ggfmt run` does.

    The arguments are the options of `ggfmt run`, with the same names, meanings and defaults: see `ggfmt run --help`, or
    the page Commands. Paths are texts or `Path`s, one or several; `settings`, `input_options` and `spark_conf` are
    mappings, or texts like `KEY=VALUE`; `definitions` are files, or table definitions by name; sizes are numbers of
    bytes, or texts like `64m`.

    `spark` is a SparkSession, a session of Spark Connect or a SparkContext for the run to take. Without it a run takes
    the one that this process has, and starts one of its own where there is none; see the page Spark.

    `warn` is called with the warnings of the handler files before the run starts, `progress` with its progress
    whenever that changes, on any thread.

    Raises ConfigurationError for handler files and definitions, UsageError for a run that makes no sense, Abend where
    nothing was committed because of the data, and CommittedWithErrors where something failed after the commit.
    """

    inputs: Annotated[Path | Sequence[Path], declaration.INPUTS]
    config: Annotated[Paths, declaration.CONFIG] = None
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="DIR",
            panel="Output",
            help="A directory, or `kafka://BROKER`; default: the handler's `rootFilePath`. `-`: standard output.",
        ),
    ] = None
    to: Annotated[str | None, declaration.TO] = None
    handlers: Annotated[str | Sequence[str] | None, declaration.HANDLERS] = None
    input_format: Annotated[str, declaration.INPUT_FORMAT] = "auto"
    input_config: Annotated[Path | None, declaration.INPUT_CONFIG] = None
    input_options: Annotated[Properties, declaration.INPUT_OPTIONS] = None
    definitions: Annotated[Mapping[str, TableDef] | Paths, declaration.DEFINITIONS] = None
    settings: Annotated[Properties, declaration.SETTINGS] = None
    mode: Annotated[Mode, declaration.MODE] = "error"
    on_reject: Annotated[OnReject, declaration.ON_REJECT] = "abend"
    strict: Annotated[
        bool,
        Option(panel="Output", help="Stop if a handler cannot write a value without loss."),
        OldName("strict_fidelity"),
    ] = False
    allow_empty: Annotated[bool, declaration.ALLOW_EMPTY] = False
    checkpoint: Annotated[Path | None, declaration.CHECKPOINT] = None
    settle: Annotated[float | None, declaration.SETTLE] = None
    current_timestamp: Annotated[datetime | str | None, declaration.CURRENT_TIMESTAMP] = None
    master: Annotated[
        str | None,
        Option(
            metavar="URL",
            panel="Spark",
            complete="masters",
            help="The Spark master; default local. `none`: without Spark, on all cores; `none[4]`: in four processes.",
        ),
    ] = None
    spark_conf: Annotated[Properties, declaration.SPARK_CONF] = None
    java_home: Annotated[Path | None, declaration.JAVA_HOME] = None
    split_size: Annotated[int | str | None, declaration.SPLIT_SIZE] = None
    max_record: Annotated[int | str | None, declaration.MAX_RECORD] = None
    dry_run: Annotated[
        bool, Option(panel="Output", help="Check everything, show what the run would do, and write nothing.")
    ] = False
    remote: Annotated[str | None, declaration.REMOTE, After("master")] = None
    event_handlers: Annotated[
        EventHandlers,
        Option(
            panel="Output",
            help="Where event handlers put files: below the output directory, or in their stores (`map`).",
        ),
        After("strict"),
    ] = "below"
    _: KW_ONLY
    schema_registry: Annotated[Path | None, declaration.SCHEMA_REGISTRY, After("input_options")] = None
    resume: Annotated[bool, declaration.RESUME, After("mode")] = False
    fresh: Annotated[bool, declaration.FRESH, After("resume")] = False
    max_files: Annotated[int | None, declaration.MAX_FILES, After("settle")] = None
    max_bytes: Annotated[int | str | None, declaration.MAX_BYTES, After("max_files")] = None
    producer_config: Annotated[Path | None, declaration.PRODUCER_CONFIG] = None
    staging: Annotated[Path | None, declaration.STAGING] = None
    table: Annotated[str | Sequence[str] | None, declaration.TABLES, After("definitions")] = None
    exclude: Annotated[str | Sequence[str] | None, declaration.EXCLUDE, After("table")] = None
    columns: Annotated[str | Mapping[str, Sequence[str]] | None, declaration.COLUMNS, After("exclude")] = None
    mask: Annotated[Mapping[str, str] | str | Sequence[str] | None, declaration.MASK, After("columns")] = None
    mask_key: Annotated[Path | None, declaration.MASK_KEY, After("mask")] = None
    replicat: Annotated[Path | None, declaration.REPLICAT, After("config")] = None
    job: Annotated[str | None, declaration.JOB] = None
    create_topics: Annotated[str | int | None, declaration.CREATE_TOPICS] = None
    rate: Annotated[float | str | None, declaration.RATE] = None
    pace: Annotated[str | None, declaration.PACE] = None
    max_gap: Annotated[str | None, declaration.MAX_GAP] = None
    atomic: Annotated[bool, declaration.ATOMIC] = False
    timestamps: Annotated[Timestamps, declaration.TIMESTAMPS] = "now"
    headers: Annotated[bool, declaration.HEADERS] = False
    tombstones: Annotated[bool, declaration.TOMBSTONES] = False
    spark: Annotated[object | None, PythonOnly()] = None
    warn: Annotated[Callable[[Sequence[Diagnostic]], None], PythonOnly()] = ignore_warnings
    progress: Annotated[Callable[[ProgressSnapshot], None] | None, PythonOnly()] = None


def run_conversion(request: ConvertRequest) -> Result:
    from ggfmt.formats.api.reading import MAX_RECORD_BYTES
    from ggfmt.reading.listing import CommitLimits
    from ggfmt.sinks.messages.run import RunSettings, execute

    arguments.check_choices(request)
    files = arguments.texts(request.inputs)
    target = arguments.text(request.output)
    runner = choose_runner(
        request.master, request.spark_conf, arguments.text(request.java_home), request.remote, request.spark
    )
    topics = arguments.topics(request.producer_config, request.staging)
    runner.check_reach(files, target, topics)
    process = arguments.process(request.replicat, request.warn)
    request = replace(
        request, config=request.config if request.to is not None else process.config(arguments.texts(request.config))
    )
    configuration = arguments.configuration(
        request.config, request.settings, request.handlers, request.to, target == STREAM, process.group
    )
    request.warn(configuration.diagnostics)
    input_format, source = arguments.input_settings(
        request.input_format, request.input_config, request.input_options, request.schema_registry, request
    )
    settings = settings_from(request, RunSettings)(
        inputs=files,
        handlers=configuration.handlers,
        output=target,
        input_format=input_format,
        definitions=process.definitions(arguments.tables(request.definitions, source), source),
        mode=request.mode,
        resume=arguments.resume(request.resume, request.fresh),
        event_handlers=request.event_handlers,
        quarantine=request.on_reject == "quarantine",
        current_timestamp=arguments.parse_timestamp(request.current_timestamp),
        split_size=arguments.size(request.split_size, "`--split-size`"),
        max_record=arguments.size(request.max_record, "`--max-record`") or MAX_RECORD_BYTES,
        run_options=configuration.run,
        source=source,
        replacements=configuration.replacements,
        release=configuration.release,
        checkpoint=arguments.text(request.checkpoint),
        limits=CommitLimits(request.max_files, arguments.size(request.max_bytes, "`--max-bytes`")),
        selection=arguments.selection(
            request.table,
            request.exclude,
            request.columns,
            request.mask,
            request.mask_key,
            process.maps(source, configuration, request.strict),
        ),
        kafka=_kafka(request, target, configuration),
        topics=topics,
    )
    if request.dry_run and settings.kafka is None:
        from ggfmt.sinks.dry_run import as_planned

        planned = as_planned(settings, runner.parallelism)
        return Result(planned.sink.unchanged().report, {}, configuration.diagnostics, planned)
    if settings.kafka is not None:
        from ggfmt.sinks.kafka.run import execute as send

        done = send(settings, runner.start, request.progress)
    else:
        done = execute(settings, runner.start, request.progress)
    return Result(done.report, done.manifests, configuration.diagnostics, topics=done.topics, earlier=done.earlier)


def _kafka(request: ConvertRequest, target: str | None, configuration: Configuration) -> KafkaRequest | None:
    """Return what a run to Kafka is asked to do; None for another output. Raises: UsageError GG571, GG577, and as of
    `client_settings`."""
    from ggfmt.kafka import is_kafka

    if target is None or not is_kafka(target):
        given = {
            "--job": request.job,
            "--create-topics": request.create_topics,
            "--rate": request.rate,
            "--pace": request.pace,
            "--max-gap": request.max_gap,
            "--atomic": request.atomic,
            "--timestamps": request.timestamps != "now",
            "--headers": request.headers,
            "--tombstones": request.tombstones,
        }
        for option in (name for name, value in given.items() if value is not None and value is not False):
            message = f"`{option}` is for messages in Kafka"
            raise UsageError("GG577", message, help=f"leave out `{option}`, or give `-o kafka://BROKER`")
        return None
    from ggfmt.config.kafka_producer import producer_properties
    from ggfmt.kafka.address import parse_cluster
    from ggfmt.kafka.properties import client_settings
    from ggfmt.kafka.request import KafkaRequest

    (name,) = {handler.name for handler in configuration.handlers} if len(configuration.handlers) == 1 else (None,)
    files, settings = arguments.texts(request.config), arguments.lines(request.settings)
    sources = producer_properties(name, files, settings, arguments.text(request.producer_config), os.environ)
    client, converters = client_settings(parse_cluster(target), *sources)
    return KafkaRequest(
        client=client,
        converters={name: property.value for name, property in converters.items()},
        job=request.job,
        create=_partitions(request.create_topics),
        rate=_amount("--rate", request.rate, _RATES, "a number of messages in a second", "`500`, or `500/s`"),
        pace=_pace(request.pace, request.max_gap),
        atomic=request.atomic,
        by_op_ts=request.timestamps == "op_ts",
        headers=request.headers,
        tombstones=request.tombstones,
        staging=arguments.text(request.staging),
        is_dry=request.dry_run,
    )


_RATES = {"": 1.0, "/s": 1.0, "/ s": 1.0}
_DURATIONS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def _pace(given: str | None, max_gap: str | None) -> Pace | None:
    from ggfmt.kafka.request import Pace

    factor = _amount("--pace", given, {"x": 1.0}, "how many times as fast as the changes to send", "`1x`, or `10x`")
    most = _amount("--max-gap", max_gap, _DURATIONS, "a duration", "`30s`, or `5m`")
    if factor is None:
        if most is not None:
            raise UsageError("GG577", "`--max-gap` shortens the pauses of `--pace`", help="give `--pace 1x`, too")
        return None
    return Pace(factor) if most is None else Pace(factor, most)


def _amount(option: str, given: float | str | None, units: Mapping[str, float], what: str, help: str) -> float | None:
    """Return a positive number with one of some units, each of which has a factor. Raises: UsageError GG577."""
    if given is None:
        return None
    found = re.fullmatch(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,6}})?) ?({'|'.join(units)})", str(given).strip())
    amount = float(found[1]) * units[found[2]] if found is not None else 0
    if not amount:
        raise UsageError("GG577", f"`{option}` needs {what}, not `{given}`", help=f"give {help}")
    return amount


def _partitions(given: str | int | None) -> tuple[int, int] | None:
    """Return partitions and replication; -1 for that of the cluster."""
    if given is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,4})(?::([1-9][0-9]?))?", str(given))
    if found is None:
        message = f"`--create-topics` needs a number of partitions, not `{given}`"
        raise UsageError("GG577", message, help="give `3`, or `3:2` for two replicas of each")
    return int(found[1]), int(found[2] or -1)
