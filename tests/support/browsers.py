"""Pages in a headless Chromium that playwright steers, for the tools that check them."""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

SCROLL_WIDTH = "document.documentElement.scrollWidth"
_ARGUMENTS = (
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Contrast of text and what is behind it, by the formula of WCAG 2: the lowest of the elements, and the element's text.
WORST_CONTRAST = """found => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = each => {
    if (!each) return [255, 255, 255];
    const [r, g, b, opacity = 1] = parts(getComputedStyle(each).backgroundColor);
    const below = opacity < 1 ? behind(each.parentElement) : [0, 0, 0];
    return [r, g, b].map((v, n) => v * opacity + below[n] * (1 - opacity));
  };
  return found.map(each => {
    const style = getComputedStyle(each), svg = each instanceof SVGElement;
    const [a, b] = [light(parts(svg ? style.fill : style.color)), light(behind(each))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), each.textContent.slice(0, 40)];
  }).sort((one, other) => one[0] - other[0])[0];
}"""
Checked = TypeVar("Checked")


@dataclass
class Events:
    """What a page did: the addresses that it asked for, and its messages: the console's, errors, and dialogs.

    Notes of the browser itself are left out, such as one for a page that has a field to focus and is opened at a place.
    """

    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@contextmanager
def opened(
    browser: Browser, address: str, width: int = 1280, scheme: Any = "light", script: bool = True
) -> Iterator[tuple[Page, Events]]:
    """Open an address in a new window, which shares nothing with others."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
    )
    events = Events()

    def note(message: ConsoleMessage) -> None:
        if message.type != "info":
            events.messages.append(message.text)

    with context.new_page() as window:
        window.on("request", lambda request: events.requests.append(request.url))
        window.on("console", note)
        window.on("pageerror", lambda error: events.messages.append(str(error)))
        window.on("dialog", lambda dialog: events.messages.append(f"dialog {dialog.message}"))
        window.goto(address)
        yield window, events
    context.close()


def browser_arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the arguments of all tools. The first line of a tool's docstring describes it."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--chromium", type=Path, help="the browser to start; by default the one of playwright")
    parser.add_argument("--screenshots", type=Path, metavar="DIRECTORY", help="keep pictures of the pages there")
    return parser


@contextmanager
def chromium(executable: Path | None) -> Iterator[Browser]:
    """Start the browser; without an executable the one that playwright installed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(_ARGUMENTS))
        yield browser
        browser.close()


def run_checks(checks: Sequence[Callable[[Checked], None]], checked: Checked) -> int:
    """Run each check and print a line for it. Return how many failed."""
    failed = 0
    for check in checks:
        try:
            check(checked)
            print(f"ok      {check.__name__}")
        except Exception as error:
            failed += 1
            line = traceback.extract_tb(error.__traceback__)[1].lineno
            print(f"FAILED  {check.__name__}, line {line}: {error}")
    return failed


def take_pictures(
    window: Callable[[str, int, str], AbstractContextManager[Page]],
    names: Iterable[str],
    directory: Path,
    full_page: bool = False,
) -> None:
    """Save each page as `window` opens it: light, dark and narrow."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        for shown, width, scheme in (("light", 1280, "light"), ("dark", 1280, "dark"), ("narrow", 400, "light")):
            with window(name, width, scheme) as page:
                page.screenshot(path=directory / f"{name.replace('/', '-')}-{shown}.png", full_page=full_page)
