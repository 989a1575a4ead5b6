"""Shared helpers: parameters, threads, progress, file schemas, validation."""
