"""Inputs are listed, recognized, cut into splits, and read into a sink."""
