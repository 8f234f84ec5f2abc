"""OpenRS (arXiv 2602.14069): verifiable rubrics first, then adaptive ones with a veto."""
