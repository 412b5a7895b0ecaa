"""Wheels that are built from a copy of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from places import ROOT

_BUILT_FROM = ("CHANGELOG.md", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py")


def copy_project(target: Path, *more: str) -> Path:
    """Copy what a package is built from, and the directories `more`, without what is built already."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    for name in ("ggfmt", "samples", "conf", *more):
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
    for name in _BUILT_FROM:
        shutil.copy(ROOT / name, target)
    return target


def build_wheel(project: Path, target: Path, **environment: str) -> Path:
    """Build a wheel as `pip install` does, with these environment variables; return its path."""
    program = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(target), str(project)]
    subprocess.run(program, env={**os.environ, **environment}, capture_output=True, check=True, timeout=300)
    (wheel,) = target.glob("ggfmt-*.whl")
    return wheel
