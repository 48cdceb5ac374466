"""A kernel in one file of the user's, as it stands: what it offers, and its form."""
