"""Event handlers: full files converted, copied, moved and renamed, as the File Writer's chain wants.

Each event handler gets the file of the one before it. What `finalizeAction` removes is not written at all; but the last
file of a chain stays, where the event handler behind it loads a database, which ggfmt does not do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from ggfmt.commit.commit import opened
from ggfmt.commit.names import FileLocation
from ggfmt.config.handler_options import DELETE, MOVE, RENAME, EventHandlerConfig, HandlerConfig, Work
from ggfmt.config.property_table import EVENT_HANDLER_TYPES
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, Span
from ggfmt.location import Location
from ggfmt.model.table import TableDef
from ggfmt.options.templates import NameContext
from ggfmt.reading.progress import JOINING, ProgressTracker
from ggfmt.reading.runner import Runner
from ggfmt.reading.tasks import StagedFile
from ggfmt.sinks.messages.join import shares
from ggfmt.sinks.messages.layout import OutputLayout
from ggfmt.sinks.messages.pipeline import HandlerOutput, Job, StageOutput

if TYPE_CHECKING:
    from ggfmt.commit.store import HashingStream

_SHARES_PER_CORE = 3
_NO_MOMENT = datetime(1970, 1, 1)  # the bucket of a store has no time
_BLOCK_BYTES = 4 << 20


def with_stages(output: HandlerOutput, config: HandlerConfig, group: str, in_stores: bool) -> HandlerOutput:
    """Add the files of event handlers. Raises: ConfigurationError GG515 with `in_stores` for an incomplete store."""
    events = config.executed_handlers
    action = config.handler.finalize_action
    final = OutputLayout(
        config.handler.file_suffix,
        config.handler.move_path_mapping_template if MOVE in action else None,
        config.handler.file_rename_mapping_template if RENAME in action else None,
        config.handler.partitioner,
        group,
    )
    stages = []
    for number, event in enumerate(events):
        is_last = number == len(events) - 1
        root = _store(event, config, group) if in_stores and event.work is Work.COPY else output.root
        layout = OutputLayout("", event.path, event.file, config.handler.partitioner, group)
        stages.append(StageOutput(event, root, layout, is_last or not event.deletes))
    keeps = action != DELETE or not events
    templates = (final.path, final.file, *(item for stage in stages for item in (stage.layout.path, stage.layout.file)))
    counts = any(template is not None and template.counts for template in templates)
    return replace(output, stages=tuple(stages), final=final, keeps=keeps, counts=counts)


def _store(event: EventHandlerConfig, config: HandlerConfig, group: str) -> Location:
    scheme = EVENT_HANDLER_TYPES[event.type].scheme
    key = f"gg.eventhandler.{event.name}"
    problem = None
    if scheme is None:
        problem = f"the handler file does not fully define the store of `{key}`, which has the type `{event.type}`"
    elif scheme != "hdfs" and event.bucket is None:
        problem = f"`{key}` names no bucket"
    elif event.bucket is not None and (event.bucket.names_table or event.bucket.column_values):
        problem = f"`{key}.bucketMappingTemplate` names a bucket for each table"
    elif scheme == "abfss" and not event.account:
        problem = f"`{key}.accountName` is missing"
    if problem is not None:
        help = "leave out `--event-handlers map`: the files are then below the output directory"
        raise ConfigurationError("GG515", problem, config.place("eventHandler"), help)
    bucket = event.bucket.show(NameContext(_NO_MOMENT, group=group)) if event.bucket is not None else ""
    authority = f"{bucket}@{event.account}.dfs.core.windows.net" if scheme == "abfss" else bucket
    region = f"?region={event.region}" if scheme == "s3" and event.region else ""
    given = f"{scheme}://{authority}/{region}"
    return opened(given, f"the store of `{key}`")


def run_chains(files: Sequence[StagedFile], job: Job, runner: Runner, tracker: ProgressTracker) -> list[StagedFile]:
    """Return the files to publish, with those that chains leave."""
    outputs = {target.handler: target for target in job.targets if target.has_chain}
    waiting = [file for file in files if file.handler in outputs]
    if not waiting:
        return list(files)
    shared = shares(waiting, _SHARES_PER_CORE * runner.parallelism)
    sizes = [sum(file.size for file in share) for share in shared]
    done = runner.run(partial(_run_share, job), shared, tracker.start_tasks(JOINING, sizes, runner.parallelism))
    left = chain.from_iterable(done)
    return [result for file in files for result in (next(left) if file.handler in outputs else [file])]


def _run_share(job: Job, files: Sequence[StagedFile], attempt: int) -> list[list[StagedFile]]:
    outputs = {target.handler: target for target in job.targets}
    return [list(_run_chain(file, outputs[file.handler], job, attempt)) for file in files]


def _run_chain(file: StagedFile, output: HandlerOutput, job: Job, attempt: int) -> Iterator[StagedFile]:
    assert file.place is not None
    if output.keeps:
        assert output.final is not None
        place = _placed(output.final, file.place, file, job)
        yield replace(file, place=place)
    made = file
    for number, stage in enumerate(output.stages):
        place = _placed(stage.layout, cast(FileLocation, made.place), file, job)
        is_source_left = output.keeps or number > 0  # the first event handler may take a file that is not kept
        if stage.config.work is Work.COPY and stage.root == output.root and not is_source_left:
            made = replace(made, place=place, event=stage.config.name)
        else:
            made = _written(made, stage, place, job, attempt)
        if stage.kept:
            yield made


def _placed(layout: OutputLayout, upstream: FileLocation, file: StagedFile, job: Job) -> FileLocation:
    if not layout.has_templates:
        return upstream
    table = TableDef(file.table) if file.table else None
    place = layout.place(table, job.moment, file.partition, dict(file.counts))
    return FileLocation(
        place.directory if layout.path is not None else upstream.directory,
        place.stem if layout.file is not None else upstream.stem,
        place.ending if layout.file is not None else upstream.ending,
    )


def _written(file: StagedFile, stage: StageOutput, place: FileLocation, job: Job, attempt: int) -> StagedFile:
    from ggfmt.commit.store import HashingStream

    name = f"{hashlib.sha256(file.location.address.encode()).hexdigest()[:24]}-{stage.config.name}-{attempt}"
    location = job.staging[stage.root].child(name)
    with file.location.open_stream() as source, location.create() as stream:
        target = HashingStream(stream)
        if stage.config.work is Work.COPY:
            while block := source.read(_BLOCK_BYTES):
                target.write(block)
        else:
            _convert(source, target, stage, file)
    return replace(
        file,
        location=location,
        place=place,
        event=stage.config.name,
        size=target.size,
        sha256=target.digest.hexdigest(),
        header=0,
        preambles=(),
    )


def _convert(source: pa.NativeFile, target: HashingStream, stage: StageOutput, file: StagedFile) -> None:
    # Few runs convert files, and the libraries take a while to load.
    from ggfmt.formats.goldengate.container_files import OrcOptions, ParquetOptions
    from ggfmt.formats.goldengate.container_files.orc import write_orc
    from ggfmt.formats.goldengate.container_files.parquet import write_parquet

    options = stage.config.options
    try:
        if isinstance(options, ParquetOptions):
            written = write_parquet(cast(BinaryIO, source), cast(BinaryIO, target), options)
        else:
            assert isinstance(options, OrcOptions)
            written = write_orc(cast(BinaryIO, source), cast(BinaryIO, target), options)
    except Abend as error:
        (diagnostic,) = error.diagnostics
        raise Abend.of(replace(diagnostic, span=Span(table=file.table, field=diagnostic.span.field))) from None
    if written != file.operations:
        message = f"a converted file has {written:,} operations, but {file.operations:,} were written"
        raise Abend("GG507", message, Span(table=file.table))


def describe(output: HandlerOutput, config: HandlerConfig) -> Iterator[str]:
    stages = {stage.config.name: stage for stage in output.stages}
    for event in config.events:
        stage = stages.get(event.name)
        what = f"event handler `{event.name}` ({event.type})"
        if stage is None:
            yield f"{what} is not run and does not change the files"
        elif event.work is Work.CONVERT:
            yield f"{what} converts files" + ("" if stage.kept else "; only the next event handler uses these files")
        elif stage.root == output.root:
            yield f"{what}: its files are below the output directory (`--event-handlers map` writes them to the store)"
        else:
            yield f"{what} writes files to {stage.root.shown}"
