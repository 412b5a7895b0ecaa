"""Feeds the native kernels for Avro with made-up files, whole and damaged, and compares what readers tell with them and
without.

usage: avro_kernels_fuzz.py [SECONDS [SEED [SYSTEM ...]]]

The kernels get copies of the data that end with the memory that they are in, so that a sanitizer sees each read beyond
them. A difference is told with its seeds. Under AddressSanitizer, with an extension module that was built with
`CFLAGS='-fsanitize=address,undefined -fno-sanitize-recover=undefined -g -O1'`:

LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \\
    python tests/avro_kernels_fuzz.py 600
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from avro_cases import ASKING, MAKERS, damaged, told, without_kernel

from ggfmt.kernels import native

_DATA_FIRST = ("scan", "scan_spans", "write")


def exact(data: bytes) -> Any:
    """The bytes in memory that ends with them."""
    return (ctypes.c_char * len(data)).from_buffer_copy(data)


class _Exactly:
    """A kernel's object whose data are copied before it gets them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return (lambda data, *others: method(exact(data), *others)) if name in _DATA_FIRST else method


def main() -> int:
    given = sys.argv[1:]
    seconds, seed = (int(given[0]) if given else 60), (int(given[1]) if given[1:] else 1)
    systems = given[2:] or list(MAKERS)
    kinds = ("AvroScanner", "AvroToJson", "DtsScanner")
    copying = SimpleNamespace(**{kind: _making(getattr(native, kind)) for kind in kinds})
    counts: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for system in systems:
            case = MAKERS[system](Random(seed))
            for damage in (None, seed, seed + 1, seed + 2):
                data = case.data if damage is None else damaged(case.data, Random(damage))
                with without_kernel():
                    expected = told(replace(case, data=data))
                with ExitStack() as stack:
                    for module in ASKING:
                        stack.enter_context(patch.object(import_module(module), "native", copying))
                    found = told(replace(case, data=data))
                if found != expected:
                    print(f"{system} differs: seed {seed}, damage {damage}, {case.format} with {case.source}")
                    return 1
                counts[f"{system}: files"] += 1
                counts[f"{system}: bytes"] += len(data)
                counts[f"{system}: operations"] += sum(len(event[1]) for event in found if _is_batch(event))
        seed += 1
    for what, count in sorted(counts.items()):
        print(f"{what} {count:,}")
    return 0


def _is_batch(event: object) -> bool:
    return isinstance(event, tuple) and isinstance(event[1], list)


def _making(kind: Any) -> Any:
    return lambda *given: _Exactly(kind(*given))


if __name__ == "__main__":
    sys.exit(main())
