// The TypeScript SDK's ACP client, against the agent whose command line is given:
//   node acp_client.mjs NPM_FOLDER SCRIPT COMMAND ARGUMENTS…
// SCRIPT is JSON: {"capabilities": {…}, "permission": KIND, "steps": [[METHOD, PARAMETERS], …]}. A session that a step makes, loads or
// resumes is that of the steps after it. A permission is answered with the option of that kind, with "cancelled", or not at all ("silent").
// "cancelOn": the update, such as "tool_call", at which the running prompt is cancelled.
// Prints one JSON object: initialize, results (one for each step, {"error": …} for one that was refused), updates, asked.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [folder, text, command, ...args] = process.argv.slice(2);
const sdk = join(folder, "node_modules", "@agentclientprotocol", "sdk", "dist", "v1", "stable", "acp.js");
const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import(pathToFileURL(sdk).href);

const script = JSON.parse(text);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const updates = [];
const asked = [];
const results = [];
let session;
let initialize;
let context;

const app = client({ name: "test" })
  .onRequest(methods.client.session.requestPermission, async ({ params }) => {
    asked.push(params);
    if (script.permission === "silent") await new Promise(() => {});
    const option = params.options.find(({ kind }) => kind === script.permission);
    return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
  })
  .onNotification(methods.client.session.update, async ({ params }) => {
    updates.push(params.update);
    if (params.update.sessionUpdate === script.cancelOn) {
      await context.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
    }
  });

await app.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (ctx) => {
  context = ctx;
  initialize = await ctx.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: script.capabilities ?? {},
    clientInfo: { name: "typescript", version: "1" },
  });
  for (const [method, parameters] of script.steps) {
    try {
      const known = session && !["session/new", "session/list"].includes(method) ? { sessionId: session } : {};
      const result = await ctx.request(method, { ...known, ...parameters });
      session = result.sessionId ?? parameters.sessionId ?? session;
      results.push(result);
    } catch (error) {
      results.push({ error: { code: error.code, message: error.message } });
    }
  }
});
console.log(JSON.stringify({ initialize, results, updates, asked }));
agent.stdin.end();
await new Promise((resolve) => (agent.exitCode === null ? agent.on("exit", resolve) : resolve()));
