/** Every candidate receives the same bytes, except for the model name and the headers it needs. */
const sentence =
  'Summarise the "quarterly" report in three points:\n- revenue, cost and margin;\n- what changed, and why. '

export interface RequestSpec {
  /** Selects the behaviour of the mock; see children/mock.ts. */
  model: string
  promptBytes: number
  streamed: boolean
  /** A request for an embedding, in this encoding. */
  embedding?: 'float' | 'base64'
}

export function pathOf({ model, embedding }: RequestSpec): string {
  if (model === 'image') return '/v1/images/generations'
  return embedding ? '/v1/embeddings' : '/v1/chat/completions'
}

/** The messages of a conversation of about this many bytes. */
function buildMessages(bytes: number): { role: string; content: string }[] {
  const turns = Math.max(2, Math.ceil(bytes / 10_000))
  const content = sentence.repeat(Math.ceil(bytes / turns / sentence.length)).slice(0, bytes / turns)
  return Array.from({ length: turns }, (_, turn) => ({ role: roleOf(turn, turns), content }))
}

function roleOf(turn: number, turns: number): string {
  if (turn === 0) return 'system'
  return (turns - turn) % 2 === 1 ? 'user' : 'assistant'
}

export function buildBody(spec: RequestSpec, modelName: string): string {
  if (spec.model === 'image') return JSON.stringify({ model: modelName, prompt: sentence })
  if (spec.embedding) {
    const input = sentence.repeat(Math.ceil(spec.promptBytes / sentence.length)).slice(0, spec.promptBytes)
    return JSON.stringify({ model: modelName, input, encoding_format: spec.embedding })
  }
  return JSON.stringify({
    model: modelName,
    messages: buildMessages(spec.promptBytes),
    temperature: 0.7,
    max_tokens: 1000,
    ...(spec.streamed && { stream: true, stream_options: { include_usage: true } }),
  })
}

export function encodeRequest(path: string, headers: Record<string, string>, body: string): Buffer {
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}
