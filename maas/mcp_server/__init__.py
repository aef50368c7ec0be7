"""The MCP server: memory as tools for clients of the Model Context Protocol, over standard input and output or HTTP."""
