"""Topics of Kafka as what a run writes: the senders, their transactions, and the record of the job in the cluster."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime, timedelta, timezone
from functools import partial
from operator import gt
from typing import Any

import msgspec

from ggfmt import engine, signals
from ggfmt.arrow.arrays import non_null_values
from ggfmt.commit.commit import CommitPart, commit, opened, write_errors_stop
from ggfmt.commit.names import counted
from ggfmt.commit.store import Store
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, ConfigurationError, Diagnostic, Span, UsageError
from ggfmt.engine import Run
from ggfmt.formats import FORMATS
from ggfmt.formats.goldengate.kafkaconnect import ConnectOptions
from ggfmt.formats.goldengate.kafkaconnect.converters import Converters
from ggfmt.java.text import visible
from ggfmt.kafka import SCHEME
from ggfmt.kafka.cluster import topic_ids, topic_settings
from ggfmt.kafka.consume import Pair, ends
from ggfmt.kafka.jobs import OWN_TOPICS, STATE, STATE_TOPIC, Fenced, Transactions, make_state_topic, make_topics
from ggfmt.kafka.request import KafkaRequest
from ggfmt.lazy import lazy_regex
from ggfmt.location import Location, StoreAddress
from ggfmt.options.templates import TABLE_NAMES, Literal, NamePiece, Piece
from ggfmt.reading.content import examine
from ggfmt.reading.progress import SENDING, ProgressCallback
from ggfmt.reading.runner import InProcess, Runner
from ggfmt.reading.scan import Scan
from ggfmt.reading.tasks import STOP_FILE
from ggfmt.sinks.kafka.pace import pace_seconds
from ggfmt.sinks.kafka.send import (
    PartitionRecord,
    Sending,
    SendOutcome,
    changed_topics,
    other_messages,
    partition_records,
    send,
    staged,
    staged_times,
    transactional_id,
)
from ggfmt.sinks.kafka.staging import (
    Descriptions,
    Grouping,
    StagedMessages,
    TopicOutput,
    TopicTaskOutput,
    TopicTotals,
    TopicWriter,
)
from ggfmt.sinks.kafka.state import JobState, check_run, fingerprint_of, read_run
from ggfmt.sinks.kafka.templates import AddressSettings
from ggfmt.sinks.messages.layout import OutputLayout
from ggfmt.sinks.messages.pipeline import HandlerSettings, Job
from ggfmt.sinks.messages.run import MessageSink, RunResult
from ggfmt.sinks.messages.sink import MessageOutcome
from ggfmt.sinks.messages.stream import directory_for_stream
from ggfmt.sinks.messages.targets import RunSettings
from ggfmt.version import VERSION

MAX_OWNERS = 64
MAX_PACE_SECONDS = 7 * 86_400  # clusters forget idle producers then, by default (`transactional.id.expiration.ms`)
_LONG_SECONDS = 60  # a pause that the log shows
_AUTO = "auto-"
_JOB = lazy_regex(r"[A-Za-z0-9._-]{1,150}")

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class TopicPlan:
    """What a run sends to a topic. `is_new`: the run makes it."""

    topic: str
    partitions: int
    totals: TopicTotals
    limit: int | None
    is_new: bool


def execute(
    settings: RunSettings, start: Callable[[], AbstractContextManager[Runner]], progress: ProgressCallback | None = None
) -> RunResult:
    """Send the messages of a run; arguments and errors as of `engine.execute`."""
    return engine.execute_in_steps(settings, lambda: KafkaSink(settings), start, progress)


class KafkaSink(MessageSink):
    """The topics of one handler. A dry run ends before it sends.

    The messages of all tasks wait in the staging directory. Then the senders send them, in transactions that are
    remembered in the cluster, where another attempt goes on.
    """

    streamed = True
    keeps = False
    target: TopicOutput
    last: JobState | None = None
    record: JobState

    def __init__(self, settings: RunSettings) -> None:
        super().__init__(settings)
        assert settings.kafka is not None
        self.request: KafkaRequest = settings.kafka
        self.client = self.request.client
        self.plans: list[TopicPlan] = []
        self._staged: list[StagedMessages] = []
        self._records: dict[Pair, PartitionRecord] = {}
        self._earlier: int | None = None  # messages that earlier attempts have sent; None before that is known
        self._has_begun = False

    @property
    def shown(self) -> str:
        return self.client.shown

    @property
    def root(self) -> Location:
        return self._staging

    def check(self, held: ExitStack, dry: bool = False) -> None:
        check_request(self.settings, self.request)
        self.settings, converters = with_converters(self.settings, self.request)
        self.target = topic_output(self.settings, self.request, converters, self.client.topics())
        self.targets = (self.target,)
        self._staging = _staging_directory(self.request.staging, held)

    def open(self, run: Run) -> None:
        if self.request.job is None:
            return
        self.last, self._found = read_run(self.client, self.request.job, whole=False)
        if run.checkpoint is not None:
            self.unfinished = self._unfinished(run)

    def _unfinished(self, run: Run) -> Sequence[Any] | None:
        """Return the inputs of a run whose messages are in the cluster, wholly or in part, and not in the checkpoint.
        Raises: UsageError GG574 if checkpoint and cluster are not of one time."""
        assert run.checkpoint is not None
        last, has = self.last, run.checkpoint.last_run
        before, after = (None, None) if last is None else last.checkpoint
        if last is None and has is None:
            return None
        if last is not None and has == after and last.is_complete:
            return None
        if last is not None and has == before and last.inputs:
            return last.inputs
        message = (
            f"the checkpoint and the job `{self.request.job}` are not of one time: one of them is older, or another"
        )
        help = "use the `--job` and the `--checkpoint` of one series of runs, or other ones for both"
        raise UsageError("GG574", message, run.checkpoint.root.shown, help)

    def plan(self, run: Run) -> Job:
        job = super().plan(run)
        if self.request.is_dry:
            return job
        assert run.scan is not None
        self._fingerprint = self._fingerprint_of(run.scan)
        self.job_name = self.request.job or _AUTO + self._fingerprint
        if self.request.job is None:
            self.last, self._found = read_run(self.client, self.job_name, whole=False)
        check_run(self.last, self._fingerprint, self.job_name, run.mode, self.shown)
        sent = partition_records(self._found, self.job_name, self.last.run) if self.last and self.is_continued else {}
        self._earlier = sum(record.messages for record in sent.values())
        if self.last is not None and self.is_continued:
            if self.last.is_complete:
                message = "run %s of the job `%s` has sent these messages; ggfmt compares them, and sends none"
                log.warning(message, self.last.run, self.job_name)
            else:
                log.info("going on with run %s, of which a part was sent", self.last.run)
            self._moment = datetime.fromisoformat(self.last.moment)
        else:  # a fixed time, so that another attempt makes the same messages
            self._moment = job.current_timestamp or datetime.now()
        return replace(job, current_timestamp=self._moment)

    def _fingerprint_of(self, scan: Scan) -> str:
        """Return a fingerprint of what the messages follow from. The digests of what was sent find out the rest."""
        request = scan.request
        (config,) = self.settings.handlers
        contents = (examine(item.file) for item in scan.inputs)
        files = [content.stored for content in contents if not isinstance(content, Diagnostic)]
        entries = sorted((name, entry.value) for name, entry in config.entries.items())
        tables = sorted((name, table.fingerprint) for name, table in request.definitions.items())
        given = [*sorted(scan.source.given.items()), *sorted(self.request.converters.items())]
        shown: list[object] = [request.selection.options, request.keys]
        shown += ["op_ts"] * self.request.by_op_ts + ["tombstones"] * self.request.tombstones
        shown += ["headers"] * self.request.headers
        return fingerprint_of(files, scan.input_format, entries, self.settings.run_options, tables, given, *shown)

    @property
    def is_continued(self) -> bool:
        """Whether an earlier attempt has begun to send the messages of this run."""
        return self.last is not None and self.last.fingerprint == self._fingerprint

    def job(self, run: Run) -> Job:
        return replace(super().job(run), writer=TopicWriter, staging={self.target.root: self._staging})

    def tasks(self, run: Run) -> KafkaSink:
        super().tasks(run)
        if not self.target.in_order:
            self.scratch = self._staging.child("routed")
        in_one = self.request.atomic or self.request.pace or self.target.joined or isinstance(run.runner, InProcess)
        self._owners = 1 if in_one else min(MAX_OWNERS, run.runner.parallelism)
        return self

    def task(self, job: Job) -> Callable[..., MessageOutcome]:
        return super().task(replace(job, targets=(replace(self.target, owners=self._owners),)))

    def discard(self) -> None:
        with write_errors_stop(self._staging):
            Store(self._staging).delete_tree("")

    def go_on(self) -> None:
        with write_errors_stop(self._staging):
            Store(self._staging).delete(STOP_FILE)

    def collect(self, run: Run, job: Job, outcomes: list[MessageOutcome]) -> None:
        topics: dict[str, TopicTotals] = {}
        descriptions = Descriptions()
        for outcome in outcomes:
            written = outcome.written[self.target.handler]
            assert isinstance(written, TopicTaskOutput)
            self._staged += written.staged
            for topic, totals in written.topics.items():
                topics.setdefault(topic, TopicTotals()).add(totals)
            for topic, key, definition, size in written.descriptions:
                if descriptions.are_new(topic, key, definition):
                    topics.setdefault(topic, TopicTotals()).add(TopicTotals(1, size, size + self.target.overhead))
        if self.target.joined:
            topics = _joined_totals(self._staged, self.target.joined, self.target.overhead)
        super().collect(run, job, outcomes)
        self._check_topics(run, topics)
        self._check_pace()
        self.plans = self._planned(topics)
        handler = self.results.totals.handlers[self.target.handler]
        handler.size = sum(plan.totals.bytes for plan in self.plans)
        handler.topics = {plan.topic: plan.totals for plan in self.plans}

    def _check_pace(self) -> None:
        """Raises: UsageError GG577 if the pace has nothing to go by, or would take too long."""
        if self.request.pace is None or not self._staged:
            return
        seconds = pace_seconds(self.request.pace, staged_times(self._staged))
        self._seconds = seconds or 0.0
        if seconds is None:
            message, help = "`--pace` needs the times of changes, and no operation shows one", "use `--rate` instead"
            raise UsageError("GG577", message, help=help)
        if seconds > MAX_PACE_SECONDS:
            days = f"{seconds / 86_400:,.1f} days"
            message = f"with this `--pace` the messages take {days}, and Kafka forgets producers that do nothing for 7"
            raise UsageError("GG577", message, help="give a faster `--pace`, or shorter pauses, such as `--max-gap 1h`")
        log.info("with this `--pace` the messages take %s", timedelta(seconds=round(seconds)))

    def _waits(self, run: Run, seconds: float, due: float) -> None:
        """Show a pause, and when what follows is due, in seconds of the schedule."""
        run.tracker.set_waiting(seconds, self._seconds - due + seconds)
        if seconds >= _LONG_SECONDS:
            log.info("the next change is due at %s", f"{datetime.now() + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}")

    def _check_topics(self, run: Run, topics: Iterable[str]) -> None:
        """Raises: UsageError GG577 if the run would send to a topic that it reads, or to one of Kafka or ggfmt
        itself."""
        assert run.scan is not None
        read = {item.file.shown.rpartition("/")[0] for item in run.scan.inputs if item.file.offsets is not None}
        for topic in sorted(topics):
            is_read = f"{self.shown}/{topic}" in read
            if is_read or topic in OWN_TOPICS:
                owner = "ggfmt" if topic == STATE_TOPIC else "Kafka"
                message = "the topic is an input and an output" if is_read else f"the topic is one of {owner} itself"
                help = "send to other topics: `topicMappingTemplate`"
                raise UsageError("GG577", message, f"{self.shown}/{topic}", help)

    def _planned(self, topics: Mapping[str, TopicTotals]) -> list[TopicPlan]:
        """Check the topics. Raises: UsageError GG572 if the cluster lacks some, Abend GG573 if it would refuse a
        message."""
        known = self.target.partitions
        missing = sorted(topics.keys() - known.keys())
        if missing and self.request.create is None:
            others = f", and {counted(len(missing) - 1, 'other topic')}" if len(missing) > 1 else ""
            message = f"the cluster has no topic `{visible(missing[0])}`{others}"
            help = "make the topics, or let ggfmt make them with `--create-topics PARTITIONS[:REPLICATION]`"
            raise UsageError("GG572", message, Span(file=f"{self.shown}/{missing[0]}"), help)
        count = self.target.missing or 0
        plans = [
            TopicPlan(topic, known.get(topic, count), topics[topic], None, topic in missing) for topic in sorted(topics)
        ]
        return self._with_limits(plans, [plan.topic for plan in plans if not plan.is_new])

    def _with_limits(self, plans: Sequence[TopicPlan], there: Sequence[str]) -> list[TopicPlan]:
        """Return plans with `max.message.bytes` of the topics that are there, as far as the cluster says. Raises: Abend
        GG573 if it would refuse a message."""
        found = topic_settings(self.client, there) if there else {}
        limits = {topic: int(text) for topic, own in found.items() if (text := own.get("max.message.bytes"))}
        for plan in plans:
            limit = limits.get(plan.topic)
            if limit is not None and plan.totals.largest > limit and not self.request.is_dry:
                message = (
                    f"a message has {plan.totals.largest:,} bytes with its key and headers, and the topic takes "
                    f"{limit:,} (`max.message.bytes`); {self._sent_before}"
                )
                help = "raise `max.message.bytes` of the topic, or send each operation on its own with `mode=op`"
                raise Abend("GG573", message, f"{self.shown}/{plan.topic}", help)
            if plan.totals.times is not None:
                self._check_times(plan, plan.totals.times, found.get(plan.topic, {}))
        return [replace(plan, limit=limits.get(plan.topic)) for plan in plans]

    def _check_times(self, plan: TopicPlan, times: tuple[int, int], settings: Mapping[str, str]) -> None:
        """Raises: Abend GG573 if a topic would not take the times of messages, or would not keep the messages."""
        now = time.time() * 1000
        ages = {f"message.timestamp.{name}.max.ms": now - times[0] for name in ("before", "difference")}
        ages |= {"message.timestamp.after.max.ms": times[1] - now}
        if "delete" in settings.get("cleanup.policy", "delete"):
            ages["retention.ms"] = now - times[0]
        name = next((name for name, age in ages.items() if 0 <= int(settings.get(name) or -1) < age), None)
        if settings.get("message.timestamp.type") == "LogAppendTime":
            message, help = (
                "the topic has times of the broker (`message.timestamp.type=LogAppendTime`)",
                "set CreateTime",
            )
        elif name is not None:
            first, last = (
                datetime.fromtimestamp(each / 1000, timezone.utc).isoformat(" ", "seconds") for each in times
            )
            message = f"the changes are from {first} to {last}, and the topic has `{name}={settings[name]}`"
            help = f"raise `{name}` of the topic"
        else:
            return
        help += ", or leave out `--timestamps op_ts`"
        raise Abend("GG573", f"{message}; {self._sent_before}", f"{self.shown}/{plan.topic}", help)

    @property
    def _sent_before(self) -> str:
        """What of this run's messages is in the cluster before this attempt sends some, in words."""
        if self._earlier:
            return f"an earlier attempt has sent {counted(self._earlier, 'message')}, and this one none"
        return "this attempt has sent nothing" if self._earlier is None else "nothing was sent"

    def publish(self, run: Run, others: Sequence[CommitPart]) -> None:
        if self.request.is_dry:
            return
        with _resumable():
            make_state_topic(self.client)
            try:
                fenced = self._take_over(run)
                try:
                    self._send(run)
                    self._end(run, fenced)
                finally:
                    fenced.close()
            except Fenced:
                raise Abend.of(self._overtaken()) from None
        if others:
            commit(run.id, list(others))
        run.watch.lap(SENDING)
        totals = self.results.totals
        totals.steps[SENDING] = run.watch.seconds[SENDING]
        totals.seconds = time.perf_counter() - run.started
        self.manifests = {self.shown: self._manifest()}

    def _take_over(self, run: Run) -> Transactions:
        """Stop every earlier attempt of the job, and record this one. Raises: UsageError GG574 if another run came
        between."""
        fenced = Transactions(self.client, transactional_id(self.job_name))
        now, owners, count = self.last, 0, self._owners
        while owners < (count := max(count, 1 if now is None else now.owners)):  # as other attempts may have had more
            for owner in range(owners, count):
                Transactions(self.client, transactional_id(self.job_name, owner)).close()
            owners = count
            now, records = read_run(self.client, self.job_name)
        if (None if now is None else now.run) != (None if self.last is None else self.last.run):
            raise Abend.of(self._overtaken())
        wanted = {plan.topic: plan.partitions for plan in self.plans}
        sent = {} if now is None else partition_records(records, self.job_name, now.run)
        if now is not None:
            if self.is_continued:
                self._check_partitions(now.partitions, wanted)
            self._check_sent(now, sent)
        new = {plan.topic: plan.partitions for plan in self.plans if plan.is_new}
        make_topics(self.client, new, -1 if self.request.create is None else self.request.create[1])
        if new:
            self.plans = self._with_limits(self.plans, list(wanted))
        if self.is_continued:
            assert now is not None
            unsent = {topic: count for topic, count in wanted.items() if all(topic != name for name, _ in sent)}
            ids, begins = now.ids | topic_ids(self.client, wanted), now.begins
            for topic, found in self._ends(unsent).items():
                if ids.get(topic) != now.ids.get(topic) or any(map(gt, begins.get(topic, found), found)):
                    begins = {**begins, topic: found}  # another topic of the same name
            self.record = msgspec.structs.replace(now, session=uuid.uuid4().hex, owners=owners, ids=ids, begins=begins)
        else:
            self.record = JobState(
                run=run.id,
                session=uuid.uuid4().hex,
                moment=self._moment.isoformat(),
                fingerprint=self._fingerprint,
                version=VERSION,
                owners=owners,
                since=ends(self.client, [STATE])[STATE],
                partitions=wanted,
                ids=topic_ids(self.client, wanted),
                begins=self._ends(wanted),
                headers=self.request.headers,
            )
        if run.checkpoint is not None:
            had = run.checkpoint.last_run
            self.record.inputs, self.record.checkpoint = run.checkpoint.recorded, (had, run.id)
        fenced.commit({self.job_name: self.record.encoded()})
        self._has_begun = True
        self._records = partition_records(records, self.job_name, self.record.run)
        self._check_ends(self._ends(self.record.partitions))
        return fenced

    def _check_partitions(self, before: Mapping[str, int], now: Mapping[str, int]) -> None:
        for topic, count in before.items():
            if now.get(topic, count) != count:
                message = (
                    f"the topic had {count} partitions when this run began, and has {now[topic]} now: keys would move"
                )
                help = "send with another `--job` to a new topic, since this one already has a part of the messages"
                raise Abend("GG574", message, f"{self.shown}/{topic}", help)

    def _check_sent(self, last: JobState, sent: Mapping[Pair, PartitionRecord]) -> None:
        """Raises: Abend GG574 if topics have not what earlier attempts of this run have sent. Only warn if all was sent
        and is no longer kept, or if a topic was made again since another run of the job."""
        for topic, reason, is_made_again in changed_topics(self.client, last, sent):
            message = f"the topic does not have all that run {last.run} of this job has sent: {reason}"
            help = "send all again with another `--job`: messages that topics still have are then there twice"
            if self.is_continued and (is_made_again or not last.is_complete):
                raise Abend("GG574", message, f"{self.shown}/{topic}", help)
            if self.is_continued or is_made_again:
                log.warning("%s/%s: %s", self.shown, visible(topic), message)

    def _check_ends(self, ends: Mapping[str, Sequence[int]]) -> None:
        """Raises: Abend GG574 if a partition has fewer messages than this run has sent to it."""
        for topic, begins in self.record.begins.items():
            for number, (begin, end) in enumerate(zip(begins, ends[topic], strict=True)):
                record = self._records.get((topic, number))
                if end < begin + (0 if record is None else record.messages):
                    message = f"partition {number} ends before what this run has sent to it: the topic is another one"
                    help = "a topic was deleted, or the cluster has lost messages: send with another `--job`"
                    raise Abend("GG574", message, f"{self.shown}/{topic}", help)

    def _ends(self, topics: Mapping[str, int]) -> dict[str, list[int]]:
        found = ends(self.client, [(topic, number) for topic, count in topics.items() for number in range(count)])
        return {topic: [found[topic, number] for number in range(count)] for topic, count in topics.items()}

    def _send(self, run: Run) -> None:
        shares: dict[int, list[StagedMessages]] = {}
        for file in self._staged:
            shares.setdefault(file.owner, []).append(file)
        request = self.request
        sending = Sending(
            self.client,
            self.job_name,
            self.record.run,
            self.record.session,
            self.record.since,
            {plan.topic: plan.partitions for plan in self.plans},
            request.atomic,
            None if request.rate is None else request.rate / max(1, len(shares)),
            request.pace,
            self.target.joined,
            self.record.is_complete,
            max((plan.totals.largest for plan in self.plans), default=0),
            min((plan.limit for plan in self.plans if plan.limit is not None), default=1_000_000),
            request.headers,
        )
        sizes = [sum(file.size for file in share) for share in shares.values()]
        # A paced sender is part of this process, which shows its pauses, and interrupts them.
        runner, task = run.runner, partial(send, sending)
        if request.pace is not None:
            runner, task = InProcess(), partial(task, waits=partial(self._waits, run))
        progress = run.tracker.start_tasks(SENDING, sizes, runner.parallelism)
        outcomes: list[SendOutcome] = runner.run(task, list(shares.values()), progress)
        if any(outcome.overtaken for outcome in outcomes):
            raise Abend.of(self._overtaken())
        made = {pair: record for outcome in outcomes for pair, record in outcome.records.items()}
        for pair, record in self._records.items():
            if pair not in made or made[pair].messages < record.messages:
                raise Abend.of(other_messages(self.client, self.job_name, pair))
        self._records = made

    def _end(self, run: Run, fenced: Transactions) -> None:
        digests: dict[str, list[tuple[int, str]]] = {}
        for topic, count in self.record.partitions.items():
            none = PartitionRecord(self.record.run, 0, "")
            of_topic = [self._records.get((topic, number), none) for number in range(count)]
            digests[topic] = [(record.messages, record.digest) for record in of_topic]
        self.record.ends, self.record.digests = self._ends(self.record.partitions), digests
        self._check_ends(self.record.ends)
        self.record.is_complete = True
        fenced.commit({self.job_name: self.record.encoded()})

    def _overtaken(self) -> Diagnostic:
        message = f"another run of the job `{visible(self.job_name)}` has taken over; it goes on where this one was"
        help = "wait for the other run; give runs that are to work side by side a `--job` each"
        return Diagnostic("GG575", message, self.shown, help)

    def _manifest(self) -> dict[str, Any]:
        record = self.record
        return {
            "run": record.run,
            "job": self.job_name,
            "handler": self.target.handler,
            "topics": {plan.topic: {"partitions": plan.partitions, **plan.totals.described} for plan in self.plans},
        }

    def report(self, run: Run) -> RunResult:
        return replace(super().report(run), topics=tuple(self.plans))

    def added(self, before: RunResult, after: RunResult) -> RunResult:
        plans = {plan.topic: plan for plan in before.topics}
        for plan in after.topics:
            known = plans.get(plan.topic)
            plans[plan.topic] = plan if known is None else replace(plan, is_new=known.is_new)
            if known is not None:
                plan.totals.add(known.totals)
        result = super().added(before, after)
        if plans:
            result.totals.handlers[self.target.handler].topics = {name: plan.totals for name, plan in plans.items()}
        return replace(result, topics=tuple(plans.values()))

    def interrupted(self, run: Run) -> KeyboardInterrupt | CommittedWithErrors:
        if not self._has_begun:
            return KeyboardInterrupt(f"{signals.interruption()}; {self._sent_before}")
        if self.record.is_complete:
            message = f"{signals.interruption()}, but all messages are sent"
            help = "run again with the same `--job`: the run sends nothing, and ends what is left"
            return CommittedWithErrors("GG550", message, self.shown, help)
        return KeyboardInterrupt(f"{signals.interruption()}; {_GOES_ON}")


