"""From what was tried to what to try next: the one thing all front doors call."""
