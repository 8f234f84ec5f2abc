"""Suites x models x skills x context arms, from one file."""
