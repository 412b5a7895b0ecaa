"""Questions that administrators ask in public forums: the command that answers, and words of the answer."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from ggfmt.cli import app

# Question, command, words of the answer; a word behind `!` is not in it.
QUESTIONS = [
    (
        "What happens to a file after it is closed?",
        "explain finalizeAction",
        "none delete move rename move-rename fileRenameMappingTemplate",
    ),
    (
        "After the upgrade to 21c, op_type and op_ts are gone from my messages.",
        "explain metaColumnsTemplate",
        "${optype ${objectname[table]} release 12.3.2",
    ),
    (
        "The Replicat abends at an update of the primary key.",
        "explain pkUpdateHandling",
        "abend update delete-insert before insert",
    ),
    ("Hive expects \\N for NULL.", "explain nullValueRepresentation", "NULL \\\\N delimitedtext"),
    (
        "Numbers lose digits in my consumer. How do I get them as texts?",
        "explain treatAllColumnsAsStrings",
        "true false json avro_row",
    ),
]


@pytest.mark.parametrize(("question", "command", "words"), QUESTIONS, ids=[command for _, command, _ in QUESTIONS])
def test_a_question_is_answered(question: str, command: str, words: str) -> None:
    result = CliRunner().invoke(app, command.split(), env={"COLUMNS": "200"})
    answer = " ".join(result.output.split())
    assert result.exit_code == 0, answer
    wanted = [word for word in words.split() if not word.startswith("!")]
    unwanted = [word.removeprefix("!") for word in words.split() if word.startswith("!")]
    assert [word for word in wanted if word not in answer] == [], question
    assert [word for word in unwanted if word in answer.lower()] == [], question
