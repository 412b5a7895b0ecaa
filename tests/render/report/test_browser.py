"""The pages of all reports in Chromium, by the checks of tests/tools/report_browser.py."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="needs the extra `browser`")

from browsers import chromium
from report_browser import CHECKS, Pages

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.process,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    with chromium(Path(CHROMIUM or "")) as browser:
        yield Pages(browser, tmp_path_factory.mktemp("pages"))


@pytest.mark.parametrize("check", [pytest.param(check, id=check.__name__) for check in CHECKS])
def test_in_a_browser(check: Callable[[Any], None], pages: Pages) -> None:
    check(pages)
