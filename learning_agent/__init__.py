"""Tools that play people against a running MaaS; they stand beside the product and are not installed with it."""
