import { describe, expect, test } from 'bun:test'
import {
  encodeBedrockChunk,
  encodeBedrockException,
  encodeConverseEvent,
  encodeEventMessage,
} from '../../../test/support/aws-event-stream.ts'
import { collectReply } from '../../formats/call/event.ts'
import { converse } from '../../formats/converse/converse.ts'
import { messages } from '../../formats/messages/messages.ts'
import { createBedrockFrameReader, createConverseFrameReader } from './bedrock-frames.ts'

const events = [
  {
    type: 'message_start',
    message: { id: 'm', model: 'claude', usage: { input_tokens: 5, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße 🌍' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
  { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 5 } },
]
const stream = Buffer.concat(events.map(encodeBedrockChunk))

function readFrames(chunks: Uint8Array[]) {
  const reader = createBedrockFrameReader()
  return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()]
}

function replyOf(bytes: Uint8Array) {
  const reader = messages.upstream.createReader()
  return [...readFrames([bytes]).flatMap((frame) => reader.read(frame)), ...reader.end()]
}

describe('the stream of InvokeModelWithResponseStream', () => {
  test('contains the events of the Messages format', () => {
    expect(readFrames([stream])).toEqual(
      events.map((event) => ({ event: event.type, data: JSON.stringify(event) })),
    )
    expect(replyOf(stream)).toContainEqual({ type: 'reply-end' })
  })

  test('the frames do not depend on how the bytes are split', () => {
    const whole = readFrames([stream])
    for (let at = 1; at < stream.length; at++) {
      expect(readFrames([stream.subarray(0, at), stream.subarray(at)])).toEqual(whole)
    }
  })

  test('R33 a stream that is cut anywhere is never a complete reply', () => {
    for (let length = 0; length < stream.length; length += 7) {
      expect(replyOf(stream.subarray(0, length))).not.toContainEqual({ type: 'reply-end' })
    }
  })

  test.each([
    ['throttlingException', 'rate_limit_exceeded'],
    ['serviceUnavailableException', 'provider_overloaded'],
    ['modelTimeoutException', 'timeout'],
    ['modelStreamErrorException', 'provider_unavailable'],
    ['internalServerException', 'provider_unavailable'],
    ['validationException', 'invalid_request'],
  ])('%s is a failure of kind %s', (type, kind) => {
    const failure = expect.objectContaining({ kind, message: 'because' })
    expect(replyOf(encodeBedrockException(type, 'because'))).toContainEqual({ type: 'reply-error', failure })
  })

  test('an input that is too long has its own failure kind', () => {
    const failure = expect.objectContaining({ kind: 'context_length_exceeded' })
    const bytes = encodeBedrockException('validationException', 'Input is too long for requested model.')
    expect(replyOf(bytes)).toContainEqual({ type: 'reply-error', failure })
  })

  test('errors without a body and unknown events are tolerated', () => {
    const error = encodeEventMessage(
      { ':message-type': 'error', ':error-code': 'Oops', ':error-message': 'no' },
      '',
    )
    expect(replyOf(error)).toContainEqual(
      expect.objectContaining({ failure: expect.objectContaining({ message: 'no' }) }),
    )
    const unknown = encodeEventMessage({ ':message-type': 'event', ':event-type': 'metadata' }, 'not json')
    expect(readFrames([unknown])).toEqual([])
  })
})

describe('the stream of ConverseStream', () => {
  const events = [
    ['messageStart', { role: 'assistant' }],
    ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Grüße 🌍' } }],
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'end_turn' }],
    ['metadata', { usage: { inputTokens: 5, outputTokens: 9 } }],
  ] as const
  const bytes = Buffer.concat(events.map(encodeConverseEvent))

  function readReply(chunks: Uint8Array[]) {
    const frames = createConverseFrameReader()
    const reader = converse.upstream.createReader()
    const events = [...chunks.flatMap((chunk) => frames.push(chunk)), ...frames.end()]
    return collectReply([...events.flatMap((frame) => reader.read(frame)), ...reader.end()])
  }

  test('the reply does not depend on how the bytes are split', () => {
    for (let at = 0; at < bytes.length; at++) {
      const reply = readReply([bytes.subarray(0, at), bytes.subarray(at)])
      expect(reply).toMatchObject({
        isComplete: true,
        choices: [{ parts: [{ text: 'Grüße 🌍' }], end: { reason: 'stop' } }],
        usage: { input: 5, output: 9 },
      })
    }
  })

  test('R33 an exception or an error is a failure', () => {
    const begun = bytes.subarray(0, 0)
    const throttled = encodeBedrockException('throttlingException', 'because')
    expect(readReply([begun, throttled])).toMatchObject({
      isComplete: false,
      failure: { kind: 'rate_limit_exceeded', message: 'because' },
    })
    const error = encodeEventMessage(
      { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'no' },
      '',
    )
    expect(readReply([error])).toMatchObject({ isComplete: false, failure: { message: 'no' } })
  })
})
