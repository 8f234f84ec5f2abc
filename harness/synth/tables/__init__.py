"""Tables of users: reading them, and tasks on them."""
