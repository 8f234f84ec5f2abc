"""Learning from the session logs that people already have."""
