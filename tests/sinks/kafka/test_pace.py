"""Messages that follow each other as their changes did: `--pace`. A consumer of its own sees when each was sent."""

from __future__ import annotations

import random
import signal
import time
from datetime import timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from kafka_broker import KafkaBroker
from kafka_broker import kafka_broker as kafka_broker
from kafka_runs import Changes, Found, Point, ended
from kafka_target import RECENT, Target, change, changes
from kafka_target import target as target

import ggfmt
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.kafka.request import Pace
from ggfmt.sinks.kafka.pace import Schedule, pace_seconds


def micros(*seconds: float | None) -> pa.Array[Any]:
    return pa.array([None if each is None else int(each * 1e6) for each in seconds], pa.int64())


@pytest.mark.parametrize(
    ("pace", "times", "dues"),
    [
        (Pace(1.0), (100, 100, 103, 104.5), [0, 0, 3, 4.5]),
        (Pace(2.0), (100, 101, 103), [0, 0.5, 1.5]),
        (Pace(0.5), (100, 101), [0, 2]),
        (Pace(2.0, 1.0), (100, 101, 1000, 1001), [0, 0.5, 1.5, 2]),
        (Pace(1.0), (None, 100, None, 101, None), [0, 0, 0, 1, 1]),
        (Pace(1.0), (100, 90, 95, 101), [0, 0, 0, 1]),
        (Pace(1.0), (None, None), [0, 0]),
        (Pace(1.0, 5.0), (-62135596800, 253402300799, None), [0, 5, 5]),  # the years 1 and 9999
    ],
)
def test_when_messages_are_due(pace: Pace, times: tuple[float | None, ...], dues: list[float]) -> None:
    assert Schedule(pace).dues(micros(*times)) == pytest.approx(dues)
    schedule = Schedule(pace)
    assert [due for each in times for due in schedule.dues(micros(each))] == pytest.approx(dues)
    assert schedule.dues(micros()) == []


def test_batches_do_not_change_a_schedule() -> None:
    chance = random.Random(1)
    times = [chance.choice([None, chance.uniform(0, 100), 50]) for _ in range(500)]
    reached = list(accumulate((each or 0.0 for each in times), max))
    first = next(place for place, each in enumerate(times) if each is not None)
    gaps = [0.0] * (first + 1) + [min((b - a) / 3, 0.7) for a, b in pairwise(reached[first:])]
    schedule, found, start = Schedule(Pace(3.0, 0.7)), [], 0
    while start < len(times):
        end = start + chance.randrange(40)
        found += schedule.dues(micros(*times[start:end]))
        start = end
    assert found == pytest.approx(list(accumulate(gaps)), abs=1e-4)


def test_how_long_a_schedule_takes() -> None:
    assert pace_seconds(Pace(2.0), [micros(1, None), micros(5)]) == 2
    assert pace_seconds(Pace(2.0), [micros(None), micros()]) is None


def sent_at(target: Target) -> list[float]:
    """When each message was sent, in seconds after the first one."""
    times = [message.timestamp()[1] / 1000 for message in target.messages()]
    return [each - times[0] for each in times]


def changes_at(*seconds: float) -> list[dict[str, Any]]:
    return [change(number, at=RECENT + timedelta(seconds=at), key=number) for number, at in enumerate(seconds)]


@pytest.mark.parametrize("master", ["none[1]", "none[2]"])
def test_messages_are_as_far_apart_as_their_changes(target: Target, master: str) -> None:
    target.send(*changes_at(0, 0, 1, 0.5, 2, 60, 60), pace="2x", max_gap="700ms", master=master)
    assert sent_at(target) == pytest.approx([0, 0, 0.5, 0.5, 1, 1.7, 1.7], abs=0.1)


def test_the_rate_holds_after_a_pause(target: Target) -> None:
    target.send(*changes_at(0, 2, *[2] * 15), pace="1x", rate="5/s")
    times = sent_at(target)
    assert times[1] == pytest.approx(2, abs=0.1)
    assert all(times[number + 10] - times[number] >= 0.9 for number in range(1, len(times) - 10))


def test_transactions_are_messages_too(target: Target) -> None:
    given = [{**record, "tokens": {"6": f"0.0.{number}"}} for number, record in enumerate(changes_at(0, 0.5))]
    settings = {"gg.handler.k.mode": "tx", "gg.handler.k.keyMappingTemplate": "${null}"}
    target.send(*given, pace="1x", settings=settings)
    assert sent_at(target) == pytest.approx([0, 0.5], abs=0.1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *(({"pace": pace}, f"`pace` needs how many times as fast as the changes to send, not `{pace}`")
          for pace in ("0x", "0.0x", "fast", "10", "-1x", "x", "1e3x", "infx", "1x 2x", "1X")),
        *(({"pace": "1x", "max_gap": gap}, f"`max_gap` needs a duration, not `{gap}`")
          for gap in ("0", "0s", "-1s", "1d", "long")),
        ({"max_gap": "5s"}, "`max_gap` shortens the pauses of `pace`"),
        ({"pace": "1x", "atomic": True}, "`atomic=True` makes one transaction, which must not wait for `pace`"),
        ({"pace": "0.000001x"}, "the messages take 11.6 days, and Kafka forgets producers that do nothing for 7"),
    ],
)  # fmt: skip
def test_paces_that_cannot_be(target: Target, options: dict[str, Any], said: str) -> None:
    found = target.refused(*changes_at(0, 1), **options)
    assert found.code == "GG577"
    assert said in found.message
    assert found.help


