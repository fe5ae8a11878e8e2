import { type Scenario, scenarios } from '../../support/replies/scenario.ts'

/** The parts of a reply, as hits name them. */
export const replyParts = ['text', 'reasoning', 'tool-call'] as const
export type ReplyPart = (typeof replyParts)[number]

/** One format of replies, and the parts it can carry. */
export interface WayOut {
  name: string
  path(stream: boolean): string
  body(stream: boolean): object
  parts: readonly ReplyPart[]
}

const messages = [{ role: 'user', content: 'Hello' }]
const parameters = { type: 'object' }
const functionTool = { type: 'function', function: { name: 'get_weather', parameters } }

export const waysOut: readonly WayOut[] = [
  {
    name: 'Chat completions',
    path: () => '/v1/chat/completions',
    body: (stream) => ({ model: 'test/chat', stream, messages, tools: [functionTool] }),
    parts: replyParts,
  },
  {
    name: 'Legacy completions',
    path: () => '/v1/completions',
    body: (stream) => ({ model: 'test/chat', stream, prompt: 'Hello' }),
    parts: ['text'],
  },
  {
    name: 'Messages',
    path: () => '/v1/messages',
    body: (stream) => ({
      model: 'test/chat',
      stream,
      max_tokens: 2000,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages,
      tools: [{ name: 'get_weather', input_schema: parameters }],
    }),
    parts: replyParts,
  },
  {
    name: 'Responses',
    path: () => '/v1/responses',
    body: (stream) => ({
      model: 'test/chat',
      stream,
      input: 'Hello',
      tools: [{ type: 'function', name: 'get_weather', parameters }],
    }),
    parts: replyParts,
  },
  {
    name: 'Gemini',
    path: (stream) =>
      `/v1beta/models/test/chat:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: () => ({
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
      tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
    }),
    parts: replyParts,
  },
  {
    name: 'Ollama chat',
    path: () => '/api/chat',
    body: (stream) => ({ model: 'test/chat', stream, messages, think: true, tools: [functionTool] }),
    parts: replyParts,
  },
  {
    name: 'Ollama generate',
    path: () => '/api/generate',
    body: (stream) => ({ model: 'test/chat', stream, prompt: 'Hello' }),
    parts: ['text'],
  },
]

/** Text that is long enough for a filter to be certain before the end. */
const rest = 'It is a fine day for letters. '.repeat(40)

/** A reply of a provider with a canary in one part. */
export function plantReply(part: ReplyPart, canary: string): Scenario {
  const text = `Please write to ${canary} soon. ${rest}`
  if (part === 'reasoning') return { ...scenarios.reasoning, reasoning: { text, signature: 'c2ln' } }
  if (part === 'text') return { ...scenarios.text, text }
  const call = { id: 'call_1', name: 'get_weather', arguments: JSON.stringify({ to: canary }) }
  return { ...scenarios.toolCalls, toolCalls: [call] }
}
