// A server made with the official TypeScript SDK 2.x: an other side that nobody here wrote.
//
//     node typescript_peer.mjs NPM_FOLDER stdio|streamable-http
//
// NPM_FOLDER is where the packages are. Over HTTP it prints its port on one line and serves until it is ended.

import { createRequire } from "node:module";

const require = createRequire(`${process.argv[2]}/package.json`);
const { McpServer, ResourceTemplate, createMcpHandler, fromJsonSchema } = require("@modelcontextprotocol/server");
const { serveStdio } = require("@modelcontextprotocol/server/stdio");
const { serve } = require("@hono/node-server");

const PNG = Buffer.from("89504e470d0a1a0a206e6f7420612077686f6c65206f6e65", "hex");

const shape = (properties) =>
  fromJsonSchema({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });

function make() {
  const server = new McpServer({ name: "typescript-peer", version: "1" }, { instructions: "Ask nicely." });
  server.registerTool("echo", { description: "Says it again.", inputSchema: shape({ text: { type: "string" } }) }, ({ text }) => ({
    content: [{ type: "text", text }],
  }));
  server.registerTool("picture", { description: "A picture.", inputSchema: shape({}) }, () => ({
    content: [{ type: "image", data: PNG.toString("base64"), mimeType: "image/png" }],
  }));
  const point = { x: { type: "integer" }, y: { type: "integer" } };
  server.registerTool("point", { description: "A point.", inputSchema: shape(point), outputSchema: shape(point) }, (given) => ({
    content: [{ type: "text", text: JSON.stringify(given) }],
    structuredContent: given,
  }));
  server.registerTool("broken", { description: "Fails.", inputSchema: shape({}) }, () => {
    throw new Error("It broke.");
  });
  server.registerResource("hours", "shop://hours", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "9 to 5" }],
  }));
  server.registerResource("item", new ResourceTemplate("shop://item/{name}", { list: undefined }), {}, (uri, { name }) => ({
    contents: [{ uri: uri.href, text: `One ${name}.` }],
  }));
  server.registerPrompt("haggle", { description: "Talk the price down.", argsSchema: shape({ price: { type: "string" } }) }, ({ price }) => ({
    messages: [{ role: "user", content: { type: "text", text: `I offer ${price}.` } }],
  }));
  return server;
}

if (process.argv[3] === "stdio") {
  serveStdio(make);
} else {
  const handler = createMcpHandler(make);
  serve({ fetch: (request) => handler.fetch(request), port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log(port));
}
