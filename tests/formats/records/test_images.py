"""Value, NULL and missing stay three things in an image: a reader that makes the text `null` of NULL is refused."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection
from ggfmt.formats.records.dialect import ABSENT
from ggfmt.formats.records.images import text_image
from ggfmt.formats.records.reader import dialect_input
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, Column, TableDef

TABLE = TableDef("t", tuple(map(Column, "vnmo")))
RECORD = b'{"v": "null", "n": null, "o": {"a": null}}\n'
IN_COLUMNS = [("null", True), (None, True), (None, False), ('{"a": null}', True)]  # values, and whether they are there

# A reader whose records are names and values, and whose images an expression makes of them.
READER = """
from __future__ import annotations

from msgspec import Raw

from ggfmt.formats.json.values import Text, text_or_none, token_text
from ggfmt.formats.records.dialect import Change, Dialect, Meaning
from ggfmt.formats.records.images import TextImage, text_image


class Cells(Dialect):
    record = dict[str, Raw]

    def changes(self, record: dict[str, Raw]) -> Meaning:
        image = {image}
        return (Change("t", "I", None, None, None, image, {{}}),)
"""
RIGHT = {
    "constructor": "text_image(record)",
    "texts": "TextImage({name: text_or_none(value) for name, value in record.items()})",
}
WRONG = {
    "characters": "{name: str(bytes(value), 'utf-8') for name, value in record.items()}",
    "tokens": "{name: token_text(value) for name, value in record.items()}",
    "texts": "{name: text_or_none(value) for name, value in record.items()}",
}


def columns(image: str) -> list[tuple[str | None, bool]]:
    made: dict[str, Any] = {}
    exec(READER.format(image=image), made)
    reader = dialect_input(made["Cells"]).reader(Catalog({"t": TABLE}), Projection(), DEFAULT_SETTINGS)
    layout = reader.layout(RECORD, True, DEFAULT_SETTINGS)
    chunks = reader.chunks(io.BytesIO(RECORD), "f", 0, None, layout)
    (batch,) = [event for chunk in chunks for event in [*reader.read(chunk), *reader.flush()]]
    assert isinstance(batch, ChangeBatch)
    return [(c.values[0].as_py(), c.present is None or c.present[0].as_py()) for c in batch.after.columns]


@pytest.mark.parametrize("image", RIGHT.values(), ids=RIGHT)
def test_value_null_and_missing_stay_three_things(image: str) -> None:
    assert columns(image) == IN_COLUMNS


@pytest.mark.parametrize("image", WRONG.values(), ids=WRONG)
def test_the_first_record_refuses_an_image_that_nothing_made(image: str) -> None:
    with pytest.raises(TypeError, match="`text_image`"):
        columns(image)


def test_an_absent_member_is_a_missing_column() -> None:
    assert text_image({"v": ABSENT, "n": None}) == {"n": None}


@pytest.mark.long
def test_mypy_refuses_texts_in_an_image_that_may_be_those_of_null(tmp_path: Path) -> None:
    plain = WRONG["characters"], WRONG["tokens"]
    wrong = {
        f"wrong{place}": image for place, image in enumerate((*WRONG.values(), *map("TextImage({})".format, plain)))
    }
    for name, image in {**RIGHT, **wrong}.items():
        (tmp_path / f"{name}.py").write_text(READER.format(image=image), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        *map(str, tmp_path.iterdir()),
    ]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    refused = {Path(line.partition(":")[0]).stem for line in found.splitlines() if ": error: " in line}
    assert refused == wrong.keys(), found
