"""Pages, topics and addresses of the documents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ggfmt import docs
from ggfmt.diagnostics.codes import CODES
from ggfmt.formats import FORMATS


def test_pieces_of_pages_are_topics() -> None:
    assert docs.find("GG205") == docs.find("gg205")
    for name in FORMATS:
        assert name in docs.aliases()
        assert docs.find(name) == docs.aliases()[name][0].text
    assert str(docs.find("canal_json")).startswith("# Canal")
    assert str(docs.find("handler")).startswith("## `handler`: properties of every handler\n")
    assert str(docs.find("ggfmt")).startswith("## `ggfmt`: properties of ggfmt itself\n")
    assert docs.aliases().keys() == {*CODES, *FORMATS, "handler", "ggfmt", *docs._FORMER}


def test_a_section_ends_where_the_next_of_its_level_starts() -> None:
    text = "# A\n\nOne.\n\n## `b`\n\n```text\n## no heading\n```\n\n### C\n\n## D\n\nEnd.\n"
    sections = dict(docs.Page("a", "a.md", text).sections())
    assert sections["## `b`"] == "## `b`\n\n```text\n## no heading\n```\n\n### C\n\n"
    assert sections["### C"] == "### C\n\n"
    assert sections["# A"] == text
    assert list(sections) == ["# A", "## `b`", "### C", "## D"]


def test_every_column_of_a_table_has_a_name() -> None:
    """A screen reader reads it with each value."""
    heads = re.compile(r"^\|(.+)\|\n\| *:?---", re.MULTILINE)
    for page in (*docs.pages().values(), *docs.code_pages().values()):
        assert [row for row in heads.findall(page.text) if not all(map(str.strip, row.split("|")))] == [], page.path


def test_an_address_of_the_documents_is_that_of_the_package(tmp_path: Path) -> None:
    """The project names none today; this is what one would do."""
    assert docs.address("GG205") is None
    information = tmp_path / "ggfmt-99.dist-info"
    information.mkdir()
    metadata = (
        "Metadata-Version: 2.1\nName: ggfmt\nVersion: 99\nProject-URL: Documentation, https://example.org/ggfmt/\n"
    )
    (information / "METADATA").write_text(metadata, encoding="utf-8")
    program = "from ggfmt import docs; print(docs.address('GG205'))"
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, sys.argv[1]); {program}", tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ended.stdout == "https://example.org/ggfmt/reference/codes/GG205.md\n"
