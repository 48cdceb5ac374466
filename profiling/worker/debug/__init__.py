"""The child of a debug run: it runs one implementation where each access is checked, or as it stands."""
