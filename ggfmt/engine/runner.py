"""Runners: what carries tasks out. Spark's is `ggfmt.spark.session.SparkRunner`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int], None]


class Runner(Protocol):
    """Runs one task for each item, on Spark or in this process; results come in the order of the items."""

    @property
    def parallelism(self) -> int: ...

    def run(self, task: Callable[[T, int], R], items: Sequence[T], progress: Progress | None = None) -> list[R]: ...


class InProcess:
    """A runner without Spark, for small work and for tests."""

    parallelism = 1

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def run(self, task: Callable[[T, int], R], items: Sequence[T], progress: Progress | None = None) -> list[R]:
        results = []
        for number, item in enumerate(items):
            results.append(task(item, number))
            if progress is not None:
                progress(number + 1, len(items))
        return results
