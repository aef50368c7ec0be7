"""The client of MCP servers: their connections, and their tools as our own."""