_GOES_ON = "a part of the messages may be sent; the same command goes on where the last transaction ended"


@contextmanager
def _resumable() -> Iterator[None]:
    """Say what to do about an error that interrupts a run which may have sent a part."""
    try:
        yield
    except Abend as error:
        (diagnostic,) = error.diagnostics
        raise Abend.of(diagnostic if diagnostic.help else replace(diagnostic, help=_GOES_ON)) from None


def check_request(settings: RunSettings, request: KafkaRequest) -> None:
    """Raises: UsageError GG577 for options that do not go with Kafka."""
    handlers = settings.handlers
    names = ", ".join(f"`{visible(handler.name)}`" for handler in handlers)
    for applies, message, help in (
        (
            len(handlers) > 1,
            f"a run sends the messages of one handler, but the handlers are {names}",
            "choose one with `--handler`",
        ),
        (settings.quarantine, "topics cannot contain rejects", "leave out `--on-reject quarantine`"),
        (settings.mode == "overwrite", "messages that are in a topic cannot be replaced", "use `--mode append`"),
        (
            settings.checkpoint is not None and request.job is None,
            "`--checkpoint` needs the name of the job that it belongs to",
            "give `--job NAME`, the same for each run",
        ),
        (
            request.job is not None and not _JOB.fullmatch(request.job),
            f"`{visible(request.job or '')}` is not a valid name of a job",
            "use up to 150 letters, digits, `.`, `_` and `-`",
        ),
        *(
            (
                given is not None and request.atomic,
                f"`--atomic` makes one transaction, which must not wait for `{option}`",
                "leave out one of them",
            )
            for option, given in (("--rate", request.rate), ("--pace", request.pace))
        ),
        (
            any(handler.executed_handlers for handler in handlers),
            "event handlers make files",
            "pass a directory to `-o`",
        ),
    ):
        if applies:
            raise UsageError("GG577", message, help=help)


