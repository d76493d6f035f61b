// The TypeScript SDK's client, against the server whose command line is given:
//   node order_client.mjs NPM_FOLDER MODE MESSAGE COMMAND ARGUMENTS…
// MODE is `legacy`, `auto` or a version to pin. Prints one JSON object: version, server, tools, result, progress, asked.
// With ORDER_ANSWERS in the environment, an object of questions and the content of their answers, it accepts what it is asked.
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [folder, mode, message, command, ...args] = process.argv.slice(2);
const sdk = join(folder, "node_modules", "@modelcontextprotocol", "client", "dist");
const { Client } = await import(pathToFileURL(join(sdk, "index.mjs")).href);
const { StdioClientTransport } = await import(pathToFileURL(join(sdk, "stdio.mjs")).href);

const versionNegotiation = { mode: ["legacy", "auto"].includes(mode) ? mode : { pin: mode } };
const answers = process.env.ORDER_ANSWERS && JSON.parse(process.env.ORDER_ANSWERS);
const capabilities = answers ? { elicitation: { form: {}, url: {} } } : {};
const client = new Client({ name: "test", version: "1" }, { versionNegotiation, capabilities });
const asked = [];
if (answers) {
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    asked.push(params.message);
    const content = answers[params.message];
    return { action: "accept", ...(content && { content }) };
  });
}
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const progress = [];
const { tools } = await client.listTools();
const result = await client.callTool(
  { name: "order_openclaw", arguments: { message } },
  { onprogress: (told) => progress.push(told.message) },
);
const version = client.getNegotiatedProtocolVersion?.() ?? "";
console.log(JSON.stringify({ version, server: client.getServerVersion(), tools, result, progress, asked }));
await client.close();
