"""A result as one HTML file."""
