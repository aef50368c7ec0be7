// The client that the conformance suite starts: node relay.mjs PORT URL. It hands the address of the suite's server to
// the test that listens on PORT, which is spared a start of Python, and ends when the test closes the connection.
import { connect } from "node:net";

const [port, url] = process.argv.slice(2);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
connect(Number(port), "127.0.0.1").on("close", () => process.exit()).write(`${JSON.stringify({ url, context, scenario })}\n`);
