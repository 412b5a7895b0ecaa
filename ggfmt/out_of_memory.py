"""Errors that mean that memory ran out, as Python, its threads and the loader of shared libraries raise them."""

from __future__ import annotations

from ggfmt.lazy import lazy_regex

# Of the last two, Python says that something failed before it could say that memory ran out.
_TEXTS = lazy_regex(
    "can't start new thread|failed to map segment|[Cc]annot allocate memory|error return without exception set"
    "|without setting an exception"
)


def is_out_of_memory(error: BaseException) -> bool:
    own = isinstance(error, (RuntimeError, ImportError, OSError, SystemError)) and _TEXTS.search(str(error)) is not None
    return own or isinstance(error, MemoryError)
