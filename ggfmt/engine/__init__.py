"""A run: plan, discovery, tasks, commit and report. Only `ggfmt.spark.session` knows of Spark."""
