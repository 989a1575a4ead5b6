"""Files, streams and clusters of machines."""
