"""The MCP server: memory as tools for clients of the Model Context Protocol, over standard input and output or HTTP."""

IN_PROCESS = "maas.in_process"  # of the ASGI scope of a request that a tool has sent; no client can set it
