"""A task that stops its worker process and kills the parent."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def stop_worker(path: Path, parent: int, item: str, attempt: int) -> None:
    """In a worker, write its process number to `path` and stop. In the parent, wait for that and die."""
    if os.getpid() == parent:
        while not path.exists():
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGKILL)
    path.with_suffix(".new").write_text(str(os.getpid()))
    path.with_suffix(".new").rename(path)
    os.kill(os.getpid(), signal.SIGSTOP)
