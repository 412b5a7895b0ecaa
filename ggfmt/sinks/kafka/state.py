"""The record of a job in the cluster: the run that it was last used for, and what that run sends.

The next run of the job decides by it: it goes on with an interrupted run, has nothing to do, or sends other messages.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from ggfmt.diagnostics.diagnostic import Span, UsageError
from ggfmt.java.text import visible
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.jobs import STATE_TOPIC, foreign_record, read_records

APPEND = "append"

Record = TypeVar("Record")


class JobState(msgspec.Struct, kw_only=True):
    """What the cluster knows of the last run of a job.

    run          its id, which a run that goes on with it keeps
    session      the id of the attempt that has taken over last
    moment       the time of the run, which the messages of all of its attempts show
    fingerprint  of inputs and settings
    inputs       as a checkpoint records them; empty without one
    checkpoint   the run that the checkpoint had before, and the one that it has once the run is recorded there
    owners       how many senders it has or had, whose producers a later run has to stop
    since        the offset of the state topic from which on there are records of the run
    partitions   the numbers of partitions by topic
    ids          the ids of topics, as far as the cluster has them
    begins       the end of each partition before the run, by topic
    ends         the end of each partition after the run
    digests      the number of messages and their digest, for each partition, by topic
    headers      its messages have headers with the job, the run and the sequence
    """

    run: str
    session: str
    moment: str
    fingerprint: str
    version: str
    inputs: list[Any] = []
    checkpoint: tuple[str | None, str | None] = (None, None)
    owners: int = 1
    since: int = 0
    partitions: dict[str, int] = {}
    ids: dict[str, str] = {}
    begins: dict[str, list[int]] = {}
    ends: dict[str, list[int]] = {}
    digests: dict[str, list[tuple[int, str]]] = {}
    headers: bool = False
    is_complete: bool = False

    def encoded(self) -> bytes:
        return msgspec.json.encode(
            {"session": self.session, "record": zlib.compress(msgspec.json.encode(self)), "complete": self.is_complete}
        )


class _Stored(msgspec.Struct):
    record: bytes


def decode_record(name: str, value: bytes, type: type[Record]) -> Record:
    """Return a record as `type`. Raises: Abend GG574 if it is not one of ggfmt."""
    try:
        return msgspec.json.decode(value, type=type)
    except msgspec.MsgspecError:
        raise foreign_record(name) from None


def decoded(job: str, value: bytes) -> JobState:
    """Return the record of a job. Raises: Abend GG574 if it is not one of ggfmt."""
    try:
        whole = zlib.decompress(decode_record(job, value, _Stored).record)
    except zlib.error:
        raise foreign_record(job) from None
    return decode_record(job, whole, JobState)


def read_run(settings: ClientSettings, job: str, whole: bool = True) -> tuple[JobState | None, Mapping[str, bytes]]:
    """Return the record of a job, None before its first run, and all of its records; `whole` as in `read_records`."""
    if STATE_TOPIC not in settings.topics():
        return None, {}
    records = read_records(settings, job, whole=whole)
    return (decoded(job, records[job]) if job in records else None), records


def fingerprint_of(*parts: object) -> str:
    return sha256(msgspec.json.encode([str(part) for part in parts])).hexdigest()[:32]


def check_run(last: JobState | None, fingerprint: str, job: str, mode: str, shown: str) -> None:
    """Raises: UsageError GG574 if a run cannot follow the last one of its job."""
    if last is None or last.fingerprint == fingerprint:
        return
    place = Span(file=shown)
    if not last.is_complete:
        message = f"run {last.run} of the job `{visible(job)}` was interrupted, and had other inputs or settings"
        help = "run with its inputs and settings, so that it ends; or give another `--job`, and it stays as it is"
        raise UsageError("GG574", message, place, help)
    if mode != APPEND:
        help = f"to send these too, give `--mode {APPEND}`, or another `--job`"
        raise UsageError("GG574", f"the job `{visible(job)}` has sent other messages: run {last.run}", place, help)
