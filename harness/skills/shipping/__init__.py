"""Skills on their way: where they come from, and how clients get them."""
