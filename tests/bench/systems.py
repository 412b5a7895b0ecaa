"""How fast other systems' changes are converted, beside GoldenGate JSON on as many bytes.

usage: systems.py [MEGABYTES [RUNS]]

Makes change files in each format, converts each in this process (one core, definitions known), and prints the medians
of the CPU seconds a megabyte and their ratio to `json` to `json`. The runs of all conversions alternate.
"""

from __future__ import annotations

import logging
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ggfmt.config.handlers import read_configuration
from ggfmt.definitions import load_definitions
from ggfmt.engine.run import RunSettings, execute
from ggfmt.engine.runner import InProcess
from ggfmt.formats.api.context import Context, WriterSettings

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = [str(ROOT / "samples" / "TCUSTORD.def")]
PAIRS = [
    ("json", "json", ()),
    ("debezium_json", "json", ()),
    ("debezium_json", "json", ("schemasEnable=true", "decimalHandlingMode=precise")),
    ("canal_json", "avro_row_ocf", ()),
    ("canal_json", "json", ("batchSize=10",)),
]


def convert(inputs: list[Path], old: str, new: str, output: Path, options: tuple[str, ...] = ()) -> float:
    """The CPU seconds that it takes."""
    settings = [f"gg.handler.h.format={new}", "gg.handler.h.includeTokens=true"]
    if new in ("json", "avro_row_ocf"):
        settings.append(f"gg.handler.h.format.schemaDirectory={output}-schemas")
    configuration = read_configuration([], [*settings, *(f"gg.handler.h.format.{option}" for option in options)])
    wanted = RunSettings(
        inputs=[str(path) for path in inputs],
        handlers=configuration.handlers,
        output=str(output),
        mode="overwrite",
        input_format=old,
        definitions=load_definitions(DEFINITIONS),
        source=WriterSettings(context=Context(include_tokens=True)),
    )
    start = time.process_time()
    execute(wanted, InProcess)
    return time.process_time() - start


def main(megabytes: str = "50", runs: str = "5") -> None:
    logging.disable()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, ROOT / "tests/bench/make_data.py", folder / "in.json", megabytes], check=True)
        made: dict[tuple[str, tuple[str, ...]], Path] = {}
        for old, _, options in PAIRS:
            target = folder / "-".join((old, *options))
            if target not in made.values():
                convert([folder / "in.json"], "json", old, target, options)
            made[old, options] = target
        found: dict[int, list[float]] = {index: [] for index in range(len(PAIRS))}
        for _ in range(int(runs)):
            for index, (old, new, options) in enumerate(PAIRS):
                files = sorted(path for path in (made[old, options] / "h").rglob("*") if path.is_file())
                size = sum(path.stat().st_size for path in files) / 1e6
                found[index].append(convert(files, old, new, folder / "out") / size)
        basis = statistics.median(found[0])
        print(f"{'conversion':<75} ms/MB  ratio")
        for index, (old, new, options) in enumerate(PAIRS):
            median = statistics.median(found[index])
            shown = f"{old} to {new} {' '.join(options)}"
            print(f"{shown:<75} {median * 1000:5.1f}  {median / basis:5.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
