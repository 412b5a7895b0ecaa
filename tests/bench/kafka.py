"""What Kafka costs beside the conversion: seconds of CPU for 100,000 messages.

usage: python tests/bench/kafka.py [--rounds N] [--messages N]

Starts the broker of the tests. In turns, each in a process of its own: librdkafka alone sends messages in transactions,
compressed with lz4, one by one and in batches; ggfmt sends them, and writes them into files. What sending costs is the
difference. Likewise for reading: librdkafka alone reads the topic; ggfmt reads it, and reads a dump of it. Prints
medians, and the ratio to librdkafka alone, whose start does not count, with and without that of ggfmt's clients. A side
that this ggfmt cannot do is left out.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from kafka_broker import KafkaBroker, running_broker
from places import ROOT

KEYS = 5_000
PRODUCER = {"linger.ms": 20, "queue.buffering.max.messages": 1_000_000, "compression.type": "lz4"}
START = "of that: to start"
OF_JAVA = ("linger.ms", "compression.type")
BATCH, FEW = 5_000, 100
HANDLER = """gg.handlerlist=k
gg.handler.k.type=kafka
gg.handler.k.mode=op
gg.handler.k.format=json
gg.handler.k.format.jsonDelimiter={delimiter}
gg.handler.k.topicMappingTemplate={topic}
gg.handler.k.keyMappingTemplate=${{primaryKeys}}
"""


def write_changes(path: Path, count: int) -> None:
    """Write updates whose messages have about 316 bytes."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            before = {"ID": number % KEYS, "NAME": f"name {number}", "CITY": "Zürich", "STATUS": "OPEN"}
            head = {"table": "SHOP.ORDERS", "op_type": "U", "op_ts": "2026-01-02 16:45:00.000000"}
            images = {"before": before, "after": {**before, "STATUS": "CLOSED"}}
            whole = {**head, "pos": f"{number:020d}", "primary_keys": ["ID"], **images}
            file.write(json.dumps(whole, ensure_ascii=False, separators=(",", ":")) + "\n")


def cpu(*command: object) -> float:
    """Return the seconds of CPU of a command and its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def alone(kind: str, broker: KafkaBroker, topic: str, messages: Path) -> float:
    """Return the seconds of librdkafka alone, without the start of its process."""
    command = [sys.executable, __file__, "--alone", kind, broker.brokers, topic, str(messages)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def ggfmt(*arguments: object) -> float:
    return cpu(sys.executable, "-m", "ggfmt", "-q", *arguments, "--master", "none[1]")


class Bench:
    def __init__(self, directory: Path, broker: KafkaBroker, count: int) -> None:
        self.directory, self.broker = directory, broker
        self.source, self.messages, self.dump = (directory / name for name in ("in.json", "messages", "dump"))
        write_changes(self.source, count)
        self.few = directory / "few.json"
        write_changes(self.few, FEW)
        (directory / "producer.properties").write_text("".join(f"{name}={PRODUCER[name]}\n" for name in OF_JAVA))
        self.producer = ("--producer-config", directory / "producer.properties")
        self.config(directory / "out.properties", "${tableName}", "CDATA[\\n]")
        ggfmt("run", self.source, "-c", directory / "out.properties", "-o", directory / "out")
        written = [path for path in (directory / "out" / "k").rglob("*") if path.is_file()]
        self.messages.write_bytes(b"".join(path.read_bytes() for path in written))
        self.topic = self.sent()
        with self.dump.open("wb") as file:
            for partition, found in enumerate(broker.messages(self.topic)):
                for offset, (key, value) in enumerate(found):
                    place = {"topic": self.topic, "partition": partition, "offset": offset}
                    payload = {"key": (key or b"").decode(), "payload": (value or b"").decode()}
                    file.write(json.dumps({**place, **payload}).encode() + b"\n")

    def config(self, path: Path, topic: str, delimiter: str = "") -> Path:
        path.write_text(HANDLER.format(topic=topic, delimiter=delimiter))
        return path

    def sent(self, source: Path | None = None) -> str:
        """Let ggfmt send to a new topic, and return it."""
        topic = self.broker.topic(3)
        config = self.config(self.directory / "kafka.properties", topic)
        self.seconds = ggfmt("run", source or self.source, "-c", config, "-o", self.broker.address, *self.producer)
        return topic

    def files(self, source: object, number: int, *options: str) -> float:
        config = self.directory / "out.properties"
        return ggfmt("run", source, "-c", config, "-o", self.directory / f"out-{number}-{uuid.uuid4().hex}", *options)

    def turn(self, number: int) -> dict[str, float]:
        found = {kind: alone(kind, self.broker, self.broker.topic(3), self.messages) for kind in ("single", "batch")}
        self.sent()
        found["ggfmt sends"] = self.seconds - self.files(self.source, number)
        self.sent(self.few)
        found[START] = self.seconds - self.files(self.few, number)
        found["consume"] = alone("consume", self.broker, self.topic, self.messages)
        try:
            read = self.files(f"{self.broker.address}/{self.topic}", number)
        except subprocess.CalledProcessError:
            return found
        found["ggfmt reads"] = read - self.files(self.dump, number, "--input-format", "json")
        return found


def send_or_read(kind: str, brokers: str, topic: str, messages: str) -> None:
    """Print the seconds of CPU of librdkafka alone."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    lines = Path(messages).read_bytes().split(b"\n")[:-1]
    keys = [b"%d" % (number % KEYS) for number in range(len(lines))]
    if kind == "consume":
        consumer = Consumer({"bootstrap.servers": brokers, "group.id": "x", "isolation.level": "read_committed"})
        consumer.assign([TopicPartition(topic, number, 0) for number in range(3)])
        start, count = seconds(), 0
        while count < len(lines):
            count += len(consumer.consume(10_000, 1))
        print(seconds() - start)
        return
    producer = Producer(
        {**PRODUCER, "bootstrap.servers": brokers, "partitioner": "murmur2_random", "transactional.id": topic}
    )
    producer.list_topics(topic, 5)
    producer.init_transactions(20)
    producer.begin_transaction()
    start = seconds()
    for at in range(0, len(lines), BATCH):
        pairs = zip(keys[at : at + BATCH], lines[at : at + BATCH], strict=True)
        if kind == "batch":
            producer.produce_batch(topic, [{"value": value, "key": key} for key, value in pairs])
        else:
            for key, value in pairs:
                producer.produce(topic, value, key)
        producer.poll(0)
    producer.commit_transaction(60)
    print(seconds() - start)


def seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--alone", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        send_or_read(*options.alone)
        return
    figures: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="ggfmt-bench-") as name, running_broker(Path(name)) as broker:
        bench = Bench(Path(name), broker, options.messages)
        print(f"{bench.messages.stat().st_size / options.messages:.0f} bytes a message")
        for number in range(options.rounds):
            for kind, value in bench.turn(number).items():
                figures[kind].append(value)
    median = {kind: statistics.median(values) for kind, values in figures.items()}
    for kind, value in median.items():
        base = {"ggfmt sends": "batch", "ggfmt reads": "consume"}.get(kind)
        ratio = "" if base is None else f"   {value / median[base]:.2f} x of {base}"
        if kind == "ggfmt sends":
            ratio += f", {(value - median[START]) / median['batch']:.2f} x without the start"
        print(f"{kind:18} {value:6.2f} s{ratio}")


if __name__ == "__main__":
    main()
