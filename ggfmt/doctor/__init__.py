"""What a machine or a cluster has of what a run needs: findings as data. Nothing here starts Spark unless asked to."""
