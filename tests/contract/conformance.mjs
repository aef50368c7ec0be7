// Runs the conformance suite of MCP as its own program would: node conformance.mjs server --url URL ...
// It imports fs.globSync for a command that is not used here; Node has it since 22, and the import is left out.
import { register } from "node:module";

const load = `export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.includes("/@modelcontextprotocol/conformance/dist/")) return loaded;
  return { ...loaded, source: String(loaded.source).replace(/globSync as \\w+,/, "") };
}`;
register(`data:text/javascript,${encodeURIComponent(load)}`);
await import("./node_modules/@modelcontextprotocol/conformance/dist/index.js");
