"""The terminal: what our commands and those of plugins print, and what each of their invocations opens."""
