"""Critics: each scores units for a query."""
