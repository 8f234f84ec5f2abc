"""Statistics: numbers in, numbers out; intervals, paired and sequential tests, power."""
