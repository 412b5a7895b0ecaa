"""What a cluster says of itself: settings and ids of topics, settings of brokers, rules of access."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress

from ggfmt.kafka.client import SECONDS, ClientSettings, kafka_errors_stop, library


def topic_settings(settings: ClientSettings, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the settings of topics, such as `cleanup.policy` and `max.message.bytes`. Raises: Abend GG571."""
    return _describe(settings, "TOPIC", topics)


def topic_ids(settings: ClientSettings, topics: Collection[str]) -> dict[str, str]:
    """Return the ids of topics, which are others once a topic is made again. A broker before Kafka 2.8 has none."""
    api = library("confluent_kafka")
    found = {}
    if topics:
        admin = settings.admin()
        answers = admin.describe_topics(api.TopicCollection(list(topics)), request_timeout=SECONDS)
        for name, answer in answers.items():
            with suppress(api.KafkaException):  # a topic that is missing, or a broker that is too old
                found[name] = str(answer.result(2 * SECONDS).topic_id)
    return {name: id for name, id in found.items() if id.strip("A")}  # in Base64: zero is none


def broker_settings(settings: ClientSettings, broker: int) -> dict[str, str]:
    """Return the settings of a broker by its number, such as `message.max.bytes`. Raises: Abend GG571."""
    return _describe(settings, "BROKER", [str(broker)])[str(broker)]


def _describe(settings: ClientSettings, kind: str, names: Sequence[str]) -> dict[str, dict[str, str]]:
    resource = library("confluent_kafka.admin").ConfigResource
    admin = settings.admin()
    with kafka_errors_stop(settings.shown):
        answers = admin.describe_configs([resource(resource.Type[kind], name) for name in names])
        found = {asked.name: answer.result(SECONDS) for asked, answer in answers.items()}
    return {name: {key: entry.value for key, entry in entries.items()} for name, entries in found.items()}


def access_rules(settings: ClientSettings) -> int | None:
    """Return the number of rules (ACLs); None if the cluster has no authorizer. Raises: Abend GG571."""
    api, errors = library("confluent_kafka.admin"), library("confluent_kafka")
    anything = api.ResourceType.ANY, None, api.ResourcePatternType.ANY, None, None
    every = api.AclBindingFilter(*anything, api.AclOperation.ANY, api.AclPermissionType.ANY)
    admin = settings.admin()
    with kafka_errors_stop(settings.shown):
        try:
            return len(admin.describe_acls(every).result(SECONDS))
        except errors.KafkaException as error:
            if error.args[0].code() == errors.KafkaError.SECURITY_DISABLED:
                return None
            raise
