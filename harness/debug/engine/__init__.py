"""The engine of the debugger: runs of a graph under control, their branches and recordings."""
