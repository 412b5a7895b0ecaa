"""A module that is not installed is looked for once, not at every value."""

from __future__ import annotations

import subprocess
import sys

LOOKED_FOR = """
import sys
from importlib.machinery import PathFinder
looked = []
class WithoutIt:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "dateutil":
            looked.append(name)
            return None
        return PathFinder.find_spec(name, path, target)
sys.meta_path = [WithoutIt if finder is PathFinder else finder for finder in sys.meta_path]
import ggfmt.columnar
import pyarrow as pa
for number in range(3):
    pa.scalar("text"), pa.array(["text"])
assert looked == ["dateutil"], looked
"""


def test_arrow_does_not_look_for_a_module_at_every_value() -> None:
    subprocess.run([sys.executable, "-c", LOOKED_FOR], check=True, timeout=60)
