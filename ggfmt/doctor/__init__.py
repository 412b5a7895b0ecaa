"""What a machine or a cluster has of what a run needs: findings as data. Spark is started only on request."""
