"""A run: plan, discovery, tasks, commit and report. Only `ggfmt.engine.spark` knows of Spark."""
