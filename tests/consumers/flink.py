"""Flink SQL as a consumer: reads what ggfmt writes in four formats, and the values are compared.

usage: python tests/consumers/flink.py [--environment DIR]

Flink is not among the dependencies: `apache-flink` (some 250 MB) is installed from the package index into an
environment of its own at DIR (`.flink` in the working directory), unless it is there. Java 17 is needed.

Each check is a line; exit status 1 if one fails.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from environments import FLINK, environment
from places import GGFMT, ROOT

COLUMNS = "ID BIGINT, NAME STRING, AMOUNT DECIMAL(12, 2), RATE DOUBLE, IS_ON BOOLEAN, AT_TIME TIMESTAMP(6)"
SELECT = "ID, NAME, AMOUNT, RATE, IS_ON, CAST(AT_TIME AS STRING)"  # PyFlink hands timestamps over in milliseconds
NAMES = ("ID", "NAME", "AMOUNT", "RATE", "IS_ON", "AT_TIME")
# By ggfmt's format: Flink's, its options, and those of the handler.
FORMATS: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "json": ("ogg-json", {}, ("jsonDelimiter=CDATA[\\n]", "generateSchema=false")),
    "canal_json": ("canal-json", {}, ()),
    "debezium_json": ("debezium-json", {}, ()),
    "maxwell_json": ("maxwell-json", {}, ()),
}
WITH_SCHEMAS = ("debezium_json", "debezium-json", {"debezium-json.schema-include": "true"}, ("schemasEnable=true",))
DEFINITION = {
    "ID": {"type": "NUMBER", "key": True},
    "NAME": {"type": "VARCHAR2"},
    "AMOUNT": {"type": "NUMBER"},
    "RATE": {"type": "BINARY_DOUBLE"},
    "IS_ON": {"type": "BOOLEAN"},
    "AT_TIME": {"type": "TIMESTAMP"},
}
Row = dict[str, Any]
Kinds = list[list[Any]]


def operations(count: int, before_images: bool = True, truncates: bool = False) -> list[Row]:
    """Operations of GoldenGate: inserts, updates of values and of the key, deletes; NULLs, and texts of any kind."""
    chance = random.Random(7)
    rows: dict[int, Row] = {}
    found = []
    texts = ["", "null", "a", 'say "so"', "back\\slash", "line\nend\ttab", "Grüße, 世界 🎉", "NULL", None, "x" * 300]

    def row(number: int) -> Row:
        return {
            "ID": number,
            "NAME": chance.choice(texts),
            "AMOUNT": chance.choice([None, 0, -1, 12.5, 1234567890.12]),
            "RATE": chance.choice([None, 0.1, -1e300, 2.5e-7]),
            "IS_ON": chance.choice([None, True, False]),
            "AT_TIME": chance.choice([None, "2013-06-02 22:14:36.000001", "1969-12-31 23:59:59.500000"]),
        }

    for number in range(1, count + 1):
        kind = chance.choice("IIIUUUD") if rows else "I"
        old = new = None
        if kind == "I":
            new = row(number)
        else:
            key = chance.choice(list(rows))
            old = rows.pop(key)
            new = None if kind == "D" else {**row(number), "ID": number if chance.random() < 0.3 else key}
        if new is not None:
            rows[new["ID"]] = new
        images = {"before": old if before_images or kind == "D" else None, "after": new}
        found.append({"kind": kind, **images})
        if truncates and number % 10 == 0:
            found.append({"kind": "T", "before": None, "after": None})
            rows.clear()
    return found


def messages(changes: list[Row]) -> Iterator[str]:
    """The operations as GoldenGate JSON."""
    metadata = {"op_type": "OBJECT_METADATA", "qual_table": "S.T", "columns": DEFINITION}
    yield json.dumps(metadata)
    for number, change in enumerate(changes, 1):
        record = {
            "table": "S.T",
            "op_type": change["kind"],
            "op_ts": "2013-06-02 22:14:36.000000",
            "pos": f"{number:020d}",
        }
        yield json.dumps({**record, **{name: change[name] for name in ("before", "after") if change[name] is not None}})


def expected(changes: list[Row], name: str) -> Kinds:
    """The changelog that Flink is to see of a handler's messages: the truncates are left out."""
    nothing: Row = dict.fromkeys(NAMES)
    log: Kinds = []
    for change in changes:
        before, after = change["before"], change["after"]
        if change["kind"] == "I":
            log.append(["+I", after])
        elif change["kind"] == "U":
            # Without a before image, the one of GoldenGate is `{}`, and of Maxwell nothing changed.
            log += [["-U", before or (after if name == "maxwell_json" else nothing)], ["+U", after]]
        elif change["kind"] == "D":
            log.append(["-D", before])
    texts = {True: "1", False: "0"} if name == "canal_json" else {True: "True", False: "False"}
    return [
        [
            kind,
            [texts[row[column]] if isinstance(row[column], bool) else shown(column, row[column]) for column in NAMES],
        ]
        for kind, row in log
    ]