def with_converters(settings: RunSettings, request: KafkaRequest) -> tuple[RunSettings, Converters | None]:
    """Return the settings with what the converters of a handler of Kafka Connect make; None for another handler."""
    (config,) = settings.handlers
    if not FORMATS[config.format].handler_type:
        return settings, None
    file = None if config.kafka is None else config.kafka.kafka_producer_config_file
    converters = Converters.of(request.converters, file or "")
    assert isinstance(config.options, ConnectOptions)
    format, options = converters.format_of(config.options)
    return replace(settings, handlers=(replace(config, format=format, options=options),)), converters


def topic_output(
    settings: RunSettings, request: KafkaRequest, converters: Converters | None, partitions: Mapping[str, int]
) -> TopicOutput:
    """Return the output of the one handler. Raises: ConfigurationError GG577 if what it wants is not known."""
    (config,) = settings.handlers
    own = HandlerSettings.of(config, settings.run_options)
    framing = None if converters is not None else own.write_support.framing(None, own.options, own.context)
    if framing is not None and framing.container:
        message = f"the format `{own.format}` makes files, and no messages"
        raise UsageError("GG577", message, config.place("format"), "choose a format of messages")
    addresses = AddressSettings.of(config, settings.run_options, own.context)
    if addresses.by_transaction and framing is not None and not framing.joins:
        message = f"with `mode=tx` a message is a transaction, and one of `{own.format}` is one operation"
        raise UsageError("GG577", message, config.place("mode"), "set `mode=op` in the handler file")
    if addresses.by_transaction and request.tombstones:
        message = "a tombstone needs a key, and with `mode=tx` the message of a transaction has none"
        help = "leave out `--tombstones`, or set `mode=op` in the handler file"
        raise UsageError("GG577", message, config.place("mode"), help)
    maps = settings.selection.maps
    grouping = Grouping() if maps is None else Grouping(*maps.group)
    if addresses.by_transaction and grouping.least > 1:
        log.info(
            "a message has whole transactions of the source, up to %d operations or more (GROUPTRANSOPS); groups that "
            "ended early are not known",
            grouping.least,
        )
    assert config.kafka is not None
    if config.kafka.schema_topic_name and FORMATS[own.format].schema_kind == "json":
        message = f"whether GoldenGate sends the schemas of `{own.format}` to a topic is not known"
        unset = f"--set gg.handler.{config.name}.schemaTopicName="
        help = f"let GoldenGate send these; if no consumer reads schemas, `{unset}` sends the messages alone"
        raise ConfigurationError("GG577", message, config.place("schemaTopicName"), help)
    return TopicOutput(
        own,
        Location(StoreAddress(SCHEME, f"{request.client.shown}/", request.client.shown), ""),
        config.handler.max_file_size,
        OutputLayout("", None, None, (), ""),
        shown_place=f"topics of {request.client.shown}",
        addresses=addresses,
        partitions=partitions,
        missing=None if request.create is None else request.create[0],
        joined=grouping if addresses.by_transaction else None,
        in_order=request.pace is not None or not _has_own_topics(addresses.topic),
        schemas=config.kafka.schema_topic_name or None,
        converters=converters,
        is_dry=request.is_dry,
        by_op_ts=request.by_op_ts,
        is_paced=request.pace is not None,
        headers=request.headers,
        tombstones=request.tombstones,
    )


def _has_own_topics(topic: Sequence[Piece]) -> bool:
    """Return whether no two tables share a topic, so that their order to each other does not matter."""
    names = [piece.keyword for piece in topic if isinstance(piece, NamePiece)]
    return TABLE_NAMES[0] in names and all(isinstance(piece, (Literal, NamePiece)) for piece in topic)


def _staging_directory(given: str | None, held: ExitStack) -> Location:
    """Return a directory for this run alone, which `held` deletes."""
    if given is None:
        return Location.local(directory_for_stream(held))
    root = opened(given, "the staging directory").child(f"ggfmt-{uuid.uuid4().hex}")
    held.callback(Store(root).delete_tree, "")
    return root


def _joined_totals(files: Sequence[StagedMessages], joined: Grouping, overhead: int) -> dict[str, TopicTotals]:
    totals: dict[str, TopicTotals] = {}
    for batch in staged(files, joined):
        columns = non_null_values(batch["topic"]), non_null_values(batch["value"]), batch["timestamp"].to_pylist()
        for topic, value, moment in zip(*columns, strict=True):
            times = None if moment is None else (moment, moment)
            totals.setdefault(topic, TopicTotals()).add(TopicTotals(1, len(value), len(value) + overhead, times))
    return totals
