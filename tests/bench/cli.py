"""Wall time of short commands in fresh processes, beside that of an empty Python program, runs interleaved.

usage: cli.py [-n RUNS]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

GGFMT = [sys.executable, "-c", "import ggfmt.cli; ggfmt.cli.main()"]
HANDLER_FILES = [str(path) for path in sorted((ROOT / "conf").glob("*.properties"))]
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "ggfmt --version": [*GGFMT, "--version"],
    "ggfmt validate-config conf/json.properties": [*GGFMT, "validate-config", "conf/json.properties"],
    "ggfmt validate-config conf/*.properties": [*GGFMT, "validate-config", *HANDLER_FILES],
    "ggfmt preview samples/tcustord.json": [*GGFMT, "preview", "samples/tcustord.json", "-c", "conf/json.properties"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=11, help="runs of each (default 11)")
    runs = parser.parse_args().n
    with tempfile.TemporaryDirectory() as cache:
        measure(runs, cache)


def measure(runs: int, cache: str) -> None:
    """Print the median and the least of `runs` runs of each command; one more before them compiles into `cache`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for run in range(runs + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False)
            if run and ended.returncode == 0:
                seconds[name].append(time.perf_counter() - start)
    sys.stdout.write(f"{'command':<44}  median   least\n")
    for name, times in seconds.items():
        told = f"{statistics.median(times):.3f} s {min(times):.3f} s" if len(times) == runs else "does not run"
        sys.stdout.write(f"{name:<44} {told}\n")


if __name__ == "__main__":
    main()
