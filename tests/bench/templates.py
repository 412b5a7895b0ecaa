"""What templates of metadata cost in formatting, beside the fixed fields.

usage: templates.py [MEGABYTES [RUNS]]

Formats the same operations in this process by each side in turns, and prints the medians of the CPU microseconds an
operation and the ratio of the second side to the first. `SIDES` says what is compared.
"""

from __future__ import annotations

import logging
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from comparison.data import SHAPES, write_lines

from ggfmt.columnar.metadata import Clock
from ggfmt.definitions import load_definitions
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection, WriterSettings
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog

DEFINITIONS = [str(Path(__file__).resolve().parents[2] / "samples" / "TCUSTORD.def")]
SEVEN = (
    "${objectname[table]},${optype[op_type]},${timestamp[op_ts]},${currenttimestamp[current_ts]},${position[pos]},"
    "${primarykeycolumns[primary_keys]},${alltokens[tokens]}"
)
LINE = "${optype},${objectname},${timestamp},${currenttimestamp},${position},${alltokens}"
ROWS = {"pkUpdateHandling": "update"}
SIDES: list[tuple[tuple[str, dict[str, str]], tuple[str, dict[str, str]]]] = [
    (("delimitedtext", ROWS), ("delimitedtext", {"metaColumnsTemplate": LINE, **ROWS})),
    (("json", {"includePrimaryKeys": "true"}), ("json", {"metaColumnsTemplate": SEVEN})),
    (("json_row", {"includePrimaryKeys": "true", **ROWS}), ("json_row", {"metaColumnsTemplate": SEVEN, **ROWS})),
    (("avro_row", ROWS), ("avro_row", {"metaColumnsTemplate": SEVEN, **ROWS})),
    (("avro_op", {}), ("avro_op", {"metaColumnsTemplate": SEVEN})),
    (("delimitedtext", ROWS), ("delimitedtext_op", {})),
]


def batches(source: Path) -> list[ChangeBatch]:
    """The operations of a file of JSON."""
    side = FORMATS["json"].read_support

    told = WriterSettings(FORMATS["json"].options())
    reader = side.reader(Catalog(load_definitions(DEFINITIONS)), Projection(tokens=True), told)
    found: list[ChangeBatch] = []
    with source.open("rb") as stream:
        head = stream.read(1 << 16)
        stream.seek(0)
        for chunk in reader.chunks(stream, "in.json", 0, None, reader.layout(head, False, told)):
            found += [event for event in reader.read(chunk) if isinstance(event, ChangeBatch)]
    return [*found, *(event for event in reader.flush() if isinstance(event, ChangeBatch))]


def formatting(name: str, texts: dict[str, str], made: list[ChangeBatch]) -> float:
    """CPU seconds for all operations."""
    options: Any = FORMATS[name].options.parse(texts)
    formatter = FORMATS[name].write_support.formatter(made[0].table, options, Context(include_tokens=True), Clock())
    start = time.process_time()
    for batch in made:
        formatter.format(formatter.arrange(batch)[0])
    return time.process_time() - start


def main(megabytes: str = "20", runs: str = "7") -> None:
    logging.disable()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "in.json", SHAPES["orders"].lines(), int(megabytes) * 10**6)
        made = batches(folder / "in.json")
        count = sum(map(len, made))
        print(f"{'formatting ' + str(count) + ' operations':<62} µs      µs  ratio")
        for one, other in SIDES:
            times: tuple[list[float], list[float]] = [], []
            for _ in range(int(runs)):
                for side, (format, texts) in zip(times, (one, other), strict=True):
                    side.append(formatting(format, texts, made) / count * 1e6)
            first, second = map(statistics.median, times)
            what = f"{one[0]}, {other[0]}" + (" by template" if one[0] == other[0] else "")
            print(f"{what:<60} {first:4.2f}    {second:4.2f}   {second / first:4.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
