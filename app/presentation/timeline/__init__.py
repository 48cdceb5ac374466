"""A trace on an axis of time: lanes, what is drawn of a million slices, search, areas and facts. No Qt."""
