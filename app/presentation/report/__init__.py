"""A session as one HTML file that stands for itself."""
