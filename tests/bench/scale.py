"""How the cost of a run grows with data, files, tables, splits, columns, records and skew.

usage: python tests/bench/scale.py [--rounds N] [--against TREE] [--largest | --formats]

Converts GoldenGate's JSON to JSON with `--master none`, each time in a process of its own, in turns with the checkout
TREE. Each case changes one thing of the first one. Prints the median seconds of CPU, MB of memory at the peak of the
largest process, files that were staged, files of output, and whether all outputs of the same operations are equal. At
the end it computes from the slopes what 10 TB with 5,000 tables take.

--largest  adds runs of 200 MB
--formats  instead compares 20 files with one, for each format
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from places import ROOT

from ggfmt.reading.routing import MAX_BUCKETS, RUN_BYTES, SEGMENT_BYTES, RoutedSplit


class Case(NamedTuple):
    """`skew`: the share of operations of one table. `spacing`: the seconds between two operations. `rejected`: the
    share of records that are none. `buckets`: of tables, in this tree; None: as ggfmt chooses."""

    operations: int = 20_000
    tables: int = 500
    splits: int = 20
    files: int = 1
    columns: int = 5
    width: int = 8
    skew: float = 0
    spacing: float = 0
    rejected: float = 0
    buckets: int | None = None
    format: str = "json"
    command: str = "run"


BASE = Case()
SIZES = [BASE._replace(operations=5_000), BASE._replace(operations=80_000)]
TABLES = [BASE._replace(tables=tables, splits=splits) for tables in (1, 20, 500, 2000) for splits in (1, 20)]
SPLITS = BASE._replace(splits=100)
BUCKETS = [BASE._replace(buckets=50), BASE._replace(buckets=200)]
OTHERS = [BASE._replace(files=20), BASE._replace(files=500), BASE._replace(columns=50), BASE._replace(width=100)]
OTHERS += [BASE._replace(width=1000), BASE._replace(skew=0.99), BASE._replace(spacing=7), BASE._replace(rejected=0.5)]
OTHERS += [BASE._replace(tables=1, spacing=7), BASE._replace(command="consolidate")]
LARGEST = [Case(700_000, tables, splits) for tables, splits in ((1, 26), (100, 26), (2000, 26), (5000, 200))]
LARGEST += [Case(700_000, 2000, 26, skew=0.99)]
NAMES = ("json", "delimitedtext", "xml", "avro_op", "dts_avro", "kcat")  # the last one: a dump of messages with JSON
FORMATS = [Case(splits=files, files=files, format=name) for name in NAMES for files in (1, 20)]
PACKED, MAX_FILE_BYTES = 6, 1 << 30  # the ratio of compression in staging; the default of `maxFileSize`
OF_TABLE, OF_TASK = 1024, 1536


class Figures(NamedTuple):
    """Seconds of CPU, MB at the peak of the largest process, and the number of staged files."""

    seconds: float
    peak: float
    staged: float


Results = dict[Case, tuple[float, Figures]]  # with MB of input


def records(case: Case) -> Iterator[str]:
    rest = max(case.tables - 1, 1)
    for number in range(case.operations):
        if number % 100 < 100 * case.rejected:
            yield '{"table":"S.T0","op_type":"?"}\n'
            continue
        is_first = number % 100 < 100 * case.skew
        table = 0 if is_first else (1 + number // 100 % rest if case.skew else number % case.tables)
        names = {f"C{place}": f"{number % 9973:0{case.width}}-{place}" for place in range(case.columns)}
        image = {"ID": number, "AMOUNT": f"{number % 1000}.50", **names}
        time = datetime(2026, 1, 1, 10) + timedelta(seconds=int(number * case.spacing))
        head = {"table": f"S.T{table}", "op_type": "I", "op_ts": f"{time}.000000", "pos": f"{number:020d}"}
        yield json.dumps({**head, "primary_keys": ["ID"], "after": image}, separators=(",", ":")) + "\n"


def write_inputs(folder: Path, case: Case) -> list[str]:
    """Write the files below `folder/in`; return the options to read them."""
    lines = list(records(case))
    if case.format == "kcat":
        place = {"topic": "t", "partition": 0, "key": None}
        lines = [json.dumps({**place, "offset": number, "payload": line}) + "\n" for number, line in enumerate(lines)]
    (folder / "in").mkdir()
    paths = [folder / "in" / f"{number:05}" for number in range(case.files)]
    step = -(-len(lines) // case.files)
    for number, path in enumerate(paths):
        path.write_text("".join(lines[number * step : number * step + step]))
    if case.format in ("json", "kcat"):
        return []
    handler, definitions, out = folder / "h.properties", folder / "definitions", folder / "written"
    handler.write_text(f"gg.handlerlist=h\ngg.handler.h.format={case.format}\ngg.handler.h.partitionByTable=false\n")
    ggfmt("schema", folder / "in", "--kind", "json", "-o", definitions)
    for path in paths:
        ggfmt("run", path, "-c", handler, "-o", out, "--master", "none", "--mode", "overwrite")
        (written,) = (path for path in (out / "h").rglob("*") if path.is_file())
        written.replace(path)
    return ["--input-format", case.format, "--input-config", str(handler), "--definitions", str(definitions)]


def digest(out: Path) -> tuple[str, int]:
    """Return what the operations of all tables are, whatever files they are in, and how many files there are."""
    found = hashlib.sha256()
    paths = sorted(path for path in out.rglob("*") if path.is_file() and "_ggfmt" not in path.parts)
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest(), len(paths) - 1  # without `_SUCCESS`


def call(case: Case, source: object, out: object, split: int, *options: str) -> list[str]:
    given = [case.command, str(source), "--master", "none", "-o", str(out), "--split-size", str(split), *options]
    given += ["--on-reject", "quarantine"] if case.rejected else []
    return given if case.command != "run" else [*given, "--to", "json", "--current-timestamp", "2026-01-01 00:00:00"]


def ggfmt(*arguments: object) -> None:
    command = [sys.executable, "-m", "ggfmt", "-q", *map(str, arguments)]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def run(tree: Path, command: Sequence[str], bucket_bytes: int | None = None) -> Figures:
    with tempfile.NamedTemporaryFile() as notes:
        program = _PROGRAM.format(notes=notes.name, bucket_bytes=bucket_bytes)
        # Code 4: records were set aside.
        codes = (0, 4) if "quarantine" in command else (0,)
        whole = _MEASURED.format(command=[sys.executable, "-c", program, "-q", *command], codes=codes)
        env = {**os.environ, "PYTHONPATH": str(tree)}
        shown = subprocess.run([sys.executable, "-c", whole], check=True, cwd=tree, env=env, stdout=subprocess.PIPE)
        user, system, peak = map(float, shown.stdout.split())
        return Figures(user + system, peak / 1024, len(Path(notes.name).read_bytes()))


# A small process starts the measured one, whose peak begins with that of the process that starts it.
_MEASURED = """
import resource, subprocess, sys
code = subprocess.run({command}).returncode
if code not in {codes}:
    sys.exit(code)
