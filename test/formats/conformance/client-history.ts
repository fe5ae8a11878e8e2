import type { GenerateWireFormat } from '../../../src/formats/vocabulary.ts'
import type { SseFrame } from '../../../src/platform/http/sse.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../../src/platform/json/json-values.ts'

/** The history that clients of each format store of a reply and send back with their next request. */
interface HistoryClient {
  /** Reads the history from a whole reply. */
  readReply(reply: JsonObject): JsonObject[]
  /** Reads the history from a stream, assembled like the format's SDKs do. */
  readStream(frames: SseFrame[]): JsonObject[]
  /** The next request. */
  buildNextRequest(history: JsonObject[]): JsonObject
}

const parseJsonFrames = (frames: SseFrame[]): JsonObject[] =>
  frames.flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data) as JsonObject]))

const followUp = 'And tomorrow?'

function readChatStream(frames: SseFrame[]): JsonObject[] {
  const message: JsonObject = { role: 'assistant', content: '' }
  const details: JsonObject[] = []
  const toolCalls: JsonObject[] = []
  for (const chunk of parseJsonFrames(frames)) {
    const delta = asObject(asObjects(chunk.choices)[0]?.delta) ?? {}
    message.content += asString(delta.content) ?? ''
    details.push(...asObjects(delta.reasoning_details))
    for (const toolCallDelta of asObjects(delta.tool_calls)) {
      const index = Number(toolCallDelta.index)
      const functionDelta = asObject(toolCallDelta.function) ?? {}
      const functionCall = asObject(toolCalls[index]?.function)
      if (functionCall)
        functionCall.arguments = `${functionCall.arguments}${asString(functionDelta.arguments) ?? ''}`
      else
        toolCalls[index] = { id: toolCallDelta.id, type: toolCallDelta.type, function: { ...functionDelta } }
    }
  }
  if (details.length > 0) message.reasoning_details = details
  if (toolCalls.length > 0) message.tool_calls = toolCalls
  return [message]
}

function readMessagesStream(frames: SseFrame[]): JsonObject[] {
  const blocks: JsonObject[] = []
  const json: string[] = []
  for (const event of parseJsonFrames(frames)) {
    const index = Number(event.index)
    const [block, delta] = [blocks[index], asObject(event.delta)]
    if (event.type === 'content_block_start') blocks[index] = { ...asObject(event.content_block) }
    if (event.type !== 'content_block_delta' || !block || !delta) continue
    for (const field of ['text', 'thinking', 'signature'] as const) {
      if (typeof delta[field] === 'string') block[field] = `${block[field] ?? ''}${delta[field]}`
    }
    json[index] = (json[index] ?? '') + (asString(delta.partial_json) ?? '')
  }
  const content = blocks.map((block, index) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(json[index] || '{}') } : block,
  )
  return [{ role: 'assistant', content }]
}

export const clients: Record<GenerateWireFormat, HistoryClient> = {
  chat: {
    readReply: (reply) => [asObject(asObjects(reply.choices)[0]?.message) ?? {}],
    readStream: readChatStream,
    buildNextRequest: (history) => ({
      model: 'acme/large',
      max_tokens: 4000,
      messages: [
        { role: 'user', content: 'Weather?' },
        ...history,
        ...buildChatResults(history),
        { role: 'user', content: followUp },
      ],
    }),
  },
  messages: {
    readReply: (reply) => [{ role: 'assistant', content: reply.content }],
    readStream: readMessagesStream,
    buildNextRequest: (history) => ({
      model: 'acme/large',
      max_tokens: 4000,
      messages: [
        { role: 'user', content: 'Weather?' },
        ...history,
        { role: 'user', content: buildMessagesResults(history) },
      ],
    }),
  },
  responses: {
    readReply: (reply) => asObjects(reply.output),
    readStream: (frames) => asObjects(asObject(parseJsonFrames(frames).at(-1)?.response)?.output),
    buildNextRequest: (history) => ({
      model: 'acme/large',
      input: [
        { role: 'user', content: 'Weather?' },
        ...history,
        ...history
          .filter((item) => item.type === 'function_call')
          .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'snow' })),
        { role: 'user', content: followUp },
      ],
    }),
  },
  gemini: {
    readReply: (reply) => [asObject(asObjects(reply.candidates)[0]?.content) ?? {}],
    readStream: (frames) =>
      parseJsonFrames(frames).map((chunk) => asObject(asObjects(chunk.candidates)[0]?.content) ?? {}),
    buildNextRequest: (history) => ({
      contents: [
        { role: 'user', parts: [{ text: 'Weather?' }] },
        ...history,
        { role: 'user', parts: buildGeminiResults(history) },
      ],
      generationConfig: { maxOutputTokens: 4000 },
    }),
  },
}

function buildChatResults(history: JsonObject[]): JsonObject[] {
  return history
    .flatMap((message) => asObjects(message.tool_calls))
    .map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'snow' }))
}

function buildMessagesResults(history: JsonObject[]): JsonObject[] {
  const results = history
    .flatMap((message) => asObjects(message.content))
    .filter(({ type }) => type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'snow' }))
  return [...results, { type: 'text', text: followUp }]
}

function buildGeminiResults(history: JsonObject[]): JsonObject[] {
  const results = history
    .flatMap((content) => asObjects(content.parts))
    .flatMap(({ functionCall }) => asObjects([functionCall]))
    .map(({ id, name }) => ({ functionResponse: { id, name, response: { result: 'snow' } } }))
  return [...results, { text: followUp }]
}
