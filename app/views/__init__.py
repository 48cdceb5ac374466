"""Widgets. Each takes its models and emits intents; none writes to the store."""
