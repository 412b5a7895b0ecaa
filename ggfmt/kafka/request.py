"""What a run to Kafka is asked to do."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ggfmt.dataclasses import dataclass, field
from ggfmt.kafka.client import ClientSettings


@dataclass(frozen=True)
class Pace:
    """Messages follow each other `factor` times as fast as their changes did, after `max_gap` seconds at the latest."""

    factor: float
    max_gap: float = math.inf


@dataclass(frozen=True, kw_only=True)
class KafkaRequest:
    """How a run sends.

    client      of the cluster
    converters  properties of the producer file that are for converters and their registry
    job         under which the cluster remembers what was sent; None: a name that follows from inputs and settings
    create      partitions and replication of topics that are missing; None to refuse them
    rate        messages in a second, at most
    pace        by the times of changes; None: without pauses
    atomic      one transaction for the whole run
    by_op_ts    a message has the time of its change, in place of the time at which it is sent
    headers     messages have headers with the job, the run and their place in the partition
    tombstones  a message without a value follows each delete
    staging     where messages wait, for all workers to reach; None: a temporary directory of this machine
    is_dry      send nothing
    """

    client: ClientSettings
    converters: Mapping[str, str] = field(default_factory=dict, repr=False)
    job: str | None = None
    create: tuple[int, int] | None = None
    rate: float | None = None
    pace: Pace | None = None
    atomic: bool = False
    by_op_ts: bool = False
    headers: bool = False
    tombstones: bool = False
    staging: str | None = None
    is_dry: bool = False
