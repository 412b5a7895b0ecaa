"""How long bad input takes to be set aside, and how much memory: garbage of several kinds, in two sizes each.

Every kind is read in a process of its own, with `--on-reject quarantine` and two handlers; the larger size should take
as many times longer as it is larger, and no more memory.

usage: python tests/bench/garbage.py [--megabytes N ...] [KIND ...]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PIECE = 1 << 20

GOOD = json.dumps({"table": "GG.T", "op_type": "I", "pos": "1", "after": {"ID": "1", "NAME": "a name"}}).encode()
MAXWELL = json.dumps({"database": "d", "table": "t", "type": "insert", "ts": 1, "data": {"id": 1}}).encode()


def repeated(unit: bytes) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        while True:
            yield unit * max(1, PIECE // len(unit))

    return pieces


def random_bytes() -> Iterator[bytes]:
    draw = random.Random(1)
    while True:
        yield draw.randbytes(PIECE)


# For each kind the input format, a first line that decides the layout, and what follows.
KINDS: dict[str, tuple[str, bytes, Callable[[], Iterator[bytes]]]] = {
    "bad lines": ("json", GOOD, repeated(b"WARN: no record " + b"x" * 80 + b"\n")),
    "bad and good lines": ("json", GOOD, repeated((GOOD + b"\n") * 9 + GOOD[:-10] + b"\n")),
    "bad lines of maxwell": ("maxwell_json", MAXWELL, repeated((MAXWELL + b"\n") * 3 + MAXWELL[:-1] + b"\n")),
    "random bytes": ("json", GOOD, random_bytes),
    "one line": ("json", GOOD, repeated(b"x" * PIECE)),
    "brackets": ("json", GOOD, repeated(b"[" * PIECE)),
    "objects": ("json", GOOD, repeated(b'{"a":')),
    "objects in lines": ("json", GOOD, repeated(b'{"a":\n')),
    "lists in lines": ("json", GOOD, repeated(b'{"a":[{"b":1},' + b"1," * 40 + b"\n")),
    "bad values in a row": ("json", GOOD * 2, repeated(b'{"a":oops}')),
    "an array": ("json", b"[" + GOOD + b",", repeated(b'{"a":oops},\n')),
    "XML": ("xml", b'<operation table="T" type="I"></operation>', repeated(b"<operation><a></operation>\n")),
    "delimited text": ("delimitedtext", b"I|GG.T", repeated(b"X|GG.T|y|z\n")),
    "lengths of DTS": ("dts_avro", b"", repeated(b"\0\0\0\x10" + b"x" * 16)),
}


def write(path: Path, kind: str, size: int) -> None:
    _, first, pieces = KINDS[kind]
    with path.open("wb") as file:
        file.write(first + (b"\n" if first else b""))
        for piece in pieces():
            if file.tell() >= size:
                return
            file.write(piece)


def read(path: Path, kind: str) -> None:
    """In a process of its own: reads the file and prints seconds of computing, megabytes of memory and rejects."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
    from runs import run_ggfmt

    from ggfmt.formats import FORMATS
    from ggfmt.formats.api.format import WriterSettings
    from ggfmt.model.table import Column, TableDef

    name = KINDS[kind][0]
    options = {"fieldDelimiter": "|", "encoding": "UTF-8"} if name == "delimitedtext" else {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    result = run_ggfmt(
        [path],
        path.parent / "out",
        input_format=name,
        quarantine=True,
        definitions={"GG.T": TableDef("GG.T", (Column("ID"), Column("NAME")))} if name == "delimitedtext" else None,
        source=WriterSettings(FORMATS[name].options.parse(options)),
    )
    seconds = time.process_time() - started
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps([seconds, memory, result.totals.rejects, result.totals.read]))


def measure(kind: str, megabytes: int) -> tuple[float, float, int, int]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in"
        write(path, kind, megabytes << 20)
        done = subprocess.run(
            [sys.executable, __file__, "--read", str(path), kind], check=True, capture_output=True, text=True
        )
    seconds, memory, rejects, operations = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory, rejects, operations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--megabytes", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read is not None:
        read(given.read, given.kinds[0])
        return
    for kind in given.kinds:
        for megabytes in given.megabytes:
            seconds, memory, rejects, operations = measure(kind, megabytes)
            print(
                f"{kind:22} {megabytes:5} MB {seconds:8.1f} s {seconds / megabytes * 1000:8.1f} ms/MB {memory:7.0f} MB "
                f"of memory {rejects:10,} rejects {operations:10,} operations",
                flush=True,
            )


if __name__ == "__main__":
    main()
