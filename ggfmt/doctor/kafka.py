"""Whether a cluster of Kafka has what a run with `-o kafka://...` needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from ggfmt.diagnostics.diagnostic import GgfmtError, without_credentials
from ggfmt.doctor.finding import Finding, State, size_text
from ggfmt.kafka import is_kafka
from ggfmt.kafka.address import KafkaAddress
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.cluster import access_rules, broker_settings, topic_settings
from ggfmt.kafka.jobs import STATE_TOPIC, Transactions
from ggfmt.kafka.properties import Property, client_settings
from ggfmt.kafka.registry import SchemaRegistry

if TYPE_CHECKING:
    from ggfmt.kafka.client import ClusterMetadata

_TRIAL = "ggfmt.doctor"
_UNKNOWN = "not known: the broker does not say"


def ask_kafka(address: KafkaAddress, sources: Iterable[Iterable[Property]], registry: str | None) -> list[Finding]:
    """Return what a cluster has. `sources`: of `client_settings`; `registry`: the URL of a schema registry."""
    findings = list(_ask_cluster(address, sources))
    return findings if registry is None else [*findings, _ask_registry(registry)]


def _ask_cluster(address: KafkaAddress, sources: Iterable[Iterable[Property]]) -> Iterator[Finding]:
    try:
        installed = version("confluent-kafka")
    except PackageNotFoundError:
        message, help = "Kafka needs the package `confluent-kafka`", "install it with `pip install 'ggfmt[kafka]'`"
        yield Finding("kafka_client", State.PROBLEM, message, help, {"version": None})
        return
    try:
        settings, _ = client_settings(address, *sources)
    except GgfmtError as error:
        yield from _problems("kafka_client", error, {"version": installed})
        return
    yield Finding("kafka_client", State.OK, f"confluent-kafka {installed}", facts={"version": installed})
    try:
        cluster = settings.metadata()
    except GgfmtError as error:
        yield from _problems("kafka_brokers", error, {"cluster": None, "brokers": None})
        return
    brokers = [f"{broker.host}:{broker.port}" for broker in cluster.brokers.values()]
    message = f"{_counted(len(brokers), 'broker')} of the cluster `{cluster.cluster_id}` at `{settings.shown}`"
    yield Finding("kafka_brokers", State.OK, message, facts={"cluster": cluster.cluster_id, "brokers": brokers})
    checks: tuple[tuple[str, Callable[[ClientSettings, ClusterMetadata], Finding], tuple[str, ...]], ...] = (
        ("kafka_topics", _topics, ("topics", "state_topic")),
        ("kafka_rights", _rights, ("rules",)),
        ("kafka_transactions", _transactions, ()),
        ("kafka_messages", _messages, ("largest_bytes",)),
    )
    for name, check, facts in checks:
        try:
            yield check(settings, cluster)
        except GgfmtError as error:
            yield from _problems(name, error, dict.fromkeys(facts))


def _problems(name: str, error: GgfmtError, facts: dict[str, object]) -> Iterator[Finding]:
    for found in error.diagnostics:
        file = found.span.file
        place = "" if file is None or is_kafka(file) else f" (in {found.span})"
        yield Finding(name, State.PROBLEM, f"{found.message}{place}", found.help, facts)


def _topics(settings: ClientSettings, cluster: ClusterMetadata) -> Finding:
    own = sum(not name.startswith("__") for name in cluster.topics)
    counted = _counted(own, "topic")
    if STATE_TOPIC not in cluster.topics:
        message = f"{counted}; the topic `{STATE_TOPIC}` does not exist before the first run"
        return Finding("kafka_topics", State.OK, message, facts={"topics": own, "state_topic": "absent"})
    policy = topic_settings(settings, [STATE_TOPIC])[STATE_TOPIC].get("cleanup.policy", "")
    if policy != "compact":
        message = f"{counted}; `{STATE_TOPIC}` is not compacted, so that Kafka deletes the states of jobs"
        help = f"set `cleanup.policy=compact` for the topic `{STATE_TOPIC}`"
        return Finding("kafka_topics", State.PROBLEM, message, help, {"topics": own, "state_topic": "not compacted"})
    message = f"{counted}; `{STATE_TOPIC}` is compacted"
    return Finding("kafka_topics", State.OK, message, facts={"topics": own, "state_topic": "compacted"})


def _rights(settings: ClientSettings, cluster: ClusterMetadata) -> Finding:
    try:
        rules = access_rules(settings)
    except GgfmtError as error:
        (found,) = error.diagnostics
        help = f"ask for rights on the topics, on `{STATE_TOPIC}` and on the transactional ids `ggfmt.*`"
        return Finding("kafka_rights", State.WARNING, f"not known: {found.message}", help, {"rules": None})
    message = "the cluster has no authorizer: everyone may do everything"
    if rules is not None:
        message = _counted(rules, "rule") + " (ACLs), as far as this user sees them"
    return Finding("kafka_rights", State.OK, message, facts={"rules": rules})


def _transactions(settings: ClientSettings, cluster: ClusterMetadata) -> Finding:
    Transactions(settings, _TRIAL).close()
    return Finding("kafka_transactions", State.OK, f"a transactional producer `{_TRIAL}` can start")


def _messages(settings: ClientSettings, cluster: ClusterMetadata) -> Finding:
    sizes = [broker_settings(settings, number).get("message.max.bytes") for number in cluster.brokers]
    known = [int(size) for size in sizes if size]
    largest = min(known, default=None)
    shown = (
        _UNKNOWN if largest is None else f"at most {size_text(largest)} in one batch, unless a topic has its own limit"
    )
    return Finding("kafka_messages", State.OK, shown, facts={"largest_bytes": largest})


def _counted(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'s' * (number != 1)}"


def _ask_registry(url: str) -> Finding:
    facts: dict[str, object] = {"url": without_credentials(url), "subjects": None}
    try:
        facts["subjects"] = count = SchemaRegistry(url).subjects()
    except GgfmtError as error:
        (found,) = error.diagnostics
        return Finding("schema_registry", State.PROBLEM, f"`{facts['url']}`: {found.message}", found.help, facts)
    return Finding("schema_registry", State.OK, f"{_counted(count, 'subject')} at `{facts['url']}`", facts=facts)
