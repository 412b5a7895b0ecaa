"""A runner that dies before a task of its choice, and counts those that it runs to their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from ggfmt.reading.resume import _Keeping
from ggfmt.reading.runner import InProcess


class Mortal(InProcess):
    def __init__(self, lives: int | None = None, parallelism: int = 1, end: Callable[[], Any] | None = None) -> None:
        super().__init__()
        self.lives, self.parallelism, self.ran = lives, parallelism, Counter[str]()
        self._end = end

    def run(self, task: Any, items: Any, *rest: Any) -> list[Any]:
        def mortal(item: Any, attempt: int) -> Any:
            if self.lives is not None:
                self.lives -= 1
                if self.lives < 0:
                    if self._end is not None:
                        self._end()
                    raise KeyboardInterrupt
            result = task(item, attempt)
            inner = task.task if isinstance(task, _Keeping) else task
            self.ran[inner.func.__name__ if isinstance(inner, partial) else type(inner).__name__] += 1
            return result

        return super().run(mortal, items, *rest)
