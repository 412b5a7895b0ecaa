"""The summary at the end of a run fits a screen; the report of an interrupt is true whenever it comes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from runs import JSON_LINES, PIPES, operation, output_files, run_ggfmt, write_lines
from strategies import examples

from ggfmt import cli, engine
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import CommittedWithErrors, UsageError
from ggfmt.formats.api.writing import LossNote
from ggfmt.location import Location
from ggfmt.reading.runner import InProcess
from ggfmt.sinks.messages import run as run_module
from ggfmt.sinks.messages import stream
from ggfmt.sinks.messages.report import MAX_COLUMNS, MAX_LINES, HandlerTotals, RunTotals, summary


def many(tables: int, others: int, members: int, handlers: int, rejects: int) -> RunTotals:
    totals = RunTotals(input_files=2, input_bytes=10**6, seconds=2.0)
    for number in range(tables):
        totals.operations[f"GG.TABLE_{number:04d}{'_WITH_A_LONG_NAME' * (number % 9)}", "I"] = 1_000_000
        totals.operations[f"GG.TABLE_{number:04d}{'_WITH_A_LONG_NAME' * (number % 9)}", "U"] = 2_000
    totals.others.update({f"kind {number}": 2 for number in range(others)})
    totals.members.update({f"member_{number}" * 9: 2 for number in range(members)})
    for number in range(handlers):
        handler = totals.handlers[f"h{number}"] = HandlerTotals(messages=10, files=3, size=100, lost_characters=2)
        handler.rejected.update({f"GG3{code:02d}": 3 for code in range(1, rejects + 1)})
        handler.notes[LossNote("delimiter_inside", "GG403", "GG.T", "C", "what")] = 4
    return totals


@examples(100)
@given(st.integers(0, 60), st.integers(0, 9), st.integers(0, 50), st.integers(1, 30), st.integers(0, 5))
def test_a_summary_fits_a_screen(tables: int, others: int, members: int, handlers: int, rejects: int) -> None:
    totals = many(tables, others, members, handlers, rejects)
    lines = summary(totals, [Location.of("/data/out")]).split("\n")
    assert len(lines) <= MAX_LINES
    assert all(len(line) <= MAX_COLUMNS for line in lines)
    assert lines[-2:] == ["  committed to /data/out", "  next: ggfmt report /data/out"]
    shown = sum("GG.TABLE_" in line for line in lines)
    assert shown in (0, tables)
    assert shown == tables or f"{tables} tables: {tables}," in "\n".join(lines)
    assert tables <= 20 or shown == 0
    whole = summary(totals, [Location.of("/data/out")], whole=True)
    assert whole.count("GG.TABLE_") == tables
    assert whole.count("unknown member") == members
    assert whole.count("  handler h") == handlers


def test_20_tables_are_told_one_by_one_and_21_are_not() -> None:
    assert summary(many(20, 0, 0, 1, 0), [Location.of("o")]).count("GG.TABLE_") == 0  # two lines of losses are too many
    calm = many(20, 0, 0, 0, 0)
    assert summary(calm, [Location.of("o")]).count("GG.TABLE_") == 20
    calm.operations["GG.ONE_MORE", "D"] = 7
    assert summary(calm, [Location.of("o")]).split("\n")[2] == "  21 tables: 20,000,000 insert, 40,000 update, 7 delete"


def test_a_run_of_many_tables_tells_little_unless_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n}", NAME="a|b") for n in range(30)])
    with caplog.at_level("INFO", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *PIPES)
    messages = [record.getMessage() for record in caplog.records]
    assert not [message for message in messages if message.startswith(("Fields of table", "Configuration summary"))]
    assert sum(message.startswith("[GG403]") for message in messages) == 20
    assert messages[-2] == "10 more warnings: see `--log-level debug`, or the manifest"
    assert "\n  30 tables: 30 insert\n" in messages[-1]
    assert "\n    changed: 30 values of 30 columns\n" in messages[-1]
    caplog.clear()
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([source], tmp_path / "all", *PIPES)
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert (text.count("Fields of table"), text.count("[GG403]"), text.count("  GG.T")) == (30, 30, 30)


# Interrupts

CHANGING = ("write", "put", "move", "copy", "delete", "delete_tree", "make_directory", "sync_all", "remove_if_empty")
SCHEMAS = ("gg.handler.j.format=json", "gg.handler.j.format.jsonDelimiter=CDATA[\\n]")


class Interrupts:
    """Ctrl-C before or after the nth time that something is changed in a store, once the commit has begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, after: bool) -> None:
        self.left, self.after, self.begun = at, after, False
        for name in CHANGING:
            monkeypatch.setattr(Store, name, self._wrapped(getattr(Store, name)))

    def _wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            self.left -= self.begun
            now = self.begun and self.left == 0
            if now and not self.after:
                raise KeyboardInterrupt
            result = real(*arguments, **more)
            if now:
                raise KeyboardInterrupt
            return result

        return call


