// A model on the loopback whose words are the parts of a conversation. The wire formats of the agents' APIs are in `wires/`.

import http from 'node:http';

import { Part } from './part.js';

/** Serves the parts over a wire format; `close` ends it. */
export async function serve(wire, plays) {
  const parts = new Map(Object.entries(plays).map(([name, play]) => [name, new Part(name, play)]));
  const requests = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const body = text.startsWith('{') ? JSON.parse(text) : {};
    requests.push({ url: request.url, body });
    const asked = wire.read(request.url, body);
    if (!asked) return wire.refuse(request.url, response);
    const part = asked.tools.length > 0 ? partOf(parts, asked.texts) : undefined;
    const move = part ? await part.answer(asked) : { text: wire.idle(body) };
    wire.write(response, move, body, request.url);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    parts,
    requests,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Finds the part a conversation belongs to: its first text says `PART:name`, and where none does it is the main one. */
function partOf(parts, texts) {
  for (const text of texts) {
    const marked = text.match(/PART:([A-Za-z0-9_-]+)/);
    if (marked) return parts.get(marked[1]);
  }
  return parts.get('main');
}
