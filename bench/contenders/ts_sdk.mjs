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
  opening = {};

  async connected(target) {
    // It speaks 2026-07-28 only where it is told to find out.
    const options = target.modern ? { versionNegotiation: { mode: 'auto' } } : {};
    const client = new Client({ name: 'bench', version: '1' }, options);
    const transport = target.url
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ command: target.command[0], args: target.command.slice(1) });
    await client.connect(transport);
    await client.listTools();
    return client;
  }

  async open(servers) {
    for (const [name, target] of Object.entries(servers)) this.clients[name] = await this.connected(target);
  }

  // All at once; a call waits for its own server.
  async open_many(servers) {
    for (const [name, target] of Object.entries(servers)) {
      this.opening[name] = this.connected(target).then((client) => (this.clients[name] = client));
      // Who fails is told to whoever calls it, not to the whole program.
      this.opening[name].catch(() => {});
    }
  }

  async call(server, tool, args) {
    const client = this.clients[server] ?? (await this.opening[server]);
    const result = await client.callTool({ name: tool, arguments: args });
    return result.content[0].text;
  }

  async close() {
    await Promise.all(Object.values(this.clients).map((client) => client.close()));
  }
}

await serve(new TsSdk());
