"""Plays scenarios against a running MaaS: people who talk over months, and what the answers must say.

It reaches MaaS as any other program does: by its client, by SQL and by its commands.
"""
