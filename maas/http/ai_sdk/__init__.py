"""/v1/ui: what `useChat` of the AI SDK (npm `ai`) speaks, with memory."""
