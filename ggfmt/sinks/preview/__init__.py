"""The first messages of each table, without Spark."""
