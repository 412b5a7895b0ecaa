"""A run: plan, discovery, tasks, commit and report. Only `ggfmt.spark` knows of Spark."""
