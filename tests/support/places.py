"""Where things of the project are that tests use."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ggfmt"
SAMPLES = ROOT / "samples"
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
GOLDEN = TESTS / "golden"
LINT = TESTS / "lint"
SHARED_DATA = ROOT.parent / "shared" / "data"  # recorded messages; tests that need them are left out without them
GGFMT = (sys.executable, "-m", "ggfmt")  # the command
