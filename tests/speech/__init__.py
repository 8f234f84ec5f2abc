"""Tests of harness/speech/."""
