"""Runs to Kafka that meet harm, and what consumers of their messages have to see.

As a program: `kafka_runs.py POINT ARGUMENT...`, a command of ggfmt that sends a signal to itself at a point, which
`Point` describes; `-` for none. Consumers are of librdkafka alone, and the expected values are the lines of the input.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition
from places import ROOT

TABLES = ("ORDERS", "ITEMS", "CUSTOMERS")
HANDLER = """gg.handlerlist=k
gg.handler.k.type=kafka
gg.handler.k.mode=op
gg.handler.k.format=json
gg.handler.k.format.jsonDelimiter=
gg.handler.k.format.includePrimaryKeys=true
gg.handler.k.topicMappingTemplate=${fullyQualifiedTableName}
gg.handler.k.keyMappingTemplate=${primaryKeys}
"""
_TIME = re.compile(rb'"current_ts":"([^"]*)"')
_OP_TS = re.compile(rb'"op_ts":"([^"]*)"')

Values = dict[tuple[str, bytes], list[bytes | None]]  # of each topic and key, in order


@dataclass(frozen=True)
class Point:
    """The nth call of a function of ggfmt, before or after it, and what happens there: `KILL`, `STOP`, or a pause of
    some seconds. `commit`: messages of a transaction; `pause`: seconds before each call. `owners`: on Spark, the
    senders whose first attempts it comes to; the others are as they are."""

    name: str = "ggfmt.sinks.kafka.send:_Sender._commit"
    call: int = 1
    after: bool = False
    harm: str | float = "KILL"
    commit: int = 2_000
    pause: float = 0.0
    owners: tuple[int, ...] = ()


class Changes:
    """Changes of three tables in one schema of their own, and the configuration of their handler. `gaps`: seconds
    before each change, by its time, which is recent; some changes are deletes then, with `tombstones` behind them."""

    def __init__(
        self,
        directory: Path,
        count: int,
        keys: int,
        seed: int = 1,
        files: int = 1,
        gaps: Sequence[float] = (),
        tombstones: bool = False,
    ) -> None:
        chance = random.Random(seed)
        start = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=5) - timedelta(seconds=sum(gaps))
        self._tombstones = tombstones
        self._times = [start + timedelta(seconds=at) for at in accumulate(gaps)]
        self.directory = directory
        self.schema = f"S{uuid.uuid4().hex[:8].upper()}"
        self.topics = [f"{self.schema}.{table}" for table in TABLES]
        self.source = directory / "changes"
        self.source.mkdir(parents=True)
        self.config = directory / "kafka.properties"
        self.config.write_text(HANDLER)
        self.expected: Values = defaultdict(list)
        before: dict[tuple[str, int], dict[str, Any]] = {}
        for number in range(files):
            with (self.source / f"{number}.json").open("wb") as file:
                for place in range(number * count // files, (number + 1) * count // files):
                    line = self._line(place, chance, keys, before)
                    file.write(line + b"\n")
        self.count = sum(map(len, self.expected.values()))

    def _line(self, number: int, chance: random.Random, keys: int, before: dict[tuple[str, int], Any]) -> bytes:
        topic, key = chance.choice(self.topics), chance.randrange(keys)
        image = {"ID": key, "NAME": f"name {number} {'x' * 40}", "CITY": "Zürich", "STATUS": "OPEN"}
        is_delete = bool(self._times) and (topic, key) in before and number % 3 == 0
        time = self._times[number] if self._times else datetime(2026, 1, 2, 16, 45)
        message: dict[str, Any] = {
            "table": topic,
            "op_type": "D" if is_delete else "U" if (topic, key) in before else "I",
            "op_ts": f"{time:%Y-%m-%d %H:%M:%S.%f}",
            "current_ts": "2026-01-02T16:45:00.000000",
            "pos": f"{number:020d}",
            "primary_keys": ["ID"],
        }
        if (topic, key) in before:
            message["before"] = before.pop((topic, key))
        if not is_delete:
            message["after"] = before[topic, key] = image
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
        values: list[bytes | None] = [_TIME.sub(b"", line), None]
        self.expected[topic, b"%d" % key] += values if is_delete and self._tombstones else values[:1]
        return line

    def command(self, address: str, *options: str) -> list[str]:
        given = ["-q", "run", str(self.source), "-c", str(self.config), "-o", address]
        return [*given, *(() if "--master" in options else ("--master", "none")), *options]

    def start(self, address: str, *options: str, point: Point | None = None, **others: Any) -> subprocess.Popen[str]:
        at = "-" if point is None else json.dumps(vars(point))
        (self.directory / "tmp").mkdir(exist_ok=True)
        environment = {**os.environ, "TMPDIR": str(self.directory / "tmp"), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, __file__, at, *self.command(address, *options)]
        return subprocess.Popen(
            command, cwd=self.directory, env=environment, text=True, stderr=subprocess.PIPE, **others
        )

    def run(self, address: str, *options: str, point: Point | None = None, seconds: float = 120) -> tuple[int, str]:
        """Return the exit code, negative for a signal, and what the command says on standard error."""
        process = self.start(address, *options, point=point)
        return ended(process, seconds)

    def assert_exact(self, brokers: str, days: int = 1) -> None:
        """Each message is there once, in the order of its key, in the partition that Java's producer takes; those of
        each day show one time."""
        found = Found(brokers, self.topics)
        assert found.count == self.count
        assert found.values.keys() == self.expected.keys()
        wrong = [place for place, values in found.values.items() if values != self.expected[place]]
        assert not wrong, f"{len(wrong)} keys differ, the first is {wrong[0]}"
        assert len(found.moments) == days
        for (topic, key), partitions in found.partitions.items():
            assert partitions == {java_partition(key, found.counts[topic])}, key


def ended(process: subprocess.Popen[str], seconds: float = 120) -> tuple[int, str]:
    try:
        _, text = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        _, text = process.communicate()
        raise AssertionError(f"the command goes on after {seconds} seconds: {text[-2000:]}") from None
    assert "Traceback" not in text, text
    return process.returncode, text


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    """Return once the process has stopped itself."""
    limit = time.monotonic() + 60
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert process.poll() is None, f"it ended: {ended(process)}"
        assert time.monotonic() < limit
        time.sleep(0.02)


class Stamp(NamedTuple):
    """What a message has beside its key; `time` in seconds since 1970."""

    time: float
    headers: dict[str, bytes]
    value: bytes | None


class Found:
    """What a consumer sees of some topics: committed messages alone, or also others with another `isolation`."""

    def __init__(self, brokers: str, topics: Sequence[str], isolation: str = "read_committed") -> None:
        self.values: Values = defaultdict(list)
        self.partitions: dict[tuple[str, bytes], set[int]] = defaultdict(set)
        self.moments: set[bytes] = set()
        self.count = 0
        self.counts: dict[str, int] = {}
        self.stamps: dict[tuple[str, int], list[Stamp]] = defaultdict(list)  # of each partition, in order
        consumer = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
        try:
            known = consumer.list_topics(timeout=10).topics
            self.counts = {topic: len(known[topic].partitions) for topic in topics if topic in known}
            waiting = {(topic, number) for topic, count in self.counts.items() for number in range(count)}
            consumer.assign([TopicPartition(*place, 0) for place in waiting])
            limit = time.monotonic() + 120
            while waiting:
                assert time.monotonic() < limit, f"no end of {waiting}"
                for message in consumer.consume(10_000, 0.05):
                    error = message.error()
                    if error is None:
                        self._add(message)
                    else:
                        assert error.code() == KafkaError._PARTITION_EOF, error
                        waiting.discard((message.topic(), message.partition()))
        finally:
            consumer.close()

    def _add(self, message: Any) -> None:
        place, value = (message.topic(), message.key()), message.value()
        self.moments |= set(_TIME.findall(value or b""))
        self.values[place].append(None if value is None else _TIME.sub(b"", value))
        self.partitions[place].add(message.partition())
        stamp = Stamp(message.timestamp()[1] / 1000, dict(message.headers() or ()), value)
        self.stamps[message.topic(), message.partition()].append(stamp)
        self.count += 1

    def assert_replayed(self, job: str) -> None:
        """Messages have the times of their changes, and headers that count them in their partition."""
        assert len({stamp.headers["ggfmt.run"] for stamps in self.stamps.values() for stamp in stamps}) <= 1
        for stamps in self.stamps.values():
            numbers = [stamp.headers["ggfmt.sequence"] for stamp in stamps]
            assert numbers == [b"%d" % number for number in range(1, len(stamps) + 1)]
            assert {stamp.headers["ggfmt.job"] for stamp in stamps} == {job.encode()}
            times = [stamp.time for stamp in stamps]
            wanted: list[float] = []
            for stamp in stamps:  # a tombstone has the time of the delete before it
                found = None if stamp.value is None else _OP_TS.search(stamp.value)
                text = "" if found is None else f"{found[1].decode()}+0000"
                wanted.append(datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f%z").timestamp() if text else wanted[-1])
            assert [int(each * 1000) for each in times] == [int(each * 1000) for each in wanted]


def java_partition(key: bytes, count: int) -> int:
    """Return the partition of Kafka's own producer: murmur2 of 32 bits, as its source has it."""
    multiplier, mask = 0x5BD1E995, 0xFFFFFFFF
    hash = 0x9747B28C ^ len(key)
    for at in range(0, len(key) - len(key) % 4, 4):
        word = int.from_bytes(key[at : at + 4], "little") * multiplier & mask
        hash = (hash * multiplier & mask) ^ ((word ^ word >> 24) * multiplier & mask)
    rest = key[len(key) - len(key) % 4 :]
    if rest:
        hash = (hash ^ int.from_bytes(rest, "little")) * multiplier & mask
    hash = (hash ^ hash >> 13) * multiplier & mask
    return ((hash ^ hash >> 15) & 0x7FFFFFFF) % count


