import type { GenerateWireFormat } from '../../../src/formats/vocabulary.ts'
import type { SseFrame } from '../../../src/platform/http/sse.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../../src/platform/json/json-values.ts'
import { assertRule } from './assert-rule.ts'
import { isSameJson } from './compare-request.ts'
import { checkResponses } from './grammar-responses.ts'

/** Throws when a finished stream breaks the rules of its format, as a strict client would. */
export const grammarChecks: Record<GenerateWireFormat, (frames: SseFrame[]) => void> = {
  chat: checkChat,
  messages: checkMessages,
  responses: checkResponses,
  gemini: checkGemini,
}

function checkChat(frames: SseFrame[]): void {
  assertRule(frames.at(-1)?.data === '[DONE]', 'the last event is [DONE]')
  const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame.data) as JsonObject)
  const choices = new Map<unknown, { finished: boolean; calls: number }>()
  for (const chunk of chunks) {
    assertRule(chunk.object === 'chat.completion.chunk', 'every event is a chunk')
    assertRule(chunk.id === chunks[0]?.id, 'all chunks have one id')
    for (const choice of asObjects(chunk.choices)) {
      const state = choices.get(choice.index) ?? { finished: false, calls: 0 }
      choices.set(choice.index, state)
      assertRule(!state.finished, 'nothing comes after the finish reason of a choice')
      assertRule(asObject(choice.delta) !== undefined, 'every choice has a delta')
      for (const call of asObjects(asObject(choice.delta)?.tool_calls)) checkChatToolCall(call, state)
      state.finished = typeof choice.finish_reason === 'string'
    }
  }
  assertRule(
    [...choices.values()].every(({ finished }) => finished),
    'every choice has a finish reason',
  )
  assertRule(chunks.filter(({ usage }) => usage).length === 1, 'the usage comes once')
  assertRule(asObject(chunks.at(-1)?.usage) !== undefined, 'the usage comes last')
}

function checkChatToolCall(toolCall: JsonObject, state: { calls: number }): void {
  const index = Number(toolCall.index)
  assertRule(Number.isInteger(index) && index <= state.calls, 'tool calls are numbered without gaps')
  const toolBody = asObject(toolCall.function) ?? asObject(toolCall.custom)
  if (index === state.calls) {
    assertRule(
      asString(toolCall.id) !== undefined && asString(toolBody?.name) !== undefined,
      'a new call has an id and a name',
    )
    state.calls++
  } else assertRule(toolBody?.name === undefined, 'only the first delta of a tool call has its name')
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
    assertRule(frame.event === event.type, 'the name of an event is its type')
    return event
  })
  const replyEvents = events.filter(({ type }) => type !== 'ping')
  assertRule(replyEvents[0]?.type === 'message_start', 'the first event is message_start')
  assertRule(
    isSameJson(
      replyEvents.slice(-2).map(({ type }) => type),
      ['message_delta', 'message_stop'],
    ),
    'it ends with message_delta, message_stop',
  )
  let [blocks, json] = [0, '']
  let open: JsonObject | undefined
  for (const event of replyEvents.slice(1, -2)) {
    if (event.type === 'content_block_start') {
      assertRule(open === undefined, 'one block is open at a time')
      assertRule(event.index === blocks, 'blocks are numbered in order')
      open = asObject(event.content_block)
      json = ''
    } else if (event.type === 'content_block_delta') {
      const delta = asObject(event.delta)
      assertRule(event.index === blocks, 'a delta is for the open block')
      assertRule(
        deltaTypes[String(open?.type)]?.includes(String(delta?.type)) ?? false,
        `${delta?.type} in ${open?.type}`,
      )
      json += asString(delta?.partial_json) ?? ''
    } else {
      assertRule(event.type === 'content_block_stop' && event.index === blocks, 'only blocks come in between')
      if (open?.type === 'tool_use' && json !== '') JSON.parse(json)
      open = undefined
      blocks++
    }
  }
  assertRule(open === undefined, 'every block is closed')
}

const partKeys = ['text', 'functionCall', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult']

function checkGemini(frames: SseFrame[]): void {
  const chunks = frames.map((frame) => JSON.parse(frame.data) as JsonObject)
  const finished = new Map<unknown, boolean>()
  for (const chunk of chunks) {
    for (const candidate of asObjects(chunk.candidates)) {
      assertRule(finished.get(candidate.index) !== true, 'nothing comes after the finish reason')
      finished.set(candidate.index, typeof candidate.finishReason === 'string')
      const content = asObject(candidate.content)
      assertRule(content?.role === 'model', 'content is of the model')
      for (const part of asObjects(content?.parts)) {
        const data = Object.keys(part).filter((key) => partKeys.includes(key))
        assertRule(data.length === 1, 'a part is one thing')
      }
    }
  }
  assertRule([...finished.values()].every(Boolean), 'every candidate has a finish reason')
  assertRule(asObject(chunks.at(-1)?.usageMetadata) !== undefined, 'the last chunk has the usage')
}

/** Markers that only a successful stream may contain. */
export const successPatterns: Record<GenerateWireFormat, RegExp> = {
  chat: /\[DONE\]|"finish_reason":"(?!error)[a-z_]+"/,
  messages: /message_stop|message_delta/,
  responses: /response\.(?:completed|incomplete)"/,
  gemini: /"finishReason"/,
}
