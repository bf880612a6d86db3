// The official TypeScript SDK as a client of today's dialect.
//   node current.mjs stable|unstable CAPABILITIES CWD PROMPTS COMMAND…
// Prints one line of JSON: what the agent answered, and what it told.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [flavour, capabilities, cwd, prompts, command, ...args] = process.argv.slice(2);
const name = "@agentclientprotocol/sdk" + (flavour === "unstable" ? "/unstable" : "");
const acp = await import(name);

const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const updates = [];
const permissions = [];

const done = await acp
  .client({ name: "taskloom-test" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    permissions.push(params.toolCall.title);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .connectWith(stream, async (ctx) => {
    const initialized = await ctx.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: JSON.parse(capabilities),
    });
    const session = await ctx.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
    const stops = [];
    for (const text of JSON.parse(prompts)) {
      const prompt = [{ type: "text", text }];
      const answer = await ctx.request(acp.methods.agent.session.prompt, {
        sessionId: session.sessionId,
        prompt,
      });
      stops.push(answer.stopReason);
    }
    return { initialized, session, stops };
  });

console.log(JSON.stringify({ ...done, updates, permissions }));
child.stdin.end();
process.exit(0);
