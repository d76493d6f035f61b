// mcporter's runtime, which keeps its connections. The package is found through the folder named by BENCH_MODULES.
import { pathToFileURL } from 'node:url';
import { serve } from './driver.mjs';

const { createRuntime } = await import(pathToFileURL(process.env.BENCH_MODULES + '/mcporter/dist/index.js').href);

class Mcporter {
  // Its runtime connects to a server when it is first called: nobody waits for anybody.
  async open_many(servers) {
    const definitions = Object.entries(servers).map(([name, target]) => ({
      name,
      command: target.url
        ? { kind: 'http', url: new URL(target.url) }
        : { kind: 'stdio', command: target.command[0], args: target.command.slice(1), cwd: process.cwd() },
    }));
    this.runtime = await createRuntime({ servers: definitions });
  }

  // Which is also its own way to open a list of them.
  async open_list(servers) {
    await this.open_many(servers);
  }

  async open(servers) {
    await this.open_many(servers);
    await Promise.all(Object.keys(servers).map((name) => this.runtime.listTools(name)));
  }

  async call(server, tool, args) {
    const result = await this.runtime.callTool(server, tool, { args });
    return result.content[0].text;
  }

  async close() {
    await this.runtime.close();
  }
}

await serve(new Mcporter());