def shown(name: str, value: Any) -> str | None:
    """A value as Flink's reader prints it."""
    if value is None:
        return None
    if name == "AMOUNT":
        return f"{value:.2f}"
    return str(float(value)) if name == "RATE" else str(value)


def converted(changes: list[Row], directory: Path, *settings: str) -> dict[str, Path]:
    """By handler the directory of what ggfmt writes."""
    source, output = directory / "in.json", directory / "out"
    directory.mkdir(parents=True)
    source.write_text("\n".join(messages(changes)) + "\n", encoding="utf-8")
    lines = [f"gg.handler.{name}.format={name}" for name in FORMATS]
    lines += [f"gg.handler.{name}.format.{option}" for name, (_, _, own) in FORMATS.items() for option in own]
    lines += ["gg.handler.with_schemas.format=debezium_json", "gg.handler.with_schemas.format.schemasEnable=true"]
    given = [argument for line in (*lines, *settings) for argument in ("--set", line)]
    command = [*GGFMT, "run", str(source), "-o", str(output), "--on-reject", "quarantine", *given]
    # Exit status 4 means rejects: Maxwell has no truncates.
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ended.returncode not in (0, 4):
        raise SystemExit(f"ggfmt: {ended.stderr}")
    return {path.name: path / "S.T" for path in output.iterdir() if path.name != "_ggfmt" and path.is_dir()}


def read(python: Path, directories: Mapping[str, Path]) -> dict[str, Any]:
    """What Flink makes of the files of each handler: `rows`, or an `error`."""
    requests = []
    for name, directory in directories.items():
        format, options, _ = WITH_SCHEMAS[1:] if name == "with_schemas" else FORMATS[name]
        # Canal has MySQL's booleans, which are 1 and 0: Flink reads `"1"` as false for a BOOLEAN.
        columns = COLUMNS.replace("BOOLEAN", "TINYINT") if name == "canal_json" else COLUMNS
        requests.append(
            {"path": str(directory), "format": format, "columns": columns, "select": SELECT, "options": options}
        )
    command = [str(python), str(Path(__file__).with_name("flink_reader.py")), json.dumps(requests)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    return dict(zip(directories, answers, strict=True))


class Checks:
    """Prints what was checked, and knows whether all was well."""

    failed = 0

    def note(self, name: str, what: str, difference: str | None) -> None:
        self.failed += difference is not None
        print(f"{'FAILED' if difference else 'ok':6} {name:14} {what}{f': {difference}' if difference else ''}")


def difference(answer: Mapping[str, Any], wanted: Kinds) -> str | None:
    """The first row that is not as it should be; None if all are."""
    if "error" in answer:
        return str(answer["error"])
    rows = answer["rows"]
    for number, (row, expected_row) in enumerate(zip(rows, wanted, strict=False)):
        if row != expected_row:
            return f"row {number} is {row} and not {expected_row}"
    return None if len(rows) == len(wanted) else f"{len(rows)} rows and not {len(wanted)}"


def main(python: Path) -> int:
    checks = Checks()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        whole = operations(200)
        for name, answer in read(python, converted(whole, work / "whole")).items():
            checks.note(name, f"{len(whole)} operations, values equal", difference(answer, expected(whole, name)))
        mixed = operations(100, truncates=True)
        left = converted(mixed, work / "left", "ggfmt.truncates=leave-out")
        for name, answer in read(python, left).items():
            checks.note(name, "truncates left out", difference(answer, expected(mixed, name)))
        short = operations(100, before_images=False)
        for name, directory in converted(short, work / "short").items():
            answer = read(python, {name: directory})[name]
            if name in ("json", "maxwell_json"):
                checks.note(name, "updates without before images", difference(answer, expected(short, name)))
            else:
                taken = None if "error" in answer else "Flink takes them now"
                checks.note(name, "an update without a before image stops Flink", taken)
        for name, answer in read(python, converted(mixed, work / "mixed")).items():
            if name != "maxwell_json":
                stopped = None if "error" in answer else "Flink takes them now"
                checks.note(name, "a truncate stops Flink", stopped)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, default=Path(".flink"), help="where PyFlink is, or is to be")
    sys.exit(main(environment(parser.parse_args().environment.absolute(), FLINK, "pyflink.table")))
