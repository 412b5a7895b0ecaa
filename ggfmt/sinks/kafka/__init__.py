"""`ggfmt run -o kafka://...`: the messages of a handler in the topics of Kafka, each exactly once."""
