"""What the programs of `tests/tools` share that try faults in runs: their options, cases, copies and results."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

Files = dict[str, str]  # name below an output to digest
C = TypeVar("C")


def parser_of(documentation: str | None, **choices: Iterable[object]) -> argparse.ArgumentParser:
    """Return a parser with `--sample`, `--seed`, and an option for each of the choices."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    for name, legal in choices.items():
        parser.add_argument(f"--{name}", choices=legal)
    return parser


def select_cases(cases: Iterable[C], given: argparse.Namespace, *names: str) -> list[C]:
    """Return the cases whose attributes are as given, or a sample of them."""
    found = [case for case in cases if all(getattr(given, name) in (None, getattr(case, name)) for name in names)]
    return found if given.sample is None else random.Random(given.seed).sample(found, min(given.sample, len(found)))


def fresh_copy(source: Path, target: Path, copy: Callable[[str, str], object] = shutil.copy2) -> Path:
    """Replace a directory by a copy of another one, which may be missing."""
    shutil.rmtree(target, ignore_errors=True)
    if source.exists():
        shutil.copytree(source, target, symlinks=True, copy_function=copy)
    return target


def differences(found: Files, wanted: Files) -> str:
    lacking, more = wanted.keys() - found.keys(), found.keys() - wanted.keys()
    other = sum(found[name] != wanted[name] for name in found.keys() & wanted.keys())
    return f"{len(lacking)} files lack, {len(more)} are too many, {other} differ"


def count_wrong(
    tries: Sequence[tuple[object, Callable[[], str]]], every: int = 1, keep: Callable[[int], None] = lambda number: None
) -> int:
    """Try cases and print how each went, or one of so many. Return how many went wrong; `keep` gets their numbers."""
    results: Counter[str] = Counter()
    for number, (case, attempt) in enumerate(tries, 1):
        try:
            result = attempt()
        except Exception as error:
            result = "WRONG"
            print(f"{case}: {error}", file=sys.stderr)
            if not isinstance(error, AssertionError) or not str(error):
                traceback.print_exc()
            keep(number)
        results[result.partition(" of ")[0]] += 1
        if sys.stdout.isatty() or number % every == 0:
            print(f"{number}/{len(tries)} {case}: {result}", flush=True)
    print(", ".join(f"{result}: {count}" for result, count in sorted(results.items())))
    return results["WRONG"]
