"""Pictures of affinities, as scikit-learn displays."""
