"""A look at directories that a run would take, without taking them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ggfmt.commit.commit import Participant, write_error
from ggfmt.commit.journal import read_journal
from ggfmt.commit.store import FAILURES
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.java.text import visible
from ggfmt.location import not_writable

log = logging.getLogger("ggfmt")


def check_directories(participants: Sequence[Participant]) -> None:
    """Looks at directories that a run would take. Abend GG506 if one cannot be written, GG509 as of `hold_all`."""
    known = [participant.root for participant in participants]
    for participant in participants:
        try:
            participant.check_pointer(known)
            problem = not_writable(participant.root)
            waiting = read_journal(participant.store) is not None
        except FAILURES as error:
            raise Abend(write_error(participant.root, error, participant.what)) from None
        if problem is not None:
            raise Abend(write_error(participant.root, problem, participant.what))
        if waiting:
            log.info("%s has a commit that was cut off, which a run ends first", visible(participant.root))
