"""What a cluster says of itself: settings of topics and brokers, rules of access."""

from __future__ import annotations

from collections.abc import Sequence

from ggfmt.kafka.client import SECONDS, ClientSettings, kafka_errors_stop, library


def topic_settings(settings: ClientSettings, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the settings of topics, such as `cleanup.policy` and `max.message.bytes`. Raises: Abend GG571."""
    return _describe(settings, "TOPIC", topics)


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
