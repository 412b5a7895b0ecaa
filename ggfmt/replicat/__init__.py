"""The Replicat's parameter file: which operations reach the handler, and as what."""
