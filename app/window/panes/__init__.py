"""What is docked in the window. Each takes its models and emits intents; none writes to the session."""
