"""A debug run as both faces carry it out and show it."""
