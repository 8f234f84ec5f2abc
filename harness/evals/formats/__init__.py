"""Results that other tools have written, read as runs of ours: one file a tool."""
