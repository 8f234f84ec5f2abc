"""QwenLong-CPRS: a query, an instruction and a context become the spans that matter."""