def told_and_true(source: Path, out: Path, roots: tuple[str, ...], interrupts: Interrupts) -> tuple[bool, bool] | None:
    """Whether an interrupted run is reported as committed, and whether it is; None if the interrupt never came."""

    def begin(phase: Any) -> None:
        interrupts.begun |= phase.phase == "committing"

    settings = (*SCHEMAS, *PIPES, *roots)
    output = None if roots else out
    try:
        with pytest.MonkeyPatch.context() as patch:
            real = run_module.execute
            patch.setattr("runs.execute", lambda wanted, start: real(wanted, start, begin))
            run_ggfmt([source], output, *settings)
    except KeyboardInterrupt as error:
        assert str(error) == "interrupted; nothing was committed"
        told = False
    except CommittedWithErrors as error:
        assert {diagnostic.code for diagnostic in error.diagnostics} <= {"GG506", "GG550"}
        told = True
    else:
        assert interrupts.left > 0
        return None
    interrupts.begun = False
    try:
        run_ggfmt([source], output, *settings)
    except UsageError:  # the output exists: it was committed, or this run has ended the commit
        return told, True
    return told, False


@pytest.mark.parametrize("two", [False, True], ids=["one directory", "two directories"])
def test_what_an_interrupted_commit_is_told_as_is_true(
    two: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(3)])
    answers = []
    for at in range(1, 199, 5 if two else 2):
        out = tmp_path / f"out{at}"
        roots = (f"gg.handler.j.rootFilePath={out}/j", f"gg.handler.d.rootFilePath={out}/d", "gg.handlerlist=j,d")
        with monkeypatch.context() as patch:
            found = told_and_true(source, out, roots if two else (), Interrupts(patch, at, after=at % 4 == 1))
        if found is None:
            break
        told, true = found
        assert told == true, f"at {at}"
        answers.append(told)
    assert answers == sorted(answers)
    assert {True, False} == set(answers)


@pytest.mark.example("GG550")
@pytest.mark.parametrize("place", ["prepare", "check_inputs_unchanged", "collect_results", "publish", "log_summary"])
def test_an_interrupt_of_any_phase(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0)])

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine if hasattr(engine, place) else run_module, place, stop)
    if place == "log_summary":
        with pytest.raises(CommittedWithErrors, match=r"GG550.*interrupted, but the run is committed") as caught:
            run_ggfmt([source], tmp_path / "out", *JSON_LINES)
        assert caught.value.exit_code == 5
        assert output_files(tmp_path / "out", "j")
    else:
        with pytest.raises(KeyboardInterrupt, match=r"^interrupted; nothing was committed$"):
            run_ggfmt([source], tmp_path / "out", *JSON_LINES)
        assert not (tmp_path / "out").exists()


def test_an_interrupt_while_the_runner_ends_comes_after_the_commit(tmp_path: Path) -> None:
    class Slow(InProcess):
        def __exit__(self, *exception: object) -> None:
            raise KeyboardInterrupt

    source = write_lines(tmp_path / "in.json", [operation(0)])
    with pytest.raises(CommittedWithErrors, match="GG550"):
        run_ggfmt([source], tmp_path / "out", *JSON_LINES, start=Slow)


@pytest.mark.parametrize("whole", [False, True])
def test_an_interrupt_of_a_stream(whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0)])

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*((run_module, "log_summary") if whole else (stream, "write_stream")), stop)
    if whole:
        monkeypatch.setattr(stream, "write_stream", lambda *_: None)
    told = "all messages are" if whole else "some messages may not be"
    with pytest.raises(KeyboardInterrupt, match=f"^interrupted; {told} on standard output$"):
        run_ggfmt([source], Path("-"), *JSON_LINES)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_says_that_nothing_was_committed(tmp_path: Path) -> None:
    told = ("run", "-", "--set", "gg.handler.j.format=json", "-o", str(tmp_path / "out"), "--master", "none", "-v")
    process = subprocess.Popen(
        [sys.executable, "-m", "ggfmt", *told], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stderr is not None
    process.stderr.readline()  # the log has begun: it reads a standard input that does not end
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("interrupted; nothing was committed\n")
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()


def test_an_interrupt_is_told_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "prepare", stop)
    told = ("run", "in.json", "--to", "json", "-o", str(tmp_path / "out"), "--master", "none")
    assert cli.main([*told, "--log-format", "json"]) == 130
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["level"], line["message"]) == ("error", "interrupted; nothing was committed")
