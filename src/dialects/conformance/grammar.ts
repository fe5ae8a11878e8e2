import type { GenerateDialect } from '../../catalog/vocabulary.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import { sameJson } from './compare-request.ts'
import { checkResponses } from './grammar-responses.ts'
import { rule } from './rule.ts'

/** Throws when a finished stream breaks the rules of its format, as a strict client would. */
export const grammars: Record<GenerateDialect, (frames: SseFrame[]) => void> = {
  chat: checkChat,
  messages: checkMessages,
  responses: checkResponses,
  gemini: checkGemini,
}

function checkChat(frames: SseFrame[]): void {
  rule(frames.at(-1)?.data === '[DONE]', 'the last event is [DONE]')
  const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame.data) as JsonObject)
  const choices = new Map<unknown, { finished: boolean; calls: number }>()
  for (const chunk of chunks) {
    rule(chunk.object === 'chat.completion.chunk', 'every event is a chunk')
    rule(chunk.id === chunks[0]?.id, 'all chunks have one id')
    for (const choice of objectsOf(chunk.choices)) {
      const state = choices.get(choice.index) ?? { finished: false, calls: 0 }
      choices.set(choice.index, state)
      rule(!state.finished, 'nothing comes after the finish reason of a choice')
      rule(objectOf(choice.delta) !== undefined, 'every choice has a delta')
      for (const call of objectsOf(objectOf(choice.delta)?.tool_calls)) checkChatCall(call, state)
      state.finished = typeof choice.finish_reason === 'string'
    }
  }
  rule(
    [...choices.values()].every(({ finished }) => finished),
    'every choice has a finish reason',
  )
  rule(chunks.filter(({ usage }) => usage).length === 1, 'the usage comes once')
  rule(objectOf(chunks.at(-1)?.usage) !== undefined, 'the usage comes last')
}

function checkChatCall(call: JsonObject, state: { calls: number }): void {
  const index = Number(call.index)
  rule(Number.isInteger(index) && index <= state.calls, 'tool calls are numbered without gaps')
  const given = objectOf(call.function) ?? objectOf(call.custom)
  if (index === state.calls) {
    rule(
      textOf(call.id) !== undefined && textOf(given?.name) !== undefined,
      'a new call has an id and a name',
    )
    state.calls++
  } else rule(given?.name === undefined, 'only the first piece of a call has its name')
}

const deltaTypes: Record<string, string[]> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  redacted_thinking: [],
  tool_use: ['input_json_delta'],
}

function checkMessages(frames: SseFrame[]): void {
  const events = frames.map((frame) => {
    const event = JSON.parse(frame.data) as JsonObject
    rule(frame.event === event.type, 'the name of an event is its type')
    return event
  })
  const kept = events.filter(({ type }) => type !== 'ping')
  rule(kept[0]?.type === 'message_start', 'the first event is message_start')
  rule(
    sameJson(
      kept.slice(-2).map(({ type }) => type),
      ['message_delta', 'message_stop'],
    ),
    'it ends with message_delta, message_stop',
  )
  let [blocks, json] = [0, '']
  let open: JsonObject | undefined
  for (const event of kept.slice(1, -2)) {
    if (event.type === 'content_block_start') {
      rule(open === undefined, 'one block is open at a time')
      rule(event.index === blocks, 'blocks are numbered in order')
      open = objectOf(event.content_block)
      json = ''
    } else if (event.type === 'content_block_delta') {
      const delta = objectOf(event.delta)
      rule(event.index === blocks, 'a delta is for the open block')
      rule(
        deltaTypes[String(open?.type)]?.includes(String(delta?.type)) ?? false,
        `${delta?.type} in ${open?.type}`,
      )
      json += textOf(delta?.partial_json) ?? ''
    } else {
      rule(event.type === 'content_block_stop' && event.index === blocks, 'only blocks come in between')
      if (open?.type === 'tool_use' && json !== '') JSON.parse(json)
      open = undefined
      blocks++
    }
  }
  rule(open === undefined, 'every block is closed')
}

const partKeys = ['text', 'functionCall', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult']

function checkGemini(frames: SseFrame[]): void {
  const chunks = frames.map((frame) => JSON.parse(frame.data) as JsonObject)
  const finished = new Map<unknown, boolean>()
  for (const chunk of chunks) {
    for (const candidate of objectsOf(chunk.candidates)) {
      rule(finished.get(candidate.index) !== true, 'nothing comes after the finish reason')
      finished.set(candidate.index, typeof candidate.finishReason === 'string')
      const content = objectOf(candidate.content)
      rule(content?.role === 'model', 'content is of the model')
      for (const part of objectsOf(content?.parts)) {
        const data = Object.keys(part).filter((key) => partKeys.includes(key))
        rule(data.length === 1, 'a part is one thing')
      }
    }
  }
  rule([...finished.values()].every(Boolean), 'every candidate has a finish reason')
  rule(objectOf(chunks.at(-1)?.usageMetadata) !== undefined, 'the last chunk has the usage')
}

/** What only a stream that ended well may say. */
export const cleanEnds: Record<GenerateDialect, RegExp> = {
  chat: /\[DONE\]|"finish_reason":"(?!error)[a-z_]+"/,
  messages: /message_stop|message_delta/,
  responses: /response\.(?:completed|incomplete)"/,
  gemini: /"finishReason"/,
}
