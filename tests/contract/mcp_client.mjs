// The official client in Node: lists the tools of a server, calls one, and prints what came.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, user, name, given] = process.argv.slice(2);
const client = new Client({ name: "maas-contract-tests", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { "X-MaaS-User": user } } }));
const { tools } = await client.listTools();
const progress = [];
const onprogress = (step) => progress.push(step.message);
const result = await client.callTool({ name, arguments: JSON.parse(given) }, { onprogress });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), progress, result }));
await client.close();
