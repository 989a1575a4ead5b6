"""What every part uses: arrays, randomness, threads, validation."""
