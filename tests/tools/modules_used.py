"""Print how many modules of ggfmt execute a function while `ggfmt.convert` converts the sample.

python tests/tools/modules_used.py [--list]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from places import PACKAGE, ROOT

import ggfmt


def modules_used() -> list[str]:
    """The modules, as paths below the package, in alphabetical order. Code of a module's own level does not count."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    with tempfile.TemporaryDirectory() as directory:
        sys.setprofile(note)
        try:
            ggfmt.convert(
                ROOT / "samples" / "tcustord.json",
                definitions=ROOT / "samples" / "TCUSTORD.def",
                config=ROOT / "conf" / "json.properties",
                output=f"{directory}/out",
                master="none",
            )
        finally:
            sys.setprofile(None)
    return sorted(name.removeprefix(f"{PACKAGE}/") for name in seen if name.startswith(f"{PACKAGE}/"))


if __name__ == "__main__":
    used = modules_used()
    if "--list" in sys.argv[1:]:
        print(*used, sep="\n")
    print(f"{len(used)} modules")
