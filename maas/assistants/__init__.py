"""Assistants that come along, each a plugin but for `mentor`; `registry` loads those that are on."""
