"""The page of `ggfmt report`: it says what the manifest says, loads nothing, and no name in it becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lxml import etree, html
from reports import NAMES, START, changed, hostile_output, output, page_of
from runs import JSON_LINES, manifest, operation, run_ggfmt, write_lines

from ggfmt.java.text import visible
from ggfmt.model.change import OpType
from ggfmt.render.report import markup

ADDRESSES = {"src", "href", "action", "data", "poster", "srcset", "formaction", "background", "style", "ping"}
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "article", "h1", "h2"),
    *("h3", "p", "span", "b", "i", "code", "bdi", "time", "dl", "dt", "dd", "div", "svg", "rect"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "a", "script"),
}
KINDS = [kind.value for kind in OpType]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return output(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def shown(out: Path) -> Any:
    return parsed(page_of(out))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(hostile_output(tmp_path_factory.mktemp("hostile")))


def parsed(text: str) -> Any:
    return html.document_fromstring(text.encode())


def text_of(found: Any) -> str:
    return " ".join("".join(found.itertext()).split())


def section(shown: Any, title: str) -> Any:
    (found,) = shown.xpath(f'//section[h2="{title}"]')
    return found


def rows(shown: Any, caption: str) -> list[list[str]]:
    """The cells of a table, by the start of its caption or the title of its section."""
    return [[text_of(cell) for cell in row] for row in table(shown, caption)[2]]


def table(shown: Any, caption: str) -> Any:
    found = shown.xpath(f'.//table[starts-with(caption, "{caption}")]') or section(shown, caption).xpath(".//table")
    (only,) = found
    return only


def heads(shown: Any, caption: str) -> list[tuple[str, str | None]]:
    """The columns of a table with their classes: `n` has numbers, to the right."""
    return [(text_of(head), head.get("class")) for head in table(shown, caption).xpath("./thead/tr/th")]


def number(text: str) -> int:
    return int(text.replace(",", ""))


# What it says


def test_operations_by_table_and_type_are_those_of_the_manifest(shown: Any, out: Path) -> None:
    operations = manifest(out)["totals"]["operations"]
    files = [file for file in manifest(out)["files"] if "table" in file]
    listed = rows(shown, "Operations by table")
    for name, _, *cells in listed:
        total, *by_type, count, size = map(number, cells)
        assert by_type == [operations[name].get(kind, 0) for kind in KINDS]
        assert total == sum(operations[name].values())
        own = [file for file in files if file["table"] == name]
        assert (count, size) == (len(own), sum(file["bytes"] for file in own))
    assert {row[0] for row in listed} == operations.keys()
    whole = Counter[str]()
    for kinds in operations.values():
        whole.update(kinds)
    all_types = {kind: number(count) for kind, _, count, _ in rows(shown, "Operations by type")}
    assert all_types == {OpType(kind).name.lower(): count for kind, count in whole.items()}


def test_bars_are_as_long_as_their_counts(shown: Any, out: Path) -> None:
    operations = manifest(out)["totals"]["operations"]
    most = max(sum(kinds.values()) for kinds in operations.values())
    for row in table(shown, "Operations by table")[2]:
        kinds = operations[text_of(row[0])]
        widths = [float(rect.get("width").removesuffix("%")) for rect in row.iter("rect")]
        assert widths == pytest.approx([100 * kinds[kind] / most for kind in KINDS if kind in kinds], abs=0.001)


def test_operations_over_time_are_those_of_the_manifest(shown: Any, out: Path) -> None:
    by_time = manifest(out)["totals"]["operations_by_time"]
    whole = Counter[str]()
    for kinds in by_time["times"].values():
        whole.update(kinds)
    told = rows(shown, "Operations over time")
    assert len(told) == 40
    assert [sum(number(row[place]) for row in told) for place in range(3, 7)] == [whole[kind] for kind in KINDS]
    assert sum(number(row[2]) for row in told) == whole.total()
    assert told[0][0] == f"{START:%Y-%m-%d %H:%M}"
    assert "Left out: 2 operations without a time." in text_of(section(shown, "Operations over time"))


def test_rejects_losses_and_warnings_are_those_of_the_manifest(shown: Any, out: Path) -> None:
    totals = manifest(out)["totals"]
    handlers = totals["handlers"].items()
    rejects = [[name, code, str(count)] for name, of in handlers for code, count in of["rejects"].items()]
    assert [[name, code, count] for name, code, _, count in rows(shown, "By handler and reason")] == rejects
    examples = rows(shown, "The first rejects")
    assert len(examples) == 3
    code, reason, owners, place = examples[0]
    assert (code, owners) == ("GG301", "j, d")
    assert reason.startswith("the record is not JSON")
    assert re.fullmatch(r"\S+in\.json ?byte [\d,]+", place)
    losses = [
        [name, loss["table"], loss["column"], str(loss["values"]), f"{loss['what']} {loss['loss']}"]
        for name, of in handlers
        for loss in of["losses"]
    ] + [["d", "", "", str(totals["handlers"]["d"]["lost_characters"]), "characters became ?"]]
    assert sorted(rows(shown, "Values that could not be shown as they are")) == sorted(losses)
    assert heads(shown, "Values that could not be shown as they are") == [
        ("Handler", None), ("Table", None), ("Column", None), ("Values", "n"), ("What happened", None),
    ]  # fmt: skip
    assert [row[0] for row in rows(shown, "Warnings")] == [warning.replace("`", "") for warning in totals["warnings"]]
    assert shown.xpath('//span[contains(@class, "warn")]')


def test_files_schemas_inputs_steps_settings_and_versions_are_those_of_the_manifest(shown: Any, out: Path) -> None:
    document = manifest(out)
    assert [row[0] for row in rows(shown, "Output files")] == [file["path"] for file in document["files"]]
    assert [number(row[3]) for row in rows(shown, "Output files")] == [file["bytes"] for file in document["files"]]
    assert [row[0] for row in rows(shown, "Schemas")] == [schema["path"] for schema in document["schemas"]]
    assert [number(row[1]) for row in rows(shown, "Input files")] == [file["bytes"] for file in document["inputs"]]
    steps = {step: float(seconds) for step, _, seconds, _ in rows(shown, "Where the time went")}
    assert steps == document["totals"]["seconds_by_step"]
    settings = text_of(section(shown, "Handlers"))
    for handler in document["handlers"].values():
        for key, value in handler["options"].items():
            assert f"{key}{visible(value)}" in settings
        assert f"Tokens{'included' if handler['includeTokens'] else 'not included'}" in settings
    footer = text_of(shown.find(".//footer"))
    assert f"python {document['versions']['python']}" in footer
    assert f"ggfmt {document['ggfmt']}" in footer


def test_a_run_that_lost_nothing_says_so(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([write_lines(tmp_path / "in.json", [operation(1)])], out, *JSON_LINES)
    shown = parsed(page_of(out))
    assert text_of(shown.xpath('//span[contains(@class, "badge")]')[0]) == "Committed: nothing set aside, no value lost"
    assert "error" not in text_of(shown.find(".//header"))  # the mode of the run, which reads like a failure
    titles = [text_of(title) for title in shown.xpath("//h2")]
    assert not {"Rejects", "Losses", "Warnings", "Other records"} & set(titles)
    assert "If output existsthe run stops" in text_of(shown.find(".//header"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda document: document["totals"].pop("operations_by_time"), id="earlier ggfmt"),
        pytest.param(lambda document: document["totals"].clear(), id="no totals"),
        pytest.param(lambda document: document["totals"]["operations_by_time"].update(times={}), id="no times"),
        pytest.param(
            lambda document: document["totals"]["operations_by_time"]["times"].update({"2026-02-30": {"I": 1}}),
            id="no day of the calendar",
        ),
        pytest.param(
            lambda document: document["totals"]["operations_by_time"]["times"].update(
                {"0001-01-01 00:00:00": {"I": 2**60}, "9999-12-31 23:59:59": {"?": 2**60}}
            ),
            id="all times and numbers",
        ),
    ],
)
def test_a_manifest_that_says_less_or_odd_things_gives_a_page(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    out = output(tmp_path, count=10)
    changed(out, change)
    assert parsed(page_of(out)).find(".//h1") is not None


# How large it is


def test_a_long_list_is_cut_and_says_so(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "MAX_ROWS", 2)
    shown = parsed(page_of(out))
    assert len(rows(shown, "Operations by table")) == 2
    assert "1 more rows are not on this page" in text_of(section(shown, "Operations by table"))


# What it must not do


def test_the_page_refers_to_nothing_outside(shown: Any, attacked: str) -> None:
    for document in (shown, parsed(attacked)):
        for found in document.iter(etree.Element):
            assert found.tag in TAGS, found.tag
            assert not ADDRESSES & set(found.attrib) or re.fullmatch(r"#GG\d{3}", found.attrib["href"]), found.attrib
            assert not [name for name in found.attrib if name.startswith("on")]
        (style,) = document.xpath("//style")
        assert "url(" not in style.text
        assert "@import" not in style.text
    assert not re.search(r"https?://", attacked)


def test_the_policy_allows_its_own_style_and_script_alone(attacked: str) -> None:
    document = parsed(attacked)
    (policy,) = document.xpath('//meta[@http-equiv="Content-Security-Policy"]/@content')
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for tag in ("style", "script"):
        (found,) = document.xpath(f"//{tag}")
        digest = hashlib.sha256(found.text.encode()).digest()
        assert parts.pop(f"{tag}-src") == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert parts == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}


def test_names_are_text_and_steer_nothing(attacked: str) -> None:
    assert all(line.isprintable() for line in attacked.split("\n"))
    for mark in ("<script>alert", "<img", "<i>", "<!--", "\u202e", "\u2028", "\x1b", "\x00", "\ud800"):
        assert mark not in attacked
    document = parsed(attacked)
    assert len(document.xpath("//script")) == 1
    assert {row[0] for row in rows(document, "Operations by table")} == {
        " ".join(visible(name).split()) for name in NAMES
    }
    for cell in section(document, "Operations by table").xpath(".//tbody/tr/td[1]"):
        assert [child.tag for child in cell] == ["bdi"]  # so that its direction is its own


def test_credentials_are_not_shown(attacked: str) -> None:
    assert "secret" not in attacked
    assert "hdfs://host/x" in attacked


def test_records_are_not_shown(tmp_path: Path) -> None:
    secret = "4111-1111-1111-1111"
    unknown = {**operation(2), "op_type": "X", "after": {"ID": "2", "CARD": secret}}
    records: list[dict[str, Any] | bytes] = [operation(1), unknown, f"<{secret}".encode()]
    out = tmp_path / "out"
    run_ggfmt([write_lines(tmp_path / "in.json", records)], out, *JSON_LINES, quarantine=True)
    assert secret in "".join(path.read_text() for path in out.rglob("*.records"))
    text = page_of(out)
    assert "GG301" in text
    assert secret not in text


def test_the_zone_of_times_is_that_of_the_input_format(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(1)])
    run_ggfmt([source], tmp_path / "local", *JSON_LINES)
    run_ggfmt([source], tmp_path / "debezium", "gg.handler.h.format=debezium_json")
    run_ggfmt([tmp_path / "debezium" / "h"], tmp_path / "utc", *JSON_LINES)
    for name, words in (("local", "in the time zone of the source"), ("utc", "Times are in UTC.")):
        told = text_of(section(parsed(page_of(tmp_path / name)), "Operations over time"))
        assert words in told
