"""Every option of a writer: what it wrote comes back to a reader with the same options, or is refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from round_trips import (
    MISSING_WORD,
    NULL_WORD,
    PLACEHOLDER,
    WHOLE_STORY,
    WRITTEN,
    handler,
    losses_of,
    of_story,
    survives,
    view,
    write_as,
    write_story,
)
from runs import output_files

from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.losses import DIGITS_OF_DOUBLE
from ggfmt.model.table import Kind
from ggfmt.options.spec import OptionSpec
from ggfmt.options.value_types import Charset, Choice, Delimiter, OpKey, Representation, Text

# Without the texts that stand for something else by default, and tokens that look like two.
_WORDS = {NULL_WORD, MISSING_WORD, PLACEHOLDER}
STORY = [
    item
    for item in WHOLE_STORY
    if _WORDS.isdisjoint({**(item.before or {}), **(item.after or {})}.values())
    and "," not in "".join(item.tokens.values())
]
_DIGITS = DIGITS_OF_DOUBLE.of(Kind.DECIMAL, Kind.DOUBLE, Kind.INTEGER)
_EXCHANGED = ["insertOpKey=NEW|updateOpKey=INSERT", "insertOpKey=U|updateOpKey=I", "insertOpKey=D|deleteOpKey=I"]


def settings_of(spec: OptionSpec) -> list[str]:
    """Legal values of an option, besides its default, as settings."""
    kind: Any = spec.kind
    values = [spec.example_text]
    if isinstance(kind, Choice):
        values = list(kind.words)
    elif isinstance(kind, OpKey):
        values += ["I", "UPDATE", 'é"\\\\<&', "CDATA[ ]"]
    elif isinstance(kind, Charset):
        values += ["UTF-16", "UTF-8"]
    elif isinstance(kind, Delimiter):
        values += ["CDATA[\\n]", "::", "é"]
    elif isinstance(kind, Representation | Text):
        values += ["é", "x.y"]
    found = [f"{spec.name}={text}" for text in dict.fromkeys(values) if text != spec.default_text]
    return found + (_EXCHANGED if spec.name == "insertOpKey" else [])


CASES = [
    pytest.param(name, settings_of(spec), id=f"{name}-{spec.name}")
    for name in WRITTEN
    for spec in FORMATS[name].options.specs()
]


WITH_WORDS = [name for name in WRITTEN if hasattr(FORMATS[name].options, "insert_op_key")]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_story(tmp_path_factory.mktemp("story") / "in.json", STORY)


@cache
def _by_default(story: Path, name: str) -> list[bytes]:
    return _files(write_as(story, name, story.parent / name)[0].parent)


def _files(out: Path) -> list[bytes]:
    return [path.read_bytes() for path in output_files(out, "h")]


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_what_an_option_wrote_comes_back_or_is_refused(
    name: str, settings: list[str], story: Path, tmp_path: Path
) -> None:
    for number, setting in enumerate(settings):
        pair = setting.split("|") if "OpKey" in setting else [setting]
        out = tmp_path / str(number)
        try:
            losses = losses_of(name, handler(name, out, *pair))
            folder, told = write_as(story, name, out, *pair)
            if _files(out) == _by_default(story, name):  # the option is for readers alone, or has nothing to do here
                continue
            found = view(folder, tmp_path / f"view{number}", name, told)
        except (Abend, ConfigurationError, UsageError):
            continue
        # A column that an option writes as text keeps the digits that others lose.
        digits = [_DIGITS] * any(loss.id == _DIGITS.id for loss in losses)
        assert survives(of_story(found), digits) == survives(of_story(survives(STORY, losses)), digits), setting


@pytest.mark.parametrize("name", WITH_WORDS)
def test_operations_with_the_words_of_others_are_not_exchanged(name: str, story: Path, tmp_path: Path) -> None:
    """The words of types that are distinct are read, whatever they mean by default."""
    for number, setting in enumerate(_EXCHANGED[1:]):
        others = setting.split("|")
        folder, told = write_as(story, name, tmp_path / str(number), *others)
        ops = [item.op for item in view(folder, tmp_path / f"view{number}", name, told)]
        assert ops == [item.op for item in survives(STORY, losses_of(name, handler(name, tmp_path, *others)))]


@pytest.mark.parametrize("name", WITH_WORDS)
def test_types_of_operations_with_one_word_are_refused(name: str, story: Path, tmp_path: Path) -> None:
    folder, told = write_as(story, name, tmp_path / "out", "insertOpKey=U", "updateOpKey=U")
    with pytest.raises(UsageError, match="`insertOpKey` and `updateOpKey` of the input are both `U`"):
        view(folder, tmp_path / "view", name, told)
