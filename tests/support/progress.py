"""What a run of the tests shows: one line of progress, and a failure as soon as it happens.

A terminal shows the line in place; a pipe or a file gets a new one every ten seconds. What failed is shown in full at
the end, as pytest does. With `-v` everything is as pytest has it.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import pytest

SECONDS = 10.0  # between two lines
SECONDS_IN_PLACE = 0.2
MAX_LINES = 20  # of a failure that is shown at once


class Progress:
    def __init__(self, terminal: pytest.TerminalReporter, session: pytest.Session) -> None:
        self._terminal = terminal
        self._session = session
        self._in_place = bool(terminal.isatty)
        self._pause = SECONDS_IN_PLACE if self._in_place else SECONDS
        self._began = self._shown = time.monotonic()
        self._ended: set[str] = set()
        self._failed = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, str, Any], tuple[str, str, Any]]:
        """Count each test as pytest does, and show no letter for it."""
        category, _, word = yield
        return category, "", word

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._ended.add(report.nodeid)
        if report.failed:
            self._failed += 1
            lines = report.longreprtext.splitlines()
            self._line("")
            self._terminal.write_line(f"failed: {report.nodeid} ({report.when})", red=True)
            self._terminal.write_line("\n".join(lines[-MAX_LINES:]))
        if report.failed or time.monotonic() - self._shown >= self._pause:
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        count, seconds = self._session.testscollected, self._shown - self._began
        self._line(f"{len(self._ended):,} of {count:,} tests, {self._failed} failed, {seconds:.0f} s")

    def _line(self, text: str) -> None:
        if self._in_place:
            self._terminal.rewrite(text, erase=True)
        elif text:
            self._terminal.write_line(text)
        self._terminal.flush()

    def pytest_sessionfinish(self) -> None:
        self._show()
        self._terminal.ensure_newline()


def pytest_sessionstart(session: pytest.Session) -> None:
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    quiet = session.config.get_verbosity() < 1 and not session.config.option.collectonly
    if terminal is not None and quiet and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Progress(terminal, session))
