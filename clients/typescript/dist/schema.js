// Generated from the OpenAPI document of the server: make ui.
export {};
