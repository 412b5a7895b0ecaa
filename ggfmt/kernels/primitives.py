"""The functions of the native kernels, which every caller uses in the same way.

Each is the kernel if there is one, and else the function in plain Python, which also does what a kernel refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ggfmt import kernels
from ggfmt.kernels import plain

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def _primitive(
    stand_in: Callable[_Given, _Result], refusals: tuple[type[Exception], ...] = kernels.REFUSALS
) -> Callable[_Given, _Result]:
    @wraps(stand_in)
    def call(*given: _Given.args, **named: _Given.kwargs) -> _Result:
        if kernels.native is not None:
            try:
                result: _Result = getattr(kernels.native, stand_in.__name__)(*given, **named)
                return result
            except refusals:
                pass
        return stand_in(*given, **named)

    return call


# Other errors of a join are mistakes in its pieces, or messages that are too large for one array.
join = _primitive(plain.join, (NotImplementedError,))
fits = _primitive(plain.fits)
digits = _primitive(plain.digits)
count = _primitive(plain.count)
differ = _primitive(plain.differ)
occurrences = _primitive(plain.occurrences)
envelopes = _primitive(plain.envelopes)
partitions = _primitive(plain.partitions)
csv_rows = _primitive(plain.csv_rows)
