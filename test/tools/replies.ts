import type { UpstreamResponse } from '../support/upstream.ts'

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const head = { id: 'chatcmpl-1', created: 1, model: 'vendor-model' }
let callCount = 0

/** A reply of the chat format that calls these functions. */
export function replyWithCalls(
  names: string[],
  stream = false,
  content: string | null = null,
  input: Record<string, unknown> = {},
): UpstreamResponse {
  const tool_calls = names.map((name, index) => {
    const called = { name, arguments: JSON.stringify(input) }
    return { index, id: `call_${++callCount}`, type: 'function', function: called }
  })
  return buildReply({ role: 'assistant', content, tool_calls }, 'tool_calls', stream)
}

export function replyWithText(content: string, stream = false): UpstreamResponse {
  return buildReply({ role: 'assistant', content }, 'stop', stream)
}

function buildReply(
  message: Record<string, unknown>,
  finish_reason: string,
  stream: boolean,
): UpstreamResponse {
  if (!stream) {
    const choices = [{ index: 0, message, finish_reason }]
    return { json: { ...head, object: 'chat.completion', choices, usage } }
  }
  const chunks = [
    { choices: [{ index: 0, delta: message, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason }] },
    { choices: [], usage },
  ].map((chunk) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...chunk })}\n\n`)
  return { sse: [...chunks, 'data: [DONE]\n\n'] }
}

/** The objects of a stream. */
// biome-ignore lint/suspicious/noExplicitAny: events of every format
export function readSseData(text: string): any[] {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ''))
}
