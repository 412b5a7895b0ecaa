"""A module that is not installed is looked for once, not at every value."""

from __future__ import annotations

import subprocess
import sys

LOOKED_FOR = """
import sys
from importlib.util import find_spec
installed = find_spec("dateutil") is not None
import ggfmt.columnar
import pyarrow as pa
looked = []
class Finder:
    @staticmethod
    def find_spec(name, *rest):
        looked.append(name)
sys.meta_path.insert(0, Finder)
for number in range(3):
    pa.scalar("text"), pa.array(["text"])
assert installed or not any(name.startswith("dateutil") for name in looked), looked
assert find_spec("dateutil") is None or installed
"""


def test_arrow_does_not_look_for_a_module_at_every_value() -> None:
    subprocess.run([sys.executable, "-c", LOOKED_FOR], check=True, timeout=60)
