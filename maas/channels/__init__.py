"""Channels: processes that bring the assistants to people in a messenger, over the same functions as the commands."""
