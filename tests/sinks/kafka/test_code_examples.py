"""The examples of codes that need a broker: the command shown before gives the code, and the one after succeeds."""

from __future__ import annotations

import shlex
import uuid
from pathlib import Path

import pytest
from kafka_broker import KafkaBroker, kafka_broker
from runs import write_lines
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import GgfmtError

__all__ = ["kafka_broker"]


def codes_of(command: str, broker: KafkaBroker) -> list[str]:
    """The codes that a command ends with; none if it succeeds."""
    arguments = shlex.split(command.replace("kafka://broker:9092", broker.address))[1:]
    result = CliRunner().invoke(app, [*arguments, "--master", "none[1]"])
    if isinstance(result.exception, GgfmtError):
        return [diagnostic.code for diagnostic in result.exception.diagnostics]
    assert result.exit_code == 0, result.output
    return []


@pytest.mark.example("GG572", "GG573", "GG574")
@pytest.mark.parametrize("code", ["GG572", "GG573", "GG574"])
def test_the_examples_of_runs_to_kafka(
    code: str, kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    topic = f"t{uuid.uuid4().hex[:8]}"
    lines = ("type=kafka", "format=json", f"topicMappingTemplate={topic}", "keyMappingTemplate=${null}")
    for name, mode in (("kafka", "op"), ("op", "op"), ("tx", "tx")):
        settings = "".join(f"gg.handler.k.{line}\n" for line in (*lines, f"mode={mode}"))
        Path(f"{name}.properties").write_text(f"gg.handlerlist=k\n{settings}")
    for day, numbers in (("changes", range(9)), ("tuesday", range(9, 18))):
        Path(day).mkdir()
        source = {"database": "S", "table": "A", "type": "insert", "ts": 1, "xid": 7}
        write_lines(Path(day, "in.json"), [{**source, "data": {"ID": number}} for number in numbers])
    if code != "GG572":
        kafka_broker.topic(3, topic, {"max.message.bytes": "500"})
    before, after = CODES[code].before, CODES[code].after
    earlier = 0
    if code == "GG574":
        assert codes_of(before.replace("tuesday/", "changes/"), kafka_broker) == []
        earlier = 9
    assert codes_of(before, kafka_broker) == [code]
    assert codes_of(after, kafka_broker) == []
    assert sum(map(len, kafka_broker.messages(topic))) == earlier + 9
