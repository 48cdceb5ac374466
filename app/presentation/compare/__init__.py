"""Points beside each other: pins, two sessions, the edits of one implementation."""
