"""The first message that `ggfmt run` shows on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runs import JSON_LINES, PIPES, operation, run_ggfmt, write_lines

from ggfmt.render.runs import first_message_text


def shown(tmp_path: Path, *settings: str, **columns: str) -> list[str]:
    records = [operation(0, "S.FIRST", **columns), operation(1, "S.FIRST"), operation(2, "S.EARLIER_NAME")]
    result = run_ggfmt([write_lines(tmp_path / "in.json", records)], tmp_path / "out", *settings)
    return first_message_text(result.manifests).splitlines()


def test_the_first_message_of_the_first_table_is_shown(tmp_path: Path) -> None:
    place, message = shown(tmp_path, *JSON_LINES, ID="7")
    assert place.startswith("The start of j/S.FIRST/")
    assert message.startswith('{"table":"S.FIRST"') and '"ID":"7"' in message


def test_nothing_is_shown_of_messages_that_are_no_text(tmp_path: Path) -> None:
    assert shown(tmp_path, "gg.handler.a.format=avro_op", ID="7") == []
    assert first_message_text({}) == ""


def test_a_rejected_record_and_a_topic_are_no_message(tmp_path: Path) -> None:
    lines: list[dict[str, Any] | bytes] = [b"{broken", operation(1, "S.B", ID="7")]
    result = run_ggfmt([write_lines(tmp_path / "in.json", lines)], tmp_path / "out", *JSON_LINES, quarantine=True)
    place, message = first_message_text(result.manifests).splitlines()
    assert (place[:17], message[:14]) == ("The start of j/S.", '{"table":"S.B"')
    assert first_message_text({"kafka://broker": {"run": "r", "job": "j", "topics": {}}}) == ""


def test_an_output_that_is_gone_is_no_error(tmp_path: Path) -> None:
    result = run_ggfmt([write_lines(tmp_path / "in.json", [operation(1)])], tmp_path / "out", *JSON_LINES)
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    assert first_message_text(result.manifests) == ""


def test_a_message_controls_no_terminal(tmp_path: Path) -> None:
    assert not any("\x1b" in line for line in shown(tmp_path, *PIPES, ID="\x1b[2J"))
