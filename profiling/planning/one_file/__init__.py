"""A kernel in one file of the user's, as it stands: what it offers, and the form that says how it is measured."""
