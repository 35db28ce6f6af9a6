// An MCP client of few words, for calling our server without any agent.

import { spawn } from 'node:child_process';
import readline from 'node:readline';

/** A connection to `taskyard mcp`. */
export class Mcp {
  #child;
  #waiting = new Map();
  #last = 0;

  constructor(house, words = [], env = {}) {
    this.#child = spawn('taskyard', ['mcp', ...words], { cwd: house.project, env: house.env(env) });
    this.#child.stderr.resume();
    readline.createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line);
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new Error(error.message));
      else waiting?.resolve(result);
    });
  }

  /** Connects as a client of any name. */
  static async connect(house, words, { name = 'interop', env } = {}) {
    const mcp = new Mcp(house, words, env);
    const clientInfo = { name, version: '1' };
    await mcp.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    mcp.#send({ method: 'notifications/initialized' });
    return mcp;
  }

  /** Calls a tool, and returns its answer as agents see it. */
  async call(name, input) {
    const { content, isError } = await this.ask('tools/call', { name, arguments: input });
    return { text: content.map(({ text }) => text).join('\n'), isError: Boolean(isError) };
  }

  /** Asks anything of the protocol. */
  ask(method, params) {
    const id = ++this.#last;
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Ends the connection, and waits for the server's end. */
  close() {
    const ended = new Promise((resolve) => this.#child.on('close', resolve));
    this.#child.stdin.end();
    return ended;
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
