"""Questions whose names and values are hidden, with one answer by exhaustive proof."""
