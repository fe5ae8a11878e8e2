import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { vendorReply } from '../../../test/support/replies.ts'
import { collectReply } from '../../call/event.ts'
import { type GenerateDialect, generateDialects } from '../../catalogue/vocabulary.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { dialects } from '../all.ts'
import { clientBodies } from './client-bodies.ts'
import { cost, createContext, decodeFrames, encodeStream, encodeWhole, parseFrames } from './round-trip.ts'
import { createTarget } from './targets.ts'

const pairs = generateDialects.flatMap((one) => generateDialects.map((other) => [one, other] as const))

/** What throws when it is taken for a text or a number, and other surprises. */
const traps: readonly unknown[] = [
  { toString: 1 },
  { valueOf: 1, toString: null },
  [{ toString: 1 }],
  null,
  -1,
  '',
]

/** The same JSON with a trap in the place of one of its values. */
function* trapped(value: JsonObject): Generator<JsonObject> {
  let count = 0
  JSON.stringify(value, (_, inner) => {
    count++
    return inner
  })
  for (let at = 1; at < count; at++) {
    for (const trap of traps) {
      let summary = 0
      yield JSON.parse(JSON.stringify(value, (_, inner) => (summary++ === at ? trap : inner)))
    }
  }
}

function expectNoCrash(run: () => unknown, what: unknown): void {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError && error.row.status === 400) return
    throw new Error(JSON.stringify(what), { cause: error })
  }
}

describe.each(pairs)('values of the wrong kind anywhere: from %s to %s', (from, to) => {
  test('in a request', () => {
    for (const body of Object.values(clientBodies[from])) {
      for (const given of trapped(body)) expectNoCrash(() => carried(given, from, to), given)
    }
  })

  test('in a whole reply', () => {
    for (const given of trapped(vendorReply(from, 'reasoningToolCall').body)) {
      expectNoCrash(() => {
        const events = dialects[from].upstream.decodeReply(given)
        encodeWhole(to, events)
        encodeStream(to, events)
      }, given)
    }
  })

  test('in an event of a stream', () => {
    const frames = parseFrames(vendorReply(from, 'reasoningToolCall').frames.join(''))
    frames.forEach((frame, at) => {
      if (frame.data === '[DONE]') return
      for (const odd of trapped(JSON.parse(frame.data))) {
        const given = frames.with(at, { ...frame, data: JSON.stringify(odd) })
        expectNoCrash(() => encodeStream(to, decodeFrames(from, given)), odd)
      }
    })
  })
})

function carried(body: JsonObject, from: GenerateDialect, to: GenerateDialect): void {
  const target = createTarget(to)
  if (from === to) dialects[from].passthrough.passRequest(body, target)
  dialects[to].upstream.encodeRequest(dialects[from].client.decodeRequest(body), target)
}

describe.each(generateDialects.map((name) => [name] as const))('values of the wrong kind in %s', (name) => {
  test('pass to a client of the same format', () => {
    const { body, frames } = vendorReply(name, 'reasoningToolCall')
    for (const given of trapped(body)) {
      const usage = collectReply(dialects[name].upstream.decodeReply(given)).usage
      if (usage)
        expectNoCrash(() => dialects[name].passthrough.passReply(given, createContext(), cost, usage), given)
      expectNoCrash(() => dialects[name].passthrough.summarizeReply?.(given), given)
    }
    const parsed = parseFrames(frames.join(''))
    parsed.forEach((frame, at) => {
      if (frame.data === '[DONE]') return
      for (const odd of trapped(JSON.parse(frame.data))) {
        const relay = dialects[name].passthrough.createRelay(createContext())
        const given = parsed.with(at, { ...frame, data: JSON.stringify(odd) })
        expectNoCrash(() => given.map((one) => relay.pass(one)), odd)
      }
    })
  })

  test('in an error are read', () => {
    const told = {
      error: { message: 'No.', code: 'bad', loc: ['a', 1], details: [{ msg: 'x', loc: ['b'] }] },
    }
    for (const given of trapped({ ...told, detail: [{ loc: ['body', 0], msg: 'wrong' }] })) {
      expect(typeof dialects[name].upstream.decodeError(400, given).message).toBe('string')
    }
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (body) => {
        dialects[name].upstream.decodeError(500, body)
      }),
    )
  })
})

test('thinking of an unknown kind from a client of chat does not stop a request', () => {
  const message = { role: 'assistant', content: 'x', reasoning_details: [{ type: { toString: 1 } }] }
  const call = dialects.chat.client.decodeRequest({ messages: [message] })
  for (const name of generateDialects) dialects[name].upstream.encodeRequest(call, createTarget(name))
})
