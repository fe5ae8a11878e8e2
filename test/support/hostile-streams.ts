import type { TextWireFormat } from './replies.ts'

/** Streams that are cheap to send and expensive to read, in each format, with `count` events. */
export interface HostileStream {
  name: string
  frames: Record<TextWireFormat, (count: number) => string[]>
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function event(value: { type: string }): string {
  return `event: ${value.type}\n${data(value)}`
}

const chatHead = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }

function chatDelta(delta: object): string {
  return data({ ...chatHead, choices: [{ index: 0, delta, finish_reason: null }] })
}

const messagesStart = event({
  type: 'message_start',
  message: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    usage: { input_tokens: 1 },
  },
} as { type: string })

function blockStart(index: number, content_block: object): string {
  return event({ type: 'content_block_start', index, content_block } as { type: string })
}

function blockDelta(index: number, delta: object): string {
  return event({ type: 'content_block_delta', index, delta } as { type: string })
}

function responseEvent(type: string, fields: object): string {
  return event({ type: `response.${type}`, ...fields })
}

const responseStart = responseEvent('created', { response: { id: 'r', model: 'm', output: [] } })

function geminiParts(...parts: object[]): string {
  return data({ candidates: [{ content: { role: 'model', parts }, index: 0 }] })
}

function repeatFrame(count: number, frame: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => frame(index))
}

const openCalls = 500

const toolStart = (index: number) => ({ type: 'tool_use', id: `t${index}`, name: 'f', input: {} })
const jsonDelta = { type: 'input_json_delta', partial_json: '1,' }

function callItem(index: number) {
  return { type: 'function_call', id: `f${index}`, call_id: `f${index}`, name: 'f', arguments: '' }
}

function callAdded(index: number): string {
  return responseEvent('output_item.added', { output_index: index, item: callItem(index) })
}

function callDelta(index: number): string {
  const fields = { item_id: `f${index}`, output_index: index, delta: '1,' }
  return responseEvent('function_call_arguments.delta', fields)
}

function chatCall(index: number): string {
  return chatDelta({ tool_calls: [{ index, id: `t${index}`, function: { name: 'f', arguments: '' } }] })
}

/** Tiny text deltas. */
const texts: HostileStream = {
  name: 'tiny texts',
  frames: {
    chat: (count) => repeatFrame(count, () => chatDelta({ content: 'x' })),
    messages: (count) => [
      messagesStart,
      blockStart(0, { type: 'text', text: '' }),
      ...repeatFrame(count, () => blockDelta(0, { type: 'text_delta', text: 'x' })),
    ],
    responses: (count) => [
      responseStart,
      ...repeatFrame(count, () =>
        responseEvent('output_text.delta', { output_index: 0, content_index: 0, delta: 'x' }),
      ),
    ],
    gemini: (count) => repeatFrame(count, () => geminiParts({ text: 'x' })),
  },
}

/** Argument deltas of many interleaved calls. */
const toolDeltas: HostileStream = {
  name: 'interleaved tool calls',
  frames: {
    chat: (count) => [
      ...repeatFrame(openCalls, chatCall),
      ...repeatFrame(count, (index) =>
        chatDelta({ tool_calls: [{ index: index % openCalls, function: { arguments: '1,' } }] }),
      ),
    ],
    messages: (count) => [
      messagesStart,
      ...repeatFrame(openCalls, (index) => blockStart(index, toolStart(index))),
      ...repeatFrame(count, (index) => blockDelta(index % openCalls, jsonDelta)),
    ],
    responses: (count) => [
      responseStart,
      ...repeatFrame(openCalls, callAdded),
      ...repeatFrame(count, (index) => callDelta(index % openCalls)),
    ],
    gemini: (count) => [
      geminiParts({ functionCall: { name: 'f', willContinue: true } }),
      ...repeatFrame(count, () =>
        geminiParts({
          functionCall: { partialArgs: [{ jsonPath: '$.a', stringValue: '1,' }], willContinue: true },
        }),
      ),
    ],
  },
}

/** A new part for every event. */
const parts: HostileStream = {
  name: 'endless tool calls',
  frames: {
    chat: (count) => repeatFrame(count, chatCall),
    messages: (count) => [
      messagesStart,
      ...repeatFrame(count, (index) => blockStart(index, toolStart(index))),
    ],
    responses: (count) => [responseStart, ...repeatFrame(count, callAdded)],
    gemini: (count) => repeatFrame(count, () => geminiParts({ functionCall: { name: 'f', args: {} } })),
  },
}

export const hostileStreams: readonly HostileStream[] = [texts, toolDeltas, parts]

/** Joins frames in chunks as large as those of a network. */
export function joinFrames(frames: readonly string[]): string[] {
  const text = frames.join('')
  const size = 64 * 1024
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  )
}
