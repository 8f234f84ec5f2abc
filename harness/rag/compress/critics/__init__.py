"""Critics: each scores units for a query. `harness.rag.compress.open_critic` opens them."""
