"""Arrow's own compute functions, for which compute.pyi has more exact types."""

from pyarrow.compute import *  # noqa: F403
