"""Spark masters by their URL: the form that tries again, the addresses behind it, and whether anyone listens there."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Sequence

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError

_PROBE_SECONDS = 2.0


def cpus() -> int:
    """How many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def retrying(master: str) -> str:
    """`local[2]` fails with the first killed worker: the form of it, of `local` and of `local[*]` that tries again."""
    if master == "local":
        return "local[1,4]"
    return re.sub(r"^local\[\s*(\d+|\*)\s*\]$", r"local[\1,4]", master)


def master_addresses(master: str) -> list[tuple[str, int]]:
    """Host and port of every master of `spark://host:port[,host:port]`; none for other masters."""
    if not master.startswith("spark://"):
        return []
    addresses = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise UsageError(
                Diagnostic("GG504", f"`{master}` is not the address of a master", help="give spark://HOST:PORT")
            )
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def probe(master: str, addresses: Sequence[tuple[str, int]]) -> None:
    """Raise Abend (GG504) unless one of the masters listens: Spark itself would try for a minute without a word."""
    reason = refusal(addresses)
    if reason is not None:
        message = f"no Spark master answers at `{master}`: {reason}"
        raise Abend(Diagnostic("GG504", message, help="start the master or correct `--master`"))


def refusal(addresses: Sequence[tuple[str, int]]) -> str | None:
    """None where somebody listens at one of the addresses, given two seconds; else why nobody does."""
    answered = threading.Event()
    problems = []

    def knock(address: tuple[str, int]) -> None:
        try:
            with socket.create_connection(address, timeout=_PROBE_SECONDS):
                answered.set()
        except TimeoutError:
            problems.append(f"no answer within {_PROBE_SECONDS:.0f} seconds")
        except OSError as error:
            problems.append((error.strerror or str(error)).lower())

    # Daemons, because looking up a name has no time limit of its own.
    knocking = [threading.Thread(target=knock, args=(address,), daemon=True) for address in addresses]
    for thread in knocking:
        thread.start()
    for thread in knocking:
        thread.join(_PROBE_SECONDS + 0.5)
    if answered.is_set():
        return None
    return problems[0] if problems else "its name cannot be resolved"


def attempts(master: str, configured: str | None) -> int:
    """How often Spark tries a task. What is `configured` is for clusters; a local Spark has it in its name."""
    local = re.fullmatch(r"local(?:\[[^,\]]*(?:,\s*(\d+)\s*)?\])?", master)
    return int((local[1] if local else configured) or (1 if local else 4))


def resolve(host: str) -> str:
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return ""


def is_here(host: str) -> bool:
    """Whether the address of `host` is one of this machine's: only those can be bound."""
    address = resolve(host)
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return bool(address)
