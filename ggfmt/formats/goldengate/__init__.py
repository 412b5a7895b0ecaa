"""The formats of GoldenGate for Big Data and of GoldenGate Data Streams."""
