"""Verification of topics: the messages of each job's last run, against the counts and digests in its record."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.java.text import visible
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.consume import Cluster, Partition
from ggfmt.kafka.jobs import STATE_TOPIC, read_records
from ggfmt.sinks.kafka.send import JOB, RUN, PartitionDigest
from ggfmt.sinks.kafka.state import JobState, decoded
from ggfmt.sinks.messages.verification import Verification


def verify(settings: ClientSettings, job: str | None = None) -> Verification:
    """Read the messages of a job's last run back, or those of all jobs. Raises: UsageError GG574 if there is no such
    job."""
    records = read_records(settings, job) if STATE_TOPIC in settings.topics() else {}
    runs = {name: decoded(name, value) for name, value in records.items() if "/" not in name}
    if not runs:
        what = "no job has sent anything" if job is None else f"the job `{visible(job)}` has sent nothing"
        raise UsageError("GG574", what, settings.shown, "check the address and `--job`")
    found = Verification(words=("job", "topic", "topic"), runs=len(runs))
    parts = {name: _ranges(run, settings.shown) for name, run in sorted(runs.items())}
    digests = {part: PartitionDigest() for own in parts.values() for part in own}
    with_headers = {name: own for name, own in parts.items() if runs[name].headers}
    marks = {part: {JOB: name, RUN: runs[name].run} for name, own in with_headers.items() for part in own}
    cluster = Cluster(settings)
    try:
        for part, messages in cluster.read(digests):
            for header, text in marks.get(part, {}).items():  # less the messages of other programs
                found_texts = pc.map_lookup(narrow(messages["headers"], pa.MapArray), pa.scalar(header), "first")
                messages = messages.filter(pc.fill_null(pc.equal(found_texts, text.encode()), False))
            digests[part].update(messages["key"], messages["value"])
    finally:
        cluster.close()
    for name, own in parts.items():
        run = runs[name]
        if not run.is_complete:
            message = f"run {run.run} of the job `{visible(name)}` was interrupted, and a part of its messages is there"
            help = "run its command again: it goes on where it was"
            found.findings.append(Diagnostic("GG574", message, settings.shown, help))
        found.files += len({part.topic for part in own})
        for part in own:
            found.messages[name, part.topic] += digests[part].messages
            found.size += digests[part].bytes
            found.findings += _findings(run, part, digests[part])
    return found


def _ranges(run: JobState, shown: str) -> list[Partition]:
    return [
        Partition(topic, number, begin, end, f"{shown}/{topic}/{number}")
        for topic, begins in run.begins.items()
        if run.is_complete
        for number, (begin, end) in enumerate(zip(begins, run.ends[topic], strict=True))
    ]


def _findings(run: JobState, part: Partition, digest: PartitionDigest) -> Iterator[Diagnostic]:
    wanted, digest_of_run = run.digests[part.topic][part.number]
    place = Span(file=part.shown)
    if digest.messages != wanted:
        begin = run.begins[part.topic][part.number]
        message = f"the run has sent {wanted:,} messages from offset {begin} on; there are {digest.messages:,}"
        help = "another program may have sent some to the topic meanwhile, or removed some"
        yield Diagnostic("GG510", message, place, help)
    elif wanted and digest.text != digest_of_run:
        yield Diagnostic("GG510", "the messages differ from what the run has sent", place)
