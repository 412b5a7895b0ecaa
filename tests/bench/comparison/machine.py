"""The machine that figures are of: what it is, and which versions run on it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path


def machine(cores: int) -> str:
    """One line: processors, memory, system."""
    model = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    name = model[1] if model else platform.machine()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)
    return f"{name}, {cores} of {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.release()}"


def versions(environment: Mapping[str, str]) -> str:
    """One line: ggfmt with what it runs on, and the peers."""
    told = subprocess.run([sys.executable, "-m", "ggfmt", "--version"], env=environment, capture_output=True, text=True)
    found = [", ".join(told.stdout.split("\n")).strip(", ")]
    return ", ".join([*found, *(f"{peer} {version(peer)}" for peer in ("duckdb", "polars"))])
