// The TypeScript SDK: one Client for each server. The packages are found through the folder named by BENCH_MODULES.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { serve } from './driver.mjs';

const require = createRequire(process.env.BENCH_MODULES + '/');
const load = (name) => import(pathToFileURL(require.resolve(name).replace(/\.cjs$/, '.mjs')).href);
const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');

class TsSdk {
  clients = {};

  async open(servers) {
    for (const [name, target] of Object.entries(servers)) {
      const client = new Client({ name: 'bench', version: '1' });
      const transport = target.url
        ? new StreamableHTTPClientTransport(new URL(target.url))
        : new StdioClientTransport({ command: target.command[0], args: target.command.slice(1) });
      await client.connect(transport);
      await client.listTools();
      this.clients[name] = client;
    }
  }

  async call(server, tool, args) {
    const result = await this.clients[server].callTool({ name: tool, arguments: args });
    return result.content[0].text;
  }

  async close() {
    await Promise.all(Object.values(this.clients).map((client) => client.close()));
  }
}

await serve(new TsSdk());
