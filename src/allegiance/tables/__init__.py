"""Tables on disk: reading in batches, writing without half files."""
