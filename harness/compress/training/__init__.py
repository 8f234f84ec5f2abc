"""Training of the token critic (QwenLong-CPRS, section 2.2, on a small sentence encoder)."""
