"""Coverage-guided fuzzing of a reader by atheris (`pip install atheris`), from tests/:

    python -m fuzz FORMAT [--seconds N] [--found DIR] [-- OPTIONS OF LIBFUZZER]

FORMAT is one that ggfmt reads, or `properties`. An input that fails is written to DIR (`fuzz/found`), with the reason
on the terminal. `python -m fuzz FORMAT --replay FILE ...` tries files once.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import warnings
from pathlib import Path

from fuzz import CORPUS, MOST_BYTES, TARGETS, corpus, seeds, target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--found", type=Path, default=CORPUS.parent / "found")
    parser.add_argument("--replay", type=Path, nargs="+")
    given, others = parser.parse_known_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    look = target(given.format)
    if given.replay:
        for path in given.replay:
            look(path.read_bytes())
        return
    import atheris

    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate([*seeds(given.format), *corpus(given.format)]):
            (Path(folder) / f"{number:04d}").write_bytes(data[:MOST_BYTES])
        given.found.mkdir(parents=True, exist_ok=True)
        options = [
            f"-max_total_time={given.seconds}",
            f"-max_len={MOST_BYTES}",
            "-timeout=20",
            "-rss_limit_mb=3000",
            f"-artifact_prefix={given.found}/{given.format}-",
            *others,
        ]
        atheris.instrument_all()
        atheris.Setup([sys.argv[0], *options, folder], look)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
