"""Wire protocols: one module each, sans-IO. No protocol imports another."""
