"""Standard output that fails in one way, whatever is wrong with it: closed, full, or its reader gone."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Failure:
    """What kept standard output from being written, None if nothing did; `is_told`: an error of ours says so."""

    error: OSError | None = None
    is_told = False


class _StandardOutput(io.FileIO):
    """The bytes of standard output. After an error, drop what is still written: the error is reported once."""

    def __init__(self, number: int, failure: Failure) -> None:
        super().__init__(number, "w", closefd=False)
        self._failure = failure

    def write(self, data: object, /) -> int:
        view = memoryview(data)  # type: ignore[arg-type]
        if self._failure.error is not None:
            return view.nbytes
        try:
            return super().write(view)
        except OSError as error:
            self._failure.error = error
            raise


class _Closed(io.TextIOBase):
    """Stands for a standard output that there is not."""

    encoding = "utf-8"

    def __init__(self, failure: Failure) -> None:
        self._failure = failure

    def write(self, text: str, /) -> int:
        self._failure.error = OSError(errno.EBADF, os.strerror(errno.EBADF))
        raise self._failure.error


def occupy_closed() -> None:
    """Let no file get the number of a standard stream that is closed, or printed text would be written to it.

    Standard output is then read-only, so that writing fails as it does where it is closed.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, flags)


@contextmanager
def guarded_output() -> Iterator[Failure]:
    """While it lasts, `sys.stdout` remembers why it cannot be written, at its end at the latest."""
    before, failure = sys.stdout, Failure()
    try:
        number = before.fileno()
        os.fstat(number)
        before.flush()
    except (AttributeError, OSError, ValueError):  # there is none, or it is no file
        if before is None:
            sys.stdout = _Closed(failure)
        try:
            yield failure
        finally:
            sys.stdout = before
        return
    raw = _StandardOutput(number, failure)
    guarded = io.TextIOWrapper(
        io.BufferedWriter(raw), before.encoding, before.errors, newline=None, line_buffering=bool(before.line_buffering)
    )
    sys.stdout = guarded
    try:
        yield failure
    finally:
        sys.stdout = before
        for _ in range(2):  # what an error left in the buffer is dropped by the second
            with suppress(OSError):
                guarded.flush()
        guarded.detach()
