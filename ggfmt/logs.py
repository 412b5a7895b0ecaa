"""The log: text or JSON lines on standard error, with the level names of GoldenGate.

What does not print is shown as an escape, so that nothing in the data can steer a terminal. Whoever logs a text of
several lines sees to it that each of them is his own.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone

from ggfmt.java.text import visible

TRACE = 5
LEVELS = {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG, "trace": TRACE}
FORMATS = ("text", "json")


class _Text(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-5s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(visible, super().format(record).split("\n")))


def json_line(level: str, message: str, moment: float | None, /, **more: object) -> str:
    """A line of the log in JSON, without its end; `moment` is in seconds since 1970, and now if it is None."""
    at = datetime.now(timezone.utc) if moment is None else datetime.fromtimestamp(moment, timezone.utc)
    return json.dumps({"ts": at.isoformat(timespec="milliseconds"), "level": level, "message": message, **more})


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json_line(record.levelname.lower(), record.getMessage(), record.created)


class _StandardError(logging.Handler):
    """Writes to the present `sys.stderr`: a progress bar replaces it while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


def is_json() -> bool:
    """Whether the log is in JSON."""
    return any(isinstance(handler.formatter, _JsonLines) for handler in logging.getLogger("ggfmt").handlers)


def configure(level: str | None, format: str | None) -> None:
    """Change the given settings of the log; the others stay."""
    now = logging.getLogger("ggfmt").level
    names = {number: name for name, number in LEVELS.items()}
    set_up(level or names.get(now, "info"), format or ("json" if is_json() else "text"))


def set_up(level: str, format: str) -> None:
    """Send the log of ggfmt to standard error; leave the logs of other libraries alone."""
    logging.addLevelName(TRACE, "TRACE")
    logging.addLevelName(logging.WARNING, "WARN")
    log = logging.getLogger("ggfmt")
    log.setLevel(LEVELS[level])
    log.propagate = False
    handler = _StandardError()
    handler.setFormatter(_JsonLines() if format == "json" else _Text())
    log.handlers[:] = [handler]
