"""What survives a format, and a conversion from one to another, by the losses that formats declare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum

from ggfmt.formats.api.format import Format
from ggfmt.formats.api.loss import Aspect, Loss, Setting
from ggfmt.formats.api.losses import TOKENS_BY_NAME


class Level(IntEnum):
    LOST = 0
    PART = 1
    KEPT = 2


def level(losses: Iterable[Loss], aspect: Aspect) -> Level:
    """How much of an aspect is left after all of some losses."""
    parts = [loss.part for loss in losses if aspect in loss.aspects]
    return Level.KEPT if not parts else Level.PART if all(parts) else Level.LOST


def unavoidable(format: Format) -> tuple[Loss, ...]:
    """The losses of a format that no setting avoids."""
    return tuple(loss for loss in format.losses if not loss.depends)


def in_words(format: Format, aspect: Aspect) -> str:
    """How much of an aspect a format keeps: `kept`, `in part` or `lost`, the settings that this depends on, and what a
    reader gets instead; with the metadata that the format has by itself."""
    found = [loss for loss in format.losses if aspect in loss.aspects and not loss.is_of_templates]
    always = [loss for loss in found if not loss.depends]
    outcomes = "; ".join(dict.fromkeys(loss.outcome for loss in always))
    left = level(always, aspect)
    if left is Level.LOST:
        return f"lost: {outcomes}"
    text = f"in part: {outcomes}" if left is Level.PART else "kept"
    depending = [loss for loss in found if loss.depends]
    if left is Level.KEPT and len(depending) == 1 and not depending[0].only:
        return f"kept if {_listed(depending[0].unless, 'or')}, else: {depending[0].outcome}"
    return "; ".join([text, *map(_depending, depending)])


def _depending(loss: Loss) -> str:
    under = []
    if loss.only:
        under.append(f"with {_listed(loss.only, 'and')}")
    if loss.unless:
        under.append(f"without {_listed(loss.unless, 'or')}")
    return f"{', '.join(under)}: {loss.outcome}"


def _listed(settings: Sequence[Setting], word: str) -> str:
    return f" {word} ".join(f"`{setting}`" for setting in settings)


def survivors(first: Iterable[Loss], second: Iterable[Loss]) -> dict[Aspect, Level]:
    """What is left of operations that were written with some losses, read, and written with others.

    A part that both keep is taken to be the same part, but for tokens, where names tell.
    """
    losses = (*first, *second)
    found = {aspect: level(losses, aspect) for aspect in Aspect}
    named = [set(loss.names) for loss in losses if loss.id == TOKENS_BY_NAME.id]
    if named and not set.intersection(*named):
        found[Aspect.TOKENS] = Level.LOST
    return found
