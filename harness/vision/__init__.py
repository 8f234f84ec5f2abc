"""Images: the VQA family, its tools and premise verification."""
