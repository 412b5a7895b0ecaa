"""How long ggfmt takes to read topics of Kafka and to send to them, beside plain clients of confluent-kafka, in turns.

usage: python tests/bench/kafka.py [--messages N] [--topics N] [--rounds N] [CASE...]

one     N messages in one partition
many    20 messages, in one transaction, in each of N topics with three partitions
json    N messages to files of JSON; beside the same lines from a file, and the plain consumer
send    N messages; beside the conversion to files, and 1.2 times a plain transactional producer
topics  20 messages to each of N topics with three partitions, which ggfmt makes
verify  the messages of `topics` are checked; beside the plain consumer

In `one` and `many`, both sides know the ranges and count the messages; the plain consumer assigns all partitions at
once, and the turns of a side are a consumer each. In `json`, `send` and `topics`, ggfmt is a command, on one core. A
line has the medians of seconds and of CPU seconds, and the ratios of ggfmt to the other side. The broker is that of the
tests, in memory on this machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from confluent_kafka import KafkaError, Producer, TopicPartition
from kafka_broker import KafkaBroker, running_broker

from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.consume import Cluster, Pair, Partition
from ggfmt.kafka.jobs import make_topics
from ggfmt.sinks.kafka.verification import verify

VALUE = b'{"table":"GG.TCUSTORD","op_type":"I","op_ts":"2024-06-02 22:14:00.000000","after":{"ID":%d,"NAME":"%s"}}'
Ranges = Mapping[Pair, tuple[int, int]]


def fill(broker: KafkaBroker, messages: int, topics: int) -> dict[str, list[Pair]]:
    """Make and fill the topics. Return the partitions of each case."""
    names = {"one": 1, **{f"many{number}": 3 for number in range(topics)}}
    make_topics(ClientSettings(broker.brokers), names)
    common = {"bootstrap.servers": broker.brokers, "queue.buffering.max.messages": 1_000_000}
    plain, transactional = Producer(common), Producer({**common, "transactional.id": "bench"})
    for number in range(messages):
        plain.produce("one", VALUE % (number, b"x" * 200), b"%d" % number)
    plain.flush(60)
    transactional.init_transactions(60)
    transactional.begin_transaction()
    for name in [*names][1:]:
        for number in range(20):
            transactional.produce(name, VALUE % (number, b"x" * 20), b"%d" % number)
        transactional.poll(0)
    transactional.commit_transaction(60)
    pairs = [(name, number) for name, count in names.items() for number in range(count)]
    return {"one": pairs[:1], "many": pairs[1:]}


def by_ggfmt(settings: ClientSettings, ranges: Ranges) -> int:
    with closing(Cluster(settings)) as cluster:
        parts = [Partition(*pair, *offsets, "") for pair, offsets in ranges.items()]
        return sum(len(messages) for _, messages in cluster.read(parts))


def by_plain_consumer(settings: ClientSettings, ranges: Ranges) -> int:
    with closing(settings.consumer(fetch_wait_max_ms=50)) as consumer:
        left = {pair for pair, (start, end) in ranges.items() if start < end}
        consumer.assign([TopicPartition(*pair, ranges[pair][0]) for pair in left])
        count = 0
        while left:
            first = consumer.poll(0.1)
            for message in [] if first is None else [first, *consumer.consume(999, 0)]:
                error = message.error()
                count += error is None
                pair = message.topic() or "", message.partition() or 0
                if (error is not None and error.code() == KafkaError._PARTITION_EOF) or (
                    error is None and (message.offset() or 0) + 1 >= ranges[pair][1]
                ):
                    left.discard(pair)
        return count


def by_plain_producer(settings: ClientSettings, topic: str, messages: int) -> None:
    producer = settings.producer(transactional_id="plain", queue_buffering_max_messages=10_000_000)
    producer.init_transactions(60)
    for start in range(0, messages, 50_000):
        producer.begin_transaction()
        rows = range(start, min(start + 50_000, messages))
        producer.produce_batch(topic, [{"key": b"%d" % n, "value": line(n, "GG.TCUSTORD")} for n in rows])
        producer.commit_transaction(60)


def line(number: int, table: str, width: int = 200) -> bytes:
    value = VALUE.replace(b"GG.TCUSTORD", table.encode()).replace(b'"after"', b'"primary_keys":["ID"],"after"')
    return value % (number, b"x" * width)


HANDLER = """gg.handlerlist=k
gg.handler.k.type=kafka
gg.handler.k.mode=op
gg.handler.k.format=json
gg.handler.k.keyMappingTemplate=${primaryKeys}
gg.handler.k.topicMappingTemplate="""

Cost = tuple[float, float]  # seconds, and CPU seconds


def by_command(*arguments: str) -> Cost:
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "ggfmt", "-q", *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, arguments
    return time.perf_counter() - start, used.ru_utime + used.ru_stime


def by_call(task: Callable[[], object]) -> Cost:
    start, cpu = time.perf_counter(), time.process_time()
    task()
    return time.perf_counter() - start, time.process_time() - cpu


def show(case: str, costs: Mapping[str, Sequence[Cost]]) -> None:
    """Print the medians of ggfmt and of the other sides, and the ratios of ggfmt to their sum."""
    medians = {side: [median(each) for each in zip(*taken, strict=True)] for side, taken in costs.items()}
    texts = [f"{side} {seconds:.3f} s, CPU {cpu:.3f}" for side, (seconds, cpu) in medians.items()]
    (seconds, cpu), *others = medians.values()
    if others:
        whole, whole_cpu = (sum(each) for each in zip(*others, strict=True))
        texts.append(f"ratio {seconds / whole:.2f}, CPU {cpu / whole_cpu:.2f}")
    print(f"{case}: {'; '.join(texts)}", flush=True)


class Measurement:
    def __init__(self, broker: KafkaBroker, directory: Path, options: argparse.Namespace) -> None:
        self.broker, self.settings, self.directory = broker, ClientSettings(broker.brokers), directory
        self.messages, self.topics, self.rounds = options.messages, options.topics, range(options.rounds)

    def file(self, name: str, lines: Iterable[bytes]) -> str:
        (self.directory / name).write_bytes(b"".join(each + b"\n" for each in lines))
        return str(self.directory / name)

    def to_files(self, source: str) -> Cost:
        return by_command("run", source, "--to", "json", "--master", "none[1]", "--mode", "overwrite",
                          "-o", str(self.directory / f"of-{source.rpartition('/')[2]}"))  # fmt: skip

    def to_topics(self, source: str, job: str, topic: str) -> Cost:
        (self.directory / "kafka.properties").write_text(f"{HANDLER}{topic}\n")
        return by_command("run", source, "-c", str(self.directory / "kafka.properties"), "-o", self.broker.address,
                          "--job", job, "--create-topics", "3", "--master", "none[1]")  # fmt: skip

    def consume(self, pairs: Sequence[Pair]) -> Callable[[], Cost]:
        with closing(Cluster(self.settings)) as cluster:
            ranges = cluster.bounds(pairs)
        return lambda: by_call(lambda: by_plain_consumer(self.settings, ranges))

    def take(self, case: str, sides: Mapping[str, Callable[[], Cost]]) -> None:
        taken = [{side: measure() for side, measure in sides.items()} for _ in self.rounds]
        show(case, {side: [costs[side] for costs in taken] for side in sides})

    def measure(self, cases: Sequence[str]) -> None:
        lines = self.file("lines.json", (line(number, "GG.TCUSTORD") for number in range(self.messages)))
        if "json" in cases:
            topic = self.broker.topic(1, "json")
            by_plain_producer(self.settings, topic, self.messages)
            address, plain = f"{self.broker.address}/{topic}", self.consume([(topic, 0)])
            self.take("json", {"ggfmt": lambda: self.to_files(address), "files": lambda: self.to_files(lines),
                               "plain": plain})  # fmt: skip
        if "send" in cases:
            topic, names = self.broker.topic(3), count()

            def send() -> Cost:
                return self.to_topics(lines, name := f"send{next(names)}", name)

            def plain_producer() -> Cost:
                costs = by_call(lambda: by_plain_producer(self.settings, topic, self.messages))
                return costs[0] * 1.2, costs[1] * 1.2

            sides = {"ggfmt": send, "files": lambda: self.to_files(lines), "1.2 * plain": plain_producer}
            self.take("send", sides)
        if {"topics", "verify"} & {*cases}:
            tables = [f"T{number}" for number in range(self.topics)]
            source = self.file("many.json", (line(n, f"GG.{table}", 20) for n in range(20) for table in tables))
            show(f"topics, {20 * self.topics} messages", {"ggfmt": [self.to_topics(source, "many", "${tableName}")]})
        if "verify" in cases:
            pairs = [(table, number) for table in tables for number in range(3)]
            sides = {"ggfmt": lambda: by_call(lambda: verify(self.settings, "many")), "plain": self.consume(pairs)}
            self.take(f"verify, {len(pairs)} partitions", sides)


SIDES = {"ggfmt": by_ggfmt, "plain": by_plain_consumer}
CASES = ["one", "many", "json", "send", "topics", "verify"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--topics", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("cases", metavar="CASE", nargs="*", default=CASES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, running_broker(Path(directory)) as broker:
        settings = ClientSettings(broker.brokers)
        filled = fill(broker, options.messages, options.topics) if {"one", "many"} & {*options.cases} else {}
        for case, pairs in filled.items():
            with closing(Cluster(settings)) as cluster:
                ranges = cluster.bounds(pairs)
            whole = options.messages if case == "one" else 20 * options.topics
            costs: dict[str, list[Cost]] = {side: [] for side in SIDES}
            for _ in range(options.rounds):
                for side, read in SIDES.items():
                    counts: list[int] = []
                    costs[side].append(by_call(lambda: counts.append(read(settings, ranges))))  # noqa: B023
                    assert counts == [whole]
            show(f"{case}, {len(pairs)} partitions", costs)
        Measurement(broker, Path(directory), options).measure(options.cases)


if __name__ == "__main__":
    main()
