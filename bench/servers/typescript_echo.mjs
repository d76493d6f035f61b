// An echo server made with the TypeScript SDK 2, as its documentation begins. The packages are found in NPM_FOLDER.
//
//     node typescript_echo.mjs NPM_FOLDER stdio|http [PORT]
import { createRequire } from 'node:module';

const require = createRequire(`${process.argv[2]}/package.json`);
const { McpServer, createMcpHandler, fromJsonSchema } = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');

const text = fromJsonSchema({ type: 'object', properties: { text: { type: 'string' } }, required: ['text'] });

function make() {
  const server = new McpServer({ name: 'typescript-echo', version: '1' });
  const about = { description: 'Answers with its text.', inputSchema: text, annotations: { readOnlyHint: true } };
  server.registerTool('echo', about, ({ text }) => ({ content: [{ type: 'text', text }] }));
  return server;
}

if (process.argv[3] === 'stdio') {
  serveStdio(make);
} else {
  const { serve } = require('@hono/node-server');
  const handler = createMcpHandler(make);
  serve({ fetch: (request) => handler.fetch(request), port: Number(process.argv[4]), hostname: '127.0.0.1' });
}
