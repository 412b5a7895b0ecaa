"""The log: text or JSON lines on standard error, with the level names of GoldenGate.

Characters that do not print are shown as escapes, so that no data can control a terminal. To log a text of several
lines, log each line.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import datetime, timezone

from ggfmt.java.text import visible

TRACE = 5
LEVELS = {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG, "trace": TRACE}
FORMATS = ("text", "json")


class _Text(logging.Formatter):
    def __init__(self, fit: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)-5s %(message)s", "%H:%M:%S")
        self._fit = fit

    def format(self, record: logging.LogRecord) -> str:
        return self._fit("\n".join(map(visible, super().format(record).split("\n"))))


def json_line(level: str, message: str, moment: float | None, /, **more: object) -> str:
    """Return a line of the log in JSON, without its end. `moment`: seconds since 1970; None: now."""
    at = datetime.now(timezone.utc) if moment is None else datetime.fromtimestamp(moment, timezone.utc)
    return json.dumps({"ts": at.isoformat(timespec="milliseconds"), "level": level, "message": message, **more})


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json_line(record.levelname.lower(), record.getMessage(), record.created)


class _StandardError(logging.Handler):
    """Writes to the current standard error: a progress bar may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


def is_json() -> bool:
    return any(isinstance(handler.formatter, _JsonLines) for handler in logging.getLogger("ggfmt").handlers)


def configure(level: str | None, format: str | None, fit: Callable[[str], str] = str) -> None:
    """Change what is not None. `fit` breaks the lines of the text format."""
    now = logging.getLogger("ggfmt").level
    names = {number: name for name, number in LEVELS.items()}
    set_up(level or names.get(now, "info"), format or ("json" if is_json() else "text"), fit)


def set_up(level: str, format: str, fit: Callable[[str], str] = str) -> None:
    logging.addLevelName(TRACE, "TRACE")
    logging.addLevelName(logging.WARNING, "WARN")
    log = logging.getLogger("ggfmt")
    log.setLevel(LEVELS[level])
    log.propagate = False
    handler = _StandardError()
    handler.setFormatter(_JsonLines() if format == "json" else _Text(fit))
    log.handlers[:] = [handler]
