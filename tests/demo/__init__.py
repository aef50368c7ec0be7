"""An invented business to look at: `make demo-ads`."""
