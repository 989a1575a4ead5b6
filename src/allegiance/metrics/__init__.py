"""Distances between clusterings."""
