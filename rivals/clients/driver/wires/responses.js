// The Responses API, as far as Codex uses it.

/** The tools a request offers, and in which namespace each is. */
function offered(tools = []) {
  return tools.flatMap((tool) => {
    if (tool.type === 'namespace') return tool.tools.map(({ name }) => ({ name, namespace: tool.name }));
    return [{ name: tool.name ?? tool.type }];
  });
}

/** The name a part uses for a tool: with its namespace, where it has one. */
const full = ({ name, namespace }) => (namespace ? `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}` : name);

function textOf(output) {
  if (typeof output === 'string') return output;
  return (Array.isArray(output) ? output : [output]).map((item) => item.text ?? JSON.stringify(item)).join('\n');
}

/** Reads what an agent says to its model; nothing where it does not ask for an answer. */
export function read(url, body) {
  if (!url.endsWith('/responses') || !body.input) return undefined;
  const results = new Map();
  const texts = [];
  for (const item of body.input) {
    if (item.type === 'function_call_output') {
      results.set(item.call_id, { text: textOf(item.output), isError: item.output?.success === false });
    } else if (item.type === 'message' && item.role !== 'assistant') {
      texts.push(...item.content.map(({ text }) => text ?? ''));
    }
  }
  return { results, texts, tools: offered(body.tools).map(full) };
}

/** Answers what is no question to the model. */
export function refuse(url, response) {
  response.writeHead(404, { 'content-type': 'application/json' });
  response.end('{"error":{"message":"not here"}}');
}

/** What a question gets that no part answers. */
export const idle = () => 'mock';

/** Writes a move as a stream. */
export function write(response, move, body) {
  const id = `resp_${crypto.randomUUID()}`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (type, fields) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  event('response.created', { response: { id } });
  const known = offered(body.tools);
  for (const { id: call_id, tool, input } of move.calls ?? []) {
    const { name, namespace } = known.find((one) => full(one) === tool) ?? { name: tool };
    const item = { type: 'function_call', id: `fc_${call_id}`, call_id, name, arguments: JSON.stringify(input) };
    event('response.output_item.done', { item: namespace ? { ...item, namespace } : item });
  }
  if (!move.calls) {
    const content = [{ type: 'output_text', text: move.text, annotations: [] }];
    event('response.output_item.done', { item: { type: 'message', id: `msg_${id}`, role: 'assistant', content } });
  }
  const usage = { input_tokens: 10, input_tokens_details: null, output_tokens: 5, output_tokens_details: null };
  event('response.completed', { response: { id, usage: { ...usage, total_tokens: 15 } } });
  response.end();
}
