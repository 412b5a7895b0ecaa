"""Feeds every native kernel with random and hostile data, under AddressSanitizer, and compares with the plain code.

usage: python tests/fuzz_kernels.py [SECONDS [TARGET ...]]

Builds the kernels with gcc's AddressSanitizer and UndefinedBehaviorSanitizer in a temporary directory, and gives each
target (all of them, unless some are named) so many seconds (60) in a process of its own. What scanners read are copies
that end with the memory that they are in, so that each read beyond them is seen. The first mistake with memory, and the
first difference to what is made without kernels, ends it with its report and the seed.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "ggfmt" / "kernels"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g", "-O1")
_MODULE = "ggfmt.kernels._native"


def json_records(seed: int) -> None:
    from hostile_json import PROJECTIONS, assert_same, file
    from reading import chunk_size

    draw = random.Random(seed)
    with chunk_size(draw.choice((100, 1000, 10**6))):
        assert_same(file(seed, 60, draw.choice((0.0, 0.05, 0.3, 1.0))), draw.choice(PROJECTIONS))


def avro_data(seed: int) -> None:
    from avro_cases import MAKERS, damaged, on_exact_memory, told, without_kernel

    draw = random.Random(seed)
    case = MAKERS[draw.choice(sorted(MAKERS))](draw)
    hurt = draw.random() < 0.7

    def damage(data: bytes) -> bytes:
        return damaged(data, random.Random(seed)) if hurt else data

    with without_kernel():
        expected = told(case, damage)
    with on_exact_memory():
        assert told(case, damage) == expected


def xml_and_delimited_text(seed: int) -> None:
    from hostile_scans import fuzz

    fuzz(seed)


def messages(seed: int) -> None:
    from hostile_pieces import compare

    compare(seed)


TARGETS: dict[str, Callable[[int], None]] = {
    "json": json_records,
    "avro": avro_data,
    "text": xml_and_delimited_text,
    "messages": messages,
}


def build(folder: Path) -> Path:
    """The extension module with sanitizers in it."""
    made = folder / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_path("include")
    command = ["gcc", "-std=c11", "-fPIC", "-shared", *SANITIZERS, f"-I{include}", *map(str, SOURCES.glob("*.c"))]
    subprocess.run([*command, "-o", str(made)], check=True)
    return made


class Exactly:
    """A kernel's object whose data are copied to memory that ends with them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in ("scan", "scan_spans", "write"):
            return method
        return lambda data, *others: method((ctypes.c_char * len(data)).from_buffer_copy(data), *others)


def use(path: str) -> None:
    """Has this process use an extension module; nothing of ggfmt may be loaded yet."""
    spec = importlib.util.spec_from_file_location(_MODULE, path, loader=ExtensionFileLoader(_MODULE, path))
    assert spec is not None and spec.loader is not None
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    module = sys.modules[_MODULE] = ModuleType(_MODULE)
    for name, value in vars(native).items():
        made = (
            (lambda *given, kind=value, **named: Exactly(kind(*given, **named))) if isinstance(value, type) else value
        )
        setattr(module, name, made)


def run(module: str, target: str, seconds: str) -> None:
    """One target in this process."""
    use(module)
    from ggfmt import kernels

    assert kernels.native is sys.modules[_MODULE], kernels.state
    end, seeds = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        seed = random.getrandbits(48)
        try:
            TARGETS[target](seed)
        except BaseException:
            print(f"{target}: the seed is {seed}", file=sys.stderr)
            raise
        seeds += 1
    print(f"{target}: {seeds:,} inputs in {seconds} seconds, no mistake and no difference")


def main(seconds: str = "60", *targets: str) -> None:
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": library.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it needs to its end
        "PYTHONMALLOC": "malloc",  # so that what is read beyond an object is seen
    }
    with tempfile.TemporaryDirectory() as folder:
        module = build(Path(folder))
        for target in targets or TARGETS:
            subprocess.run(
                [sys.executable, __file__, "--run", str(module), target, seconds], env=environment, check=True
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
