// An official MCP client, driven from outside: a JSON object on stdin says how to connect, and each line after it what to ask
// for. Every answer is a line on stdout, {"ok": ...} or {"error": {...}}; what the server says unasked is {"said": ...}.
//
//   {"command": "taskyard", "args": ["mcp"], "env": {}, "cwd": "..."} or {"url": "http://...", "token": "..."}
//   and "generation": "initialize" (the client of version 1) or "stateless" (that of version 2, pinned to 2026-07-28)
//   {"id": 1, "ask": "callTool", "with": {"name": "TaskList", "arguments": {}, "_meta": {}}}
//
// Questions are asked as they come, without waiting for the answers before them. The clients check what the server sends
// against the protocol's schemas, and fail where it does not fit.

import readline from 'node:readline';

const generations = {
  initialize: async () => ({
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    types: await import('@modelcontextprotocol/sdk/types.js'),
    options: {},
  }),
  stateless: async () => ({
    ...(await import('@modelcontextprotocol/client')),
    ...(await import('@modelcontextprotocol/client/stdio')),
    options: { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  }),
};

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const failure = (error) => ({ code: error.code ?? null, message: String(error.message ?? error) });

async function connect(settings) {
  const sdk = await generations[settings.generation ?? 'initialize']();
  const transport = settings.url
    ? new sdk.StreamableHTTPClientTransport(new URL(settings.url), {
        requestInit: { headers: { Authorization: `Bearer ${settings.token}` } },
      })
    : new sdk.StdioClientTransport({
        command: settings.command,
        args: settings.args,
        env: settings.env,
        cwd: settings.cwd,
        stderr: 'inherit',
      });
  const capabilities = settings.roots ? { roots: { listChanged: true } } : {};
  const client = new sdk.Client(
    { name: settings.name ?? 'claude-code', version: '1.0.0' },
    { ...sdk.options, capabilities },
  );
  if (settings.roots) {
    const roots = () => ({ roots: settings.roots.map((uri) => ({ uri })) });
    client.setRequestHandler(sdk.types.ListRootsRequestSchema, roots);
  }
  if (sdk.types) {
    const tell = (notification) => say({ said: notification });
    client.setNotificationHandler(sdk.types.ResourceListChangedNotificationSchema, tell);
    client.setNotificationHandler(sdk.types.ResourceUpdatedNotificationSchema, tell);
    client.setNotificationHandler(sdk.types.LoggingMessageNotificationSchema, tell);
  } else {
    const tell = (method) => client.setNotificationHandler(method, (notification) => say({ said: notification }));
    tell('notifications/resources/list_changed');
    tell('notifications/resources/updated');
  }
  await client.connect(transport);
  return { client, transport, settings };
}

const asked = {
  server: ({ client }) => ({ capabilities: client.getServerCapabilities(), server: client.getServerVersion() }),
  roots: async ({ client, settings }, { roots }) => {
    settings.roots = roots;
    await client.sendRootsListChanged();
    return {};
  },
  callTool: ({ client }, what, options) => client.callTool(what, ...(client.listen ? [options] : [undefined, options])),
  listen: async ({ client }, what) => {
    await client.listen(what);
    return {};
  },
};

async function answer(connection, { id, ask, with: what, progress, cancelAfter }) {
  const options = { timeout: 600_000 };
  if (progress) {
    options.onprogress = (told) => say({ id, progress: told });
  }
  if (cancelAfter !== undefined) {
    options.signal = AbortSignal.timeout(cancelAfter);
  }
  try {
    const known = asked[ask] ?? (({ client }, what, options) => client[ask](what, options));
    say({ id, ok: (await known(connection, what, options)) ?? {} });
  } catch (error) {
    say({ id, error: failure(error) });
  }
}

let connection;
const pending = [];
for await (const line of readline.createInterface({ input: process.stdin })) {
  const read = JSON.parse(line);
  if (!connection) {
    try {
      connection = await connect(read);
      say({ connected: true });
    } catch (error) {
      say({ error: failure(error) });
      process.exit(1);
    }
  } else {
    pending.push(answer(connection, read));
  }
}
await Promise.all(pending);
await connection?.client.close();
process.exit(0);
