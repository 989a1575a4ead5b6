"""From data to a fitted object."""
