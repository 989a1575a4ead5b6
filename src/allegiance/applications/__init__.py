"""What the scores are for: active, incremental and consensus clustering, and comparing clusterings."""
