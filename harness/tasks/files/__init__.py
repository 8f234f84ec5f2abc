"""The files that tasks come in: our rows, tables of others, and published sets."""