print(*resource.getrusage(resource.RUSAGE_CHILDREN)[:3])
"""

_PROGRAM = """
import os, runpy
from ggfmt.commit.store import Store
def noting(real):
    def note(store, name, *given):
        path = store.inner(name)
        if "/_ggfmt/staging/" in path:
            staged = [1] if os.path.isfile(path) else [len(files) for _, _, files in os.walk(path)]
            with open({notes!r}, "a") as notes:
                notes.write("." * sum(staged))
        return real(store, name, *given)
    return note
for name in ("move", "delete", "delete_tree"):  # one of which each staged file comes to
    setattr(Store, name, noting(getattr(Store, name)))
if {bucket_bytes}:
    from ggfmt.reading import routing
    routing.BUCKET_BYTES = {bucket_bytes}
runpy.run_module("ggfmt", run_name="__main__")
"""


def grow(cases: Sequence[Case], trees: Sequence[Path], rounds: int) -> Results:
    """Print the figures of all cases; return those of this tree."""
    names = " ".join(f"CPU s of {tree.name:9}  MB staged" for tree in trees)
    head = "operations   MB tables splits files columns width skew spacing rejected buckets format        command    "
    print(f"{head} {names} output equal")
    results: Results = {}
    known: dict[Case, set[str]] = {}
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            source, found = Path(folder, "in"), [list[Figures]() for _ in trees]
            options = write_inputs(Path(folder), case)
            size = sum(path.stat().st_size for path in source.iterdir())
            split = -(-size // case.splits)
            outputs = known.setdefault(case._replace(splits=1, files=1, buckets=None), set())
            for number, (place, tree) in product(range(rounds), enumerate(trees)):
                out = Path(folder, f"{number}-{place}")
                bucket = size // case.buckets if case.buckets and tree == ROOT else None
                found[place].append(run(tree, call(case, source, out, split, *options), bucket))
                content, written = digest(out)
                outputs.add(content)
            medians = [Figures(*map(statistics.median, zip(*figures, strict=True))) for figures in found]
            results[case] = size / 1e6, medians[0]
            line = f"{case.operations:10,} {size / 1e6:4.0f} {case.tables:6,} {case.splits:6} {case.files:5} "
            line += f"{case.columns:7} {case.width:5} {case.skew:4} {case.spacing:7} {case.rejected:8} "
            line += f"{case.buckets or '':7} {case.format:13} {case.command:11} "
            line += " ".join(f"{one.seconds:18.2f} {one.peak:3.0f} {one.staged:6,.0f}" for one in medians)
            print(f"{line} {written:6,} {len(outputs) == 1}", flush=True)
    return results


def show_sum(results: Results) -> None:
    """Print what 10 TB with 5,000 tables take, by the slopes of small runs."""

    def slope(unit: str, few: Case, many: Case, units: float | None = None) -> float:
        """Return the seconds of CPU of one of the units by which two cases differ: of a MB, if there is no number."""
        (size, one), (larger, other) = results[few], results[many]
        found = max(other.seconds - one.seconds, 0) / (units or larger - size)
        print(f"  {1000 * found:9.3f} ms for each {unit}")
        return found

    total, tables, split = 10_000_000_000_000, 5_000, 256 << 20
    splits, segments = -(-total // split), -(-split // (PACKED * SEGMENT_BYTES))
    blocks, files = splits * MAX_BUCKETS * (split // RUN_BYTES), tables * -(-total // tables // MAX_FILE_BYTES)
    print("\nMeasured, as slopes of CPU:")
    seconds = total / 1e6 * slope("MB", SIZES[0], SIZES[1])
    seconds += tables * slope("table", TABLES[3], TABLES[7], TABLES[7].tables - TABLES[3].tables)
    seconds += splits * slope("split", BASE, SPLITS, SPLITS.splits - BASE.splits)
    seconds += blocks * slope("block of a bucket", BUCKETS[0], BUCKETS[1], BASE.splits * (200 - 50))
    first = splits * len(pickle.dumps(RoutedSplit(1, bytes(4 * segments * (MAX_BUCKETS + 1)), split)))
    second = tables * OF_TABLE + MAX_BUCKETS * OF_TASK
    driver = results[BASE][1].peak * 1e6 + 2 * first + second  # which has the sizes of blocks twice
    print(f"Computed for 10 TB, {tables:,} tables, {splits:,} splits, {MAX_BUCKETS} buckets, {blocks:,} blocks:")
    print(f"  {seconds / 3600:,.0f} hours of CPU, without waits for disks and networks")
    print(f"  {splits + 1 + files:,} staged files: one for each split, an index, and at least {files:,} of output")
    print(f"  {(first + second) / 1e6:,.0f} MB of results of tasks, {first // splits:,} bytes for each split")
    print(f"  {driver / 1e6:,.0f} MB of memory of the driver")
    print(
        f"Assumed: splits of 256 MB, packed to 1/{PACKED} in staging; results of the second pass with {OF_TABLE} bytes"
    )
    print(f"for each table and {OF_TASK} for each task, the limits of tests/reading/test_routing_driver.py.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path)
    for name in ("largest", "formats"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args()
    trees = [ROOT, *([given.against.resolve()] if given.against else [])]
    cases = [*dict.fromkeys([BASE, *SIZES, *TABLES, SPLITS, *BUCKETS, *OTHERS]), *(LARGEST if given.largest else [])]
    results = grow(FORMATS if given.formats else cases, trees, given.rounds)
    if not given.formats:
        show_sum(results)


if __name__ == "__main__":
    main()
