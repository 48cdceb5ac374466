"""From an implementation's files to a callable."""
