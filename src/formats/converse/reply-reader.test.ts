import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { collectReply } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { converse } from './converse.ts'

function readStream(events: JsonObject[]) {
  const reader = converse.upstream.createReader()
  const frames = events.map((event) => ({ event: '', data: JSON.stringify(event) }))
  return collectReply([...frames.flatMap((frame) => reader.read(frame)), ...reader.end()])
}

const readWhole = (body: JsonObject) => collectReply(converse.upstream.decodeReply(body))
const delta = (contentBlockIndex: number, value: JsonObject) => ({
  contentBlockDelta: { contentBlockIndex, delta: value },
})
const stop = (contentBlockIndex: number) => ({ contentBlockStop: { contentBlockIndex } })

const usage = {
  inputTokens: 20,
  outputTokens: 31,
  cacheReadInputTokens: 100,
  cacheWriteInputTokens: 50,
  cacheDetails: [{ ttl: '1h', inputTokens: 30 }],
}

const streamed: JsonObject[] = [
  { messageStart: { role: 'assistant' } },
  delta(0, { reasoningContent: { text: 'Three ' } }),
  delta(0, { reasoningContent: { text: 'letters.' } }),
  delta(0, { reasoningContent: { signature: 'sig==' } }),
  stop(0),
  delta(1, { text: 'Let me ' }),
  delta(1, { text: 'look.' }),
  stop(1),
  {
    contentBlockStart: {
      contentBlockIndex: 2,
      start: { toolUse: { toolUseId: 'tooluse_1', name: 'weather' } },
    },
  },
  delta(2, { toolUse: { input: '{"city":' } }),
  delta(2, { toolUse: { input: '"Graz"}' } }),
  stop(2),
  { messageStop: { stopReason: 'tool_use' } },
  { metadata: { usage, serviceTier: { type: 'priority' } } },
]

const whole: JsonObject = {
  output: {
    message: {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'Three letters.', signature: 'sig==' } } },
        { text: 'Let me look.' },
        { toolUse: { toolUseId: 'tooluse_1', name: 'weather', input: { city: 'Graz' } } },
      ],
    },
  },
  stopReason: 'tool_use',
  usage,
}

describe('R31 replies in the Converse format', () => {
  test.each([
    ['streamed', () => readStream(streamed)],
    ['whole', () => readWhole(whole)],
    [
      'streamed, with the usage before the end',
      () => readStream([...streamed.slice(0, -2), ...streamed.slice(-2).reverse()]),
    ],
  ])('%s', (_name, read) => {
    const { choices, usage: counted, isComplete } = read()
    expect(choices[0]).toMatchObject({
      parts: [
        { kind: 'reasoning', text: 'Three letters.', signature: 'sig==', format: 'vendor_a-v1' },
        { kind: 'text', text: 'Let me look.' },
        { kind: 'tool-call', id: 'tooluse_1', name: 'weather', arguments: '{"city":"Graz"}' },
      ],
      end: { reason: 'tool_calls', native: 'tool_use' },
    })
    const counts = { input: 20, output: 31, cacheRead: 100, cacheWrite: 20, cacheWrite1h: 30 }
    expect(counted).toEqual({ ...zeroUsage, ...counts })
    expect(isComplete).toBe(true)
  })

  test('R33 a stream that is cut before its end is never a complete reply', () => {
    for (let length = 0; length < streamed.length - 2; length++)
      expect(readStream(streamed.slice(0, length)).isComplete).toBe(false)
  })

  test('a tool without arguments, and a call after which the model claims to have ended', () => {
    const { choices } = readStream([
      { contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'now' } } } },
      stop(0),
      { messageStop: { stopReason: 'end_turn' } },
    ])
    expect(choices[0]).toMatchObject({ parts: [{ arguments: '{}' }], end: { reason: 'tool_calls' } })
  })

  test('R33 every part ends once, also of readable reasoning with a redacted rest', () => {
    const reader = converse.upstream.createReader()
    const events = [
      delta(0, { reasoningContent: { text: 'Hm' } }),
      delta(0, { reasoningContent: { redactedContent: 'c2VjcmV0' } }),
      stop(0),
      { messageStop: { stopReason: 'end_turn' } },
      delta(1, { text: 'too late' }),
    ].flatMap((event) => reader.read({ event: '', data: JSON.stringify(event) }))
    const partsOf = (type: string) =>
      events.flatMap((event) => (event.type === type && 'part' in event ? [event.part] : []))
    expect(partsOf('part-start')).toEqual([0, 1])
    expect(partsOf('part-end')).toEqual([0, 1])
  })

  test('redacted reasoning is kept for the vendor', () => {
    const { choices } = readWhole({
      output: {
        message: { content: [{ reasoningContent: { redactedContent: 'c2VjcmV0' } }, { text: 'Ok' }] },
      },
      stopReason: 'end_turn',
    })
    expect(choices[0]?.parts[0]).toMatchObject({ kind: 'reasoning', encrypted: 'c2VjcmV0' })
  })

  test('the stop sequence is in the fields of the model', () => {
    const additionalModelResponseFields = { delta: { stop_sequence: 'END' } }
    const { choices } = readStream([
      delta(0, { text: 'Hi' }),
      { messageStop: { stopReason: 'stop_sequence', additionalModelResponseFields } },
    ])
    expect(choices[0]?.end).toMatchObject({ reason: 'stop', stopSequence: 'END' })
  })

  test.each([
    ['throttlingException', 'Slow down', 'rate_limit_exceeded'],
    ['serviceUnavailableException', 'Later', 'provider_overloaded'],
    ['modelStreamErrorException', 'Broken', 'provider_unavailable'],
    ['validationException', 'Input is too long for requested model.', 'context_length_exceeded'],
    ['validationException', 'Bad field', 'invalid_request'],
  ])('%s: %s is a failure of kind %s', (name, message, kind) => {
    const { failure, isComplete } = readStream([delta(0, { text: 'Hi' }), { [name]: { message } }])
    expect(failure).toMatchObject({ kind, message })
    expect(isComplete).toBe(false)
  })

  test.each([
    [400, { message: 'The model returned: prompt is too long' }, 'context_length_exceeded'],
    [403, { message: 'The security token included in the request is invalid.' }, 'authentication'],
    [403, { message: 'Your account is not authorized to invoke this API' }, 'permission_denied'],
    [404, { __type: 'ResourceNotFoundException', message: 'Unknown model' }, 'not_found'],
    [429, { message: 'Too many requests' }, 'rate_limit_exceeded'],
    [503, {}, 'provider_overloaded'],
  ])('a response with status %i and %j is a failure of kind %s', (status, body, kind) => {
    expect(converse.upstream.decodeError(status, body)).toMatchObject({ kind, status })
  })

  test('a body without a message is a failure', () => {
    expect(readWhole({}).failure).toMatchObject({ kind: 'provider_unavailable' })
  })
})
