"""What every part uses: parameters, parallel work, progress, stored parts, validation."""
