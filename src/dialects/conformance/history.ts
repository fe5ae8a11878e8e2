import type { GenerateDialect } from '../../catalog/vocabulary.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'

/** What clients of each format keep of a reply and send back with their next question. */
interface Client {
  /** From a whole reply. */
  kept(reply: JsonObject): JsonObject[]
  /** From a stream, put together as the format's SDKs do. */
  gathered(frames: SseFrame[]): JsonObject[]
  /** The next request. */
  asks(kept: JsonObject[]): JsonObject
}

const jsonFrames = (frames: SseFrame[]): JsonObject[] =>
  frames.flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data) as JsonObject]))

const lastQuestion = 'And tomorrow?'

function chatGathered(frames: SseFrame[]): JsonObject[] {
  const message: JsonObject = { role: 'assistant', content: '' }
  const details: JsonObject[] = []
  const calls: JsonObject[] = []
  for (const chunk of jsonFrames(frames)) {
    const delta = objectOf(objectsOf(chunk.choices)[0]?.delta) ?? {}
    message.content += textOf(delta.content) ?? ''
    details.push(...objectsOf(delta.reasoning_details))
    for (const piece of objectsOf(delta.tool_calls)) {
      const index = Number(piece.index)
      const given = objectOf(piece.function) ?? {}
      const held = objectOf(calls[index]?.function)
      if (held) held.arguments = `${held.arguments}${textOf(given.arguments) ?? ''}`
      else calls[index] = { id: piece.id, type: piece.type, function: { ...given } }
    }
  }
  if (details.length > 0) message.reasoning_details = details
  if (calls.length > 0) message.tool_calls = calls
  return [message]
}

function messagesGathered(frames: SseFrame[]): JsonObject[] {
  const blocks: JsonObject[] = []
  const json: string[] = []
  for (const event of jsonFrames(frames)) {
    const at = Number(event.index)
    const [block, delta] = [blocks[at], objectOf(event.delta)]
    if (event.type === 'content_block_start') blocks[at] = { ...objectOf(event.content_block) }
    if (event.type !== 'content_block_delta' || !block || !delta) continue
    for (const field of ['text', 'thinking', 'signature'] as const) {
      if (typeof delta[field] === 'string') block[field] = `${block[field] ?? ''}${delta[field]}`
    }
    json[at] = (json[at] ?? '') + (textOf(delta.partial_json) ?? '')
  }
  const content = blocks.map((block, at) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(json[at] || '{}') } : block,
  )
  return [{ role: 'assistant', content }]
}

export const clients: Record<GenerateDialect, Client> = {
  chat: {
    kept: (reply) => [objectOf(objectsOf(reply.choices)[0]?.message) ?? {}],
    gathered: chatGathered,
    asks: (kept) => ({
      model: 'acme/large',
      max_tokens: 4000,
      messages: [
        { role: 'user', content: 'Weather?' },
        ...kept,
        ...chatResults(kept),
        { role: 'user', content: lastQuestion },
      ],
    }),
  },
  messages: {
    kept: (reply) => [{ role: 'assistant', content: reply.content }],
    gathered: messagesGathered,
    asks: (kept) => ({
      model: 'acme/large',
      max_tokens: 4000,
      messages: [
        { role: 'user', content: 'Weather?' },
        ...kept,
        { role: 'user', content: messagesAnswer(kept) },
      ],
    }),
  },
  responses: {
    kept: (reply) => objectsOf(reply.output),
    gathered: (frames) => objectsOf(objectOf(jsonFrames(frames).at(-1)?.response)?.output),
    asks: (kept) => ({
      model: 'acme/large',
      input: [
        { role: 'user', content: 'Weather?' },
        ...kept,
        ...kept
          .filter((item) => item.type === 'function_call')
          .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'snow' })),
        { role: 'user', content: lastQuestion },
      ],
    }),
  },
  gemini: {
    kept: (reply) => [objectOf(objectsOf(reply.candidates)[0]?.content) ?? {}],
    gathered: (frames) =>
      jsonFrames(frames).map((chunk) => objectOf(objectsOf(chunk.candidates)[0]?.content) ?? {}),
    asks: (kept) => ({
      contents: [
        { role: 'user', parts: [{ text: 'Weather?' }] },
        ...kept,
        { role: 'user', parts: geminiAnswer(kept) },
      ],
      generationConfig: { maxOutputTokens: 4000 },
    }),
  },
}

function chatResults(kept: JsonObject[]): JsonObject[] {
  return kept
    .flatMap((message) => objectsOf(message.tool_calls))
    .map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'snow' }))
}

function messagesAnswer(kept: JsonObject[]): JsonObject[] {
  const results = kept
    .flatMap((message) => objectsOf(message.content))
    .filter(({ type }) => type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'snow' }))
  return [...results, { type: 'text', text: lastQuestion }]
}

function geminiAnswer(kept: JsonObject[]): JsonObject[] {
  const results = kept
    .flatMap((content) => objectsOf(content.parts))
    .flatMap(({ functionCall }) => objectsOf([functionCall]))
    .map(({ id, name }) => ({ functionResponse: { id, name, response: { result: 'snow' } } }))
  return [...results, { text: lastQuestion }]
}
