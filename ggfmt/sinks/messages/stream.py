"""Standard output as a sink: all files of a run in one stream, once the run is decided.

Until then they are in a directory for temporary files. There is no manifest, no schema and no place for rejects, and
what was written cannot be taken back.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from typing import BinaryIO

from ggfmt import signals
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.formats import FORMATS
from ggfmt.java.text import visible
from ggfmt.location import reason
from ggfmt.reading.tasks import StagedFile
from ggfmt.scratch import Scratch, remove_abandoned
from ggfmt.sinks.messages.join import in_order, joined
from ggfmt.sinks.messages.pipeline import HandlerOutput
from ggfmt.sinks.messages.report import HandlerTotals
from ggfmt.sinks.messages.targets import RunSettings

ARGUMENT = "-"  # a directory of this name is `./-`
SHOWN = "<stdout>"

log = logging.getLogger("ggfmt")


def check_stream(settings: RunSettings) -> None:
    """Raises: UsageError GG519 for options that need an output directory."""
    handlers, mode, quarantine, checkpoint = settings.handlers, settings.mode, settings.quarantine, settings.checkpoint
    chained = any(handler.executed_handlers for handler in handlers)
    names = ", ".join(f"`{visible(handler.name)}`" for handler in handlers)
    several = f"`-o -` writes the messages of one handler, but the handlers are {names}"
    has_output = f"`--mode {mode}` is for existing output, and a stream has no existing output"
    for applies, message, help in (
        (getattr(sys.stdout, "buffer", None) is None, "standard output is not available", "pass a directory to `-o`"),
        (len(handlers) > 1, several, "choose one with `--handler`"),
        (chained, "event handlers make files, and a stream has no files", "pass a directory to `-o`"),
        (quarantine, "a stream cannot contain rejects", "leave out `--on-reject quarantine`, or give `-o DIR`"),
        (
            checkpoint is not None,
            "`--checkpoint` needs an output directory: a stream cannot be committed",
            "leave out `--checkpoint`, or give `-o DIR`",
        ),
        (mode != "error", has_output, "leave out `--mode`"),
    ):
        if applies:
            raise UsageError("GG519", message, help=help)


def directory_for_stream(held: ExitStack) -> str:
    """Make a directory for the files of the tasks, which `held` deletes. Raises: Abend GG519 if that fails."""
    remove_abandoned()
    try:
        with signals.deferred():  # until it is among what `held` removes
            return str(held.enter_context(Scratch()) / "out")
    except OSError as error:
        message = f"the messages cannot be stored until they are written: {reason(error)}"
        raise Abend("GG519", message, help="set TMPDIR to a directory with enough space for the messages") from None


def placeholder_directory() -> str:
    return os.path.join(tempfile.gettempdir(), f"ggfmt-stream-{uuid.uuid4().hex}")


def write_stream(files: Sequence[StagedFile], target: HandlerOutput, totals: HandlerTotals) -> None:
    """Write the messages of a handler to standard output, and their size to its totals.

    Raises: Abend GG519 if they are no stream, or cannot all be written; BrokenPipeError if the reader has closed it.
    """
    files = in_order(files)
    problem = _not_one(files, target)
    if problem is not None:
        raise Abend("GG519", problem, help="nothing was written; give `-o DIR`, or choose another format")
    if target.schema_directories:
        log.info("handler %s: schemas are not written with `-o -`; to print them, use `ggfmt schema`", target.handler)
    totals.streamed = True
    totals.size = _write(files, sys.stdout.buffer)


def _write(files: Sequence[StagedFile], out: BinaryIO) -> int:
    size = 0
    raw = getattr(out, "raw", out)  # says how much it took; after an error, a buffer does not
    try:
        out.flush()
        for block in joined(files):
            left = memoryview(block)
            while left:
                taken = raw.write(left)
                if taken is None:  # a stream that does not block
                    select.select([], [raw], [])
                left = left[taken or 0 :]
            size += len(block)
        return size
    except BrokenPipeError:
        raise
    except OSError as error:
        help = "the output is incomplete: remove the cause and run again"
        raise Abend("GG519", f"standard output cannot be written: {reason(error)}", SHOWN, help) from None


def _not_one(files: Sequence[StagedFile], target: HandlerOutput) -> str | None:
    """Return why files cannot follow each other in one stream: a header applies up to the end of its file."""
    format = target.settings.format
    first: dict[tuple[str, str], StagedFile] = {}
    for file in files:
        first.setdefault((file.table, file.definition), file)
    headers = {_header(file) for file in first.values()}
    if len(headers) < 2 and not (FORMATS[format].by_table and len(first) > 1):
        return None
    one, other = list(first)[:2]
    if one[0] == other[0]:
        return f"a file of `{format}` has one definition of a table, but the definition of `{visible(one[0])}` changes"
    return f"a file of `{format}` has one table, but the tables are `{visible(one[0])}` and `{visible(other[0])}`"


def _header(file: StagedFile) -> bytes:
    with file.location.open_stream() as stream:
        return bytes(stream.read(file.header))
