// The Messages API, as far as Claude Code uses it.

const USAGE = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 };

const path = (url) => url.split('?')[0];

function textOf(content) {
  if (typeof content === 'string') return content;
  return (content ?? []).map((block) => (block.type === 'text' ? block.text : `<${block.type}>`)).join('\n');
}

/** Reads what an agent says to its model; nothing where it does not ask for an answer. */
export function read(url, body) {
  if (!path(url).endsWith('/v1/messages') || !body.messages) return undefined;
  const results = new Map();
  const texts = [];
  for (const message of body.messages) {
    if (message.role === 'assistant') continue;
    if (typeof message.content === 'string') texts.push(message.content);
    else {
      for (const block of message.content) {
        if (block.type === 'text') texts.push(block.text);
        if (block.type === 'tool_result') {
          results.set(block.tool_use_id, { text: textOf(block.content), isError: Boolean(block.is_error) });
        }
      }
    }
  }
  return { results, texts, tools: (body.tools ?? []).map(({ name }) => name) };
}

/** Answers what is no question to the model. */
export function refuse(url, response) {
  const counting = path(url).endsWith('/count_tokens');
  response.writeHead(counting ? 200 : 404, { 'content-type': 'application/json' });
  const error = { type: 'error', error: { type: 'not_found_error', message: 'not here' } };
  response.end(JSON.stringify(counting ? { input_tokens: 10 } : error));
}

/** What a side question gets that no part answers: a title for the session, say. */
export function idle(body) {
  return /json/i.test(JSON.stringify(body.output_config ?? '')) ? '{"title":"mock"}' : 'mock';
}

/** Writes a move, as a stream where that was asked for. */
export function write(response, move, body) {
  const blocks = [{ type: 'text', text: move.text ?? 'Calling.' }];
  for (const { id, tool, input } of move.calls ?? []) blocks.push({ type: 'tool_use', id, name: tool, input });
  const message = {
    id: `msg_${crypto.randomUUID().replaceAll('-', '')}`,
    type: 'message',
    role: 'assistant',
    model: body.model,
    stop_sequence: null,
    usage: USAGE,
  };
  const stop_reason = move.calls ? 'tool_use' : 'end_turn';
  if (!body.stream) {
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ ...message, content: blocks, stop_reason }));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (type, fields) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  event('message_start', { message: { ...message, content: [], stop_reason: null } });
  blocks.forEach((block, index) => {
    if (block.type === 'text') {
      event('content_block_start', { index, content_block: { type: 'text', text: '' } });
      event('content_block_delta', { index, delta: { type: 'text_delta', text: block.text } });
    } else {
      event('content_block_start', { index, content_block: { ...block, input: {} } });
      const partial_json = JSON.stringify(block.input);
      event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } });
    }
    event('content_block_stop', { index });
  });
  event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } });
  event('message_stop', {});
  return response.end();
}
