"""`harness skill` and its subcommands."""
