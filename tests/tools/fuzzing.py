"""Coverage-guided fuzzing of a reader by atheris (`pip install -e .[fuzz]`).

    python tests/tools/fuzzing.py FORMAT [--seconds N] [--found DIR] [OPTIONS OF LIBFUZZER]
    python tests/tools/fuzzing.py FORMAT --replay FILE ...

FORMAT is one that ggfmt reads, or `properties`. What is asked of an input is in `fuzz`. One that fails, takes more than
20 seconds or more than 3 GB is written to DIR (`tests/fuzz/found`), with the reason on the terminal.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.extend(str(Path(__file__).resolve().parents[1] / name) for name in ("support", ""))

from places import TESTS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--found", type=Path, default=TESTS / "fuzz" / "found")
    parser.add_argument("--replay", type=Path, nargs="+")
    given, others = parser.parse_known_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    import atheris

    with atheris.instrument_imports(include=["ggfmt"]):
        from fuzz import MAX_BYTES, corpus, seeds, target

        look = target(given.format)
        for data in seeds(given.format):  # loads what the format needs
            look(data)
    if given.replay:
        for path in given.replay:
            look(path.read_bytes())
        return
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate([*seeds(given.format), *corpus(given.format)]):
            (Path(folder) / f"{number:04d}").write_bytes(data[:MAX_BYTES])
        given.found.mkdir(parents=True, exist_ok=True)
        options = [
            f"-max_total_time={given.seconds}",
            f"-max_len={MAX_BYTES}",
            "-timeout=20",
            "-rss_limit_mb=3000",
            f"-artifact_prefix={given.found}/{given.format}-",
            *others,
        ]
        atheris.Setup([sys.argv[0], *options, folder], look)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
