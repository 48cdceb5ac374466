"""The usual mistakes by name: a rule a file, each with its evidence and its cure."""
