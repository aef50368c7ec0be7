"""Clients of the services that the tools use: advertisements, customers, messages."""
