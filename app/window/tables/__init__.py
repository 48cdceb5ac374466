"""Qt's item models over plain values; each is tested alone."""
