"""What is left of operations after the losses that formats declare."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from ggfmt.formats.api.format import Format
from ggfmt.formats.api.losses import TOKENS_BY_NAME, Aspect, Loss

MATRIX = tuple(Aspect)[:10]  # the columns of the fidelity table


class FidelityLevel(IntEnum):
    LOST = 0
    PART = 1
    KEPT = 2


def depends(loss: Loss) -> bool:
    """Return whether a loss depends on settings."""
    return bool(loss.only or loss.unless or loss.lacking)


def is_of_templates(loss: Loss) -> bool:
    """Return whether a loss happens only with templates."""
    return bool(loss.lacking and not loss.only and not loss.unless)


def level(losses: Iterable[Loss], aspect: Aspect) -> FidelityLevel:
    """Return how much of an aspect is left after all of the losses."""
    parts = [loss.part for loss in losses if aspect in loss.aspects]
    return FidelityLevel.KEPT if not parts else FidelityLevel.PART if all(parts) else FidelityLevel.LOST


def unavoidable_losses(format: Format) -> tuple[Loss, ...]:
    """Return the losses of a format that no setting avoids."""
    return tuple(loss for loss in format.losses if not depends(loss))


def surviving_aspects(first: Iterable[Loss], second: Iterable[Loss]) -> dict[Aspect, FidelityLevel]:
    """Return what is left of operations that are written with the `first` losses, read, and written with the `second`.

    If both keep a part, it counts as the same part. Only tokens are compared by name.
    """
    losses = (*first, *second)
    found = {aspect: level(losses, aspect) for aspect in Aspect}
    named = [set(loss.names) for loss in losses if loss.id == TOKENS_BY_NAME.id]
    if named and not set.intersection(*named):
        found[Aspect.TOKENS] = FidelityLevel.LOST
    return found