def do_harm(point: Point) -> Callable[[], None]:
    """Prepare the harm in this process, and in those that it forks. Return what removes it."""
    from ggfmt.sinks.kafka import send

    module, _, name = point.name.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, name = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    real, usual = getattr(owner, name), send._COMMIT_MESSAGES
    calls: list[None] = []

    def harm() -> None:
        calls.append(None)
        if len(calls) == point.call:
            if isinstance(point.harm, str):
                os.kill(os.getpid(), getattr(signal, f"SIG{point.harm}"))
            else:
                os.write(2, b"pause\n")
                time.sleep(point.harm)

    def harmed(*arguments: Any, **named: Any) -> Any:
        time.sleep(point.pause)
        if not point.after:
            harm()
        result = real(*arguments, **named)
        if point.after:
            harm()
        return result

    def remove() -> None:
        setattr(owner, name, real)
        send._COMMIT_MESSAGES = usual

    setattr(owner, name, harmed)
    send._COMMIT_MESSAGES = point.commit
    return remove


def do_harm_on_spark(point: Point) -> None:
    """Prepare the harm in the tasks of Spark; each leaves a mark."""
    from ggfmt.spark.jobs import SparkJobs

    run, marks = SparkJobs.run, Path.cwd() / "marks"
    marks.mkdir(exist_ok=True)

    def harmed_run(jobs: SparkJobs, task: Any, *arguments: Any) -> Any:
        def harmed(share: Any, attempt: int) -> Any:
            owner = share[0].owner
            mark, kept = marks / f"{owner}", point if owner in point.owners else None
            is_first = not mark.exists()
            with mark.open("a") as file:
                file.write(f"{attempt}\n")
            remove = do_harm(kept) if is_first and kept is not None else lambda: None
            try:
                return task(share, attempt)
            finally:
                remove()

        is_sender = isinstance(task, partial) and task.func.__name__ == "send"
        return run(jobs, harmed if is_sender else task, *arguments)

    SparkJobs.run = harmed_run  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    from ggfmt import __main__ as program

    at, *sys.argv[1:] = sys.argv[1:]
    if at != "-":
        found = Point(**json.loads(at))
        (do_harm_on_spark if found.owners else do_harm)(found)
    sys.exit(program.run())
