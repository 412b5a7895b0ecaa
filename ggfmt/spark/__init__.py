"""Spark: one that is there is taken, or Java is found and one started; a task for each item; failures in one clause."""
