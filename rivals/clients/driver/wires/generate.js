// Google's API for generating content, as far as Gemini CLI uses it.

/** Reads what an agent says to its model; nothing where it does not ask for an answer. */
export function read(url, body) {
  if (!/:(stream)?generateContent/i.test(url) || !body.contents) return undefined;
  const results = new Map();
  const texts = [];
  for (const { role, parts } of body.contents) {
    if (role === 'model') continue;
    for (const part of parts) {
      if (part.text) texts.push(part.text);
      if (part.functionResponse) {
        const { id, response } = part.functionResponse;
        const text = response?.output ?? response?.error ?? JSON.stringify(response);
        results.set(id, { text, isError: response?.error !== undefined });
      }
    }
  }
  const tools = (body.tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? []);
  return { results, texts, tools: tools.map(({ name }) => name) };
}

/** Answers what is no question to the model. */
export function refuse(url, response) {
  const counting = url.includes(':countTokens');
  response.writeHead(counting ? 200 : 404, { 'content-type': 'application/json' });
  response.end(counting ? '{"totalTokens":10}' : '{"error":{"code":404,"message":"not here","status":"NOT_FOUND"}}');
}

/** What a question gets that no part answers. */
export const idle = () => '{}';

/** Writes a move, as a stream where that was asked for. */
export function write(response, move, body, url) {
  const parts = (move.calls ?? []).map(({ id, tool, input }) => ({ functionCall: { id, name: tool, args: input } }));
  if (move.text) parts.unshift({ text: move.text });
  const answer = JSON.stringify({
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  });
  const streams = url.includes(':stream');
  response.writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' });
  response.end(streams ? `data: ${answer}\n\n` : answer);
}
