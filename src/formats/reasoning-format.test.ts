import { describe, expect, test } from 'bun:test'
import { createTarget } from '../../test/formats/conformance/targets.ts'
import { cost, createContext, parseFrames, toFrames } from '../../test/formats/fixtures/chat.ts'
import { wireFormats } from './all.ts'
import { collectReply, type ReplyEvent } from './call/event.ts'
import { zeroUsage } from './call/usage.ts'
import { decodeReasoningFormat, type FormatNames } from './reasoning-format.ts'

const names = [
  ['anthropic-claude-v1', 'vendor_a-v1'],
  ['google-gemini-v1', 'vendor_c-v1'],
  ['openai-responses-v1', 'vendor_b-responses-v1'],
  ['xai-responses-v1', 'vendor_d-responses-v1'],
] as const

describe.each(names)('R29 reasoning with the format name %s', (name, format) => {
  test('is decoded from a chat history', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'encrypted', id: 'r1', format: name, index: 0 }]
    const message = { role: 'assistant', content: 'x', reasoning_details: details }
    const [request] = wireFormats.chat.client.decodeRequest({ messages: [message] }).messages
    expect(request?.parts[0]).toMatchObject({ kind: 'reasoning', id: 'r1', format })
  })

  test('is decoded from a Responses history, and passes to its own vendor only', () => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'encrypted', format: name }
    const body = { input: [item] }
    const [request] = wireFormats.responses.client.decodeRequest(body).messages
    expect(request?.parts[0]).toMatchObject({ kind: 'reasoning', id: 'rs_1', encrypted: 'encrypted', format })
    const own = wireFormats.responses.passthrough.passRequest(
      body,
      createTarget('responses', { signatureFormat: format }),
    )
    expect(own.body.input).toMatchObject([{ id: 'rs_1', encrypted_content: 'encrypted' }])
    expect(own.dropped).toEqual([])
    const foreign = wireFormats.responses.passthrough.passRequest(
      body,
      createTarget('responses', { signatureFormat: 'unknown' }),
    )
    expect(foreign).toMatchObject({ body: { input: [] }, dropped: ['reasoning_signature'] })
  })
})

describe.each(names)('R29 signed reasoning in a reply, with the format name %s', (sdkName, format) => {
  const events: ReplyEvent[] = [
    { type: 'reply-start' },
    { type: 'part-start', choice: 0, part: 0, content: { kind: 'reasoning', text: '', summary: [], format } },
    { type: 'part-delta', choice: 0, part: 0, delta: { text: 'Hm.' } },
    { type: 'part-delta', choice: 0, part: 0, delta: { signature: 'encrypted' } },
    { type: 'part-end', choice: 0, part: 0 },
    { type: 'choice-end', choice: 0, reason: 'stop', native: null },
    { type: 'reply-end' },
  ]
  const encode = (wireFormat: 'chat' | 'responses', formatNames?: FormatNames) => {
    const context = { ...createContext(), ...(formatNames && { formatNames }) }
    const writer = wireFormats[wireFormat].client.createWriter(context)
    const stream = events.map((event) => writer.write(event)).join('') + writer.end(zeroUsage, cost)
    const whole = wireFormats[wireFormat].client.encodeReply(collectReply(events), context, cost)
    return { stream, whole: JSON.stringify(whole) }
  }

  test.each(['chat', 'responses'] as const)('%s uses the names of the SDKs', (wireFormat) => {
    const { stream, whole } = encode(wireFormat)
    for (const text of [stream, whole]) {
      expect(text).toContain(`"format":"${sdkName}"`)
      expect(text).not.toContain(`"format":"${format}"`)
    }
  })

  test.each(['chat', 'responses'] as const)('%s uses neutral names on request', (wireFormat) => {
    const { stream, whole } = encode(wireFormat, 'neutral')
    for (const text of [stream, whole]) {
      expect(text).toContain(`"format":"${format}"`)
      expect(text).not.toContain(sdkName)
    }
  })

  test('a relayed chat reply has the requested names', () => {
    const details = [
      { type: 'reasoning.text', text: 'Hm.', signature: 'encrypted', format: sdkName, index: 0 },
    ]
    const message = { role: 'assistant', content: 'Hi', reasoning_details: details }
    const chunk = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: null }] })
    for (const [formatNames, shown] of [
      ['sdk', sdkName],
      ['neutral', format],
    ] as const) {
      const context = { ...createContext(), formatNames }
      const body = { choices: [{ index: 0, message, finish_reason: 'stop' }] }
      const whole = wireFormats.chat.passthrough.passReply(body, context, cost, zeroUsage)
      expect(whole).toMatchObject({ choices: [{ message: { reasoning_details: [{ format: shown }] } }] })
      const relay = wireFormats.chat.passthrough.createRelay(context)
      const frames = toFrames([chunk({ content: 'a' }), chunk({ content: 'b' }), chunk(message)])
      const passed = parseFrames(frames.map((frame) => relay.pass(frame)).join(''))
      expect(passed.at(-1)?.data).toContain(`"format":"${shown}"`)
    }
  })
})

test.each([['constructor'], [{ toString: 1 }], [null], [undefined]])('%j is not a format', (name) => {
  expect(decodeReasoningFormat(name)).toBeUndefined()
})
