"""Whether programs at other addresses answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence


def refusal(addresses: Sequence[tuple[str, int]], seconds: float, silent: str, unknown: str) -> str | None:
    """Return None if one of the addresses accepts a connection within some seconds, or else why the first does not:
    `silent`, `unknown` if the lookup of its name takes too long, or what the system says."""
    answered = threading.Event()
    problems: list[str] = []

    def knock(address: tuple[str, int]) -> None:
        try:
            with socket.create_connection(address, timeout=seconds):
                answered.set()
        except TimeoutError:
            problems.append(silent)
        except OSError as error:
            problems.append((error.strerror or str(error)).lower())

    # Daemon threads, because the lookup of a name has no time limit of its own.
    knocking = [threading.Thread(target=knock, args=(address,), daemon=True) for address in addresses]
    for thread in knocking:
        thread.start()
    for thread in knocking:
        thread.join(seconds + 0.5)
    return None if answered.is_set() else next(iter(problems), unknown)