def test_a_pace_needs_times(target: Target) -> None:
    records = changes_at(0, 1)
    for record in records:
        del record["op_ts"]
    found = target.refused(*records, pace="1x")
    assert (found.code, found.message) == ("GG577", "`pace` needs the times of changes, and no operation shows one")
    target.send(records[0], change(1, at=RECENT), pace="1x")
    assert len(target.messages()) == 2


def test_a_dry_run_says_how_long_it_takes(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "ggfmt"):
        target.send(*changes_at(0, 7200), pace="2x", dry_run=True)
        target.send(*changes_at(0, 1), pace="0.00001x", dry_run=True)
    assert "with this `--pace` the messages take 1:00:00" in caplog.text
    assert "with this `--pace` the messages take 1 day, 3:46:40" in caplog.text
    assert target.messages() == []


@pytest.mark.parametrize("option", [{"pace": "1x"}, {"max_gap": "1s"}, {"pace": "fast"}])
def test_a_pace_needs_kafka(tmp_path: Path, option: dict[str, str]) -> None:
    with pytest.raises(GgfmtError) as caught:
        ggfmt.convert(changes(tmp_path / "in.json", change(1)), to="json", output=tmp_path / "out", **option)  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code == "GG577"


class Waiting:
    """A run whose changes have pauses, and its messages."""

    def __init__(self, broker: KafkaBroker, directory: Path, *gaps: float) -> None:
        self.broker = broker
        self.changes = Changes(directory, len(gaps), 5, gaps=gaps)
        self.options = ["--create-topics", "1", "--job", self.changes.schema, "--pace", "1x"]

    def times(self) -> list[float]:
        found = Found(self.broker.brokers, self.changes.topics)
        return sorted(stamp.time for stamps in found.stamps.values() for stamp in stamps)

    def wait_for(self, count: int) -> None:
        limit = time.monotonic() + 30
        while len(self.times()) < count:
            assert time.monotonic() < limit
            time.sleep(0.1)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_in_a_long_pause(kafka_broker: KafkaBroker, tmp_path: Path, how: signal.Signals) -> None:
    run = Waiting(kafka_broker, tmp_path, 0, 0.2, 0.2, 3_600, 0.2)
    process = run.changes.start(kafka_broker.address, *run.options)
    run.wait_for(3)  # the transaction ended before the pause
    start = time.monotonic()
    process.send_signal(how)
    code, text = ended(process)
    assert time.monotonic() - start < 3
    assert code == (-how if how == signal.SIGKILL else 128 + how)
    assert how == signal.SIGKILL or "the same command goes on where the last transaction ended" in text
    assert len(run.times()) == 3
    options = [option for option in run.options if option not in ("--pace", "1x")]
    assert run.changes.run(kafka_broker.address, *options) == (0, "")
    run.changes.assert_exact(kafka_broker.brokers)


def test_the_rest_of_a_pause_follows_an_interruption(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    run = Waiting(kafka_broker, tmp_path, 0, 4, 0, 4, 1)
    process = run.changes.start(kafka_broker.address, *run.options)
    run.wait_for(1)
    process.kill()  # early in the first pause
    ended(process)
    process = run.changes.start(kafka_broker.address, *run.options)
    run.wait_for(3)
    process.kill()  # early in the second pause, which ends before the next attempt
    ended(process)
    time.sleep(5)
    assert run.changes.run(kafka_broker.address, *run.options) == (0, "")
    run.changes.assert_exact(kafka_broker.brokers)
    first, second, third, fourth, fifth = run.times()
    assert 3.9 < second - first < 5.2  # by its time, however often the run was stopped
    assert third - second < 0.2
    assert 5 < fourth - third < 9
    assert 0.9 < fifth - fourth < 1.2  # and no pause is made up for


def test_an_earlier_point_of_the_pace_sends_what_another_runs_on(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    """A run without a pace is killed, and goes on with one."""
    run = Waiting(kafka_broker, tmp_path, *[3_600] * 40, 0.3, *[0] * 9)
    options = [option for option in run.options if option not in ("--pace", "1x")]
    point = Point(call=3, commit=10)
    assert run.changes.run(kafka_broker.address, *options, point=point)[0] == -signal.SIGKILL
    sent = len(run.times())
    assert 0 < sent < 40
    options += ["--pace", "100x", "--max-gap", "20ms"]
    start = time.monotonic()
    assert run.changes.run(kafka_broker.address, *options) == (0, "")
    assert time.monotonic() - start < 10
    run.changes.assert_exact(kafka_broker.brokers)
