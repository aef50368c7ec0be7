// What the server takes and answers, as its OpenAPI document says.
export {};
