"""The Chat Completions API of OpenAI: any client of it gets memory by another base URL."""
