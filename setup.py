"""What pyproject.toml cannot say of the build: it depends on the Python that builds. All else is there."""

import sysconfig
from pathlib import Path

from setuptools import setup

# The release whose limited API the kernels use (ggfmt/kernels/python.h); a Python without a global lock has none.
LIMITED_API = None if sysconfig.get_config_var("Py_GIL_DISABLED") else "cp310"

# A kernel that was built here for one release of Python would be found before the one that serves all.
if LIMITED_API:
    for old in Path(__file__).resolve().parent.glob("ggfmt/kernels/_native.cpython-*"):
        old.unlink()

setup(options={"bdist_wheel": {"py_limited_api": LIMITED_API}} if LIMITED_API else {})
