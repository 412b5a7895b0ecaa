"""Arrow's own compute functions, for which compute.pyi has more exact types."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as _arrow
from pyarrow.compute import *  # noqa: F403

if int(pa.__version__.partition(".")[0]) < 24:
    # Until 24, `if_else` of a slice of texts and a null has other texts.

    def _whole(values: Any) -> Any:
        """Return values that are no slice."""
        if isinstance(values, pa.ChunkedArray):
            return pa.chunked_array([_whole(chunk) for chunk in values.chunks], values.type)
        if not isinstance(values, pa.Array) or not values.offset:
            return values
        return pa.concat_arrays([values, values.slice(0, 0)])

    def if_else(where: Any, one: Any, other: Any) -> Any:
        """See `pyarrow.compute.if_else`."""
        return _arrow.if_else(_whole(where), _whole(one), _whole(other))
