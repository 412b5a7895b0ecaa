"""How long ggfmt takes to read topics of Kafka, beside a plain consumer of confluent-kafka, in turns.

usage: python tests/bench/kafka.py [--messages N] [--topics N] [--rounds N]

one   N messages in one partition
many  20 messages, in one transaction, in each of N topics with three partitions

Both sides know the ranges and count the messages; the plain consumer assigns all partitions at once. The turns of a
side are a consumer each. A line has the medians of seconds and of CPU seconds from the assignment to the last message,
and the ratios of ggfmt to the plain consumer. The broker is that of the tests, in memory on this machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from confluent_kafka import KafkaError, Producer, TopicPartition
from kafka_broker import KafkaBroker, running_broker

from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.consume import Cluster, Pair, Partition
from ggfmt.kafka.jobs import make_topics

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


SIDES = {"plain": by_plain_consumer, "ggfmt": by_ggfmt}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--topics", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, running_broker(Path(directory)) as broker:
        settings = ClientSettings(broker.brokers)
        for case, pairs in fill(broker, options.messages, options.topics).items():
            with closing(Cluster(settings)) as cluster:
                ranges = cluster.bounds(pairs)
            taken: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
            for _ in range(options.rounds):
                for side, read in SIDES.items():
                    start, cpu = time.perf_counter(), time.process_time()
                    count = read(settings, ranges)
                    taken[side].append((time.perf_counter() - start, time.process_time() - cpu))
                    assert count == (options.messages if case == "one" else 20 * options.topics)
            plain, own = ([median(each) for each in zip(*taken[side], strict=True)] for side in SIDES)
            print(f"{case}, {len(pairs)} partitions: ggfmt {own[0]:.3f} s, CPU {own[1]:.3f}; plain {plain[0]:.3f} s, "
                  f"CPU {plain[1]:.3f}; ratio {own[0] / plain[0]:.2f}, CPU {own[1] / plain[1]:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
