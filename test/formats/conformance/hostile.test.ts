import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { wireFormats } from '../../../src/formats/all.ts'
import { collectReply } from '../../../src/formats/call/event.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../../src/formats/vocabulary.ts'
import { GatewayError } from '../../../src/platform/errors/gateway-error.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { vendorReply } from '../../support/replies.ts'
import { clientBodies } from './client-bodies.ts'
import { cost, createContext, decodeFrames, encodeStream, encodeWhole, parseFrames } from './round-trip.ts'
import { createTarget } from './targets.ts'

/** Values that throw when converted to a string or a number, and other unexpected values. */
const traps: readonly unknown[] = [
  { toString: 1 },
  { valueOf: 1, toString: null },
  [{ toString: 1 }],
  null,
  -1,
  '',
]

/** The same JSON with one of its values replaced by a trap. */
function* createVariants(body: JsonObject): Generator<JsonObject> {
  let count = 0
  JSON.stringify(body, (_, inner) => {
    count++
    return inner
  })
  for (let target = 1; target < count; target++) {
    for (const trap of traps) {
      let visited = 0
      yield JSON.parse(JSON.stringify(body, (_, inner) => (visited++ === target ? trap : inner)))
    }
  }
}

function expectNoCrash(run: () => unknown, input: unknown): void {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError && error.row.status === 400) return
    throw new Error(JSON.stringify(input), { cause: error })
  }
}

/** What was read once is written in every format. */
function expectNoCrashInAny(write: (to: GenerateWireFormat) => unknown, input: unknown): void {
  for (const to of generateWireFormats) expectNoCrash(() => write(to), input)
}

describe.each(generateWireFormats.map((from) => [from] as const))(
  'values of the wrong type anywhere: from %s to each format',
  (from) => {
    test('in a request', () => {
      for (const body of Object.values(clientBodies[from])) {
        for (const variant of createVariants(body)) {
          expectNoCrash(() => wireFormats[from].passthrough.passRequest(variant, createTarget(from)), variant)
          expectNoCrash(() => {
            const call = wireFormats[from].client.decodeRequest(variant)
            expectNoCrashInAny(
              (to) => wireFormats[to].upstream.encodeRequest(call, createTarget(to)),
              variant,
            )
          }, variant)
        }
      }
    })

    test('in a whole reply', () => {
      for (const variant of createVariants(vendorReply(from, 'reasoningToolCall').body)) {
        expectNoCrash(() => {
          const events = wireFormats[from].upstream.decodeReply(variant)
          expectNoCrashInAny((to) => encodeWhole(to, events), variant)
          expectNoCrashInAny((to) => encodeStream(to, events), variant)
        }, variant)
      }
    })

    test('in an event of a stream', () => {
      const frames = parseFrames(vendorReply(from, 'reasoningToolCall').frames.join(''))
      frames.forEach((frame, index) => {
        if (frame.data === '[DONE]') return
        for (const value of createVariants(JSON.parse(frame.data))) {
          const variantFrames = frames.with(index, { ...frame, data: JSON.stringify(value) })
          expectNoCrash(() => {
            const events = decodeFrames(from, variantFrames)
            expectNoCrashInAny((to) => encodeStream(to, events), value)
          }, value)
        }
      })
    })
  },
)

describe.each(generateWireFormats.map((name) => [name] as const))(
  'values of the wrong type in %s',
  (name) => {
    test('are passed to a client of the same format', () => {
      const { body, frames } = vendorReply(name, 'reasoningToolCall')
      for (const variant of createVariants(body)) {
        const usage = collectReply(wireFormats[name].upstream.decodeReply(variant)).usage
        if (usage)
          expectNoCrash(
            () => wireFormats[name].passthrough.passReply(variant, createContext(), cost, usage),
            variant,
          )
        expectNoCrash(() => wireFormats[name].passthrough.summarizeReply?.(variant), variant)
      }
      const parsed = parseFrames(frames.join(''))
      parsed.forEach((frame, index) => {
        if (frame.data === '[DONE]') return
        for (const value of createVariants(JSON.parse(frame.data))) {
          const relay = wireFormats[name].passthrough.createRelay(createContext())
          const variantFrames = parsed.with(index, { ...frame, data: JSON.stringify(value) })
          expectNoCrash(() => variantFrames.map((variantFrame) => relay.pass(variantFrame)), value)
        }
      })
    })

    test('in an error are accepted', () => {
      const errorBody = {
        error: { message: 'No.', code: 'bad', loc: ['a', 1], details: [{ msg: 'x', loc: ['b'] }] },
      }
      for (const variant of createVariants({ ...errorBody, detail: [{ loc: ['body', 0], msg: 'wrong' }] })) {
        expect(typeof wireFormats[name].upstream.decodeError(400, variant).message).toBe('string')
      }
      fc.assert(
        fc.property(fc.jsonValue({ maxDepth: 4 }), (body) => {
          wireFormats[name].upstream.decodeError(500, body)
        }),
      )
    })
  },
)

test('reasoning of an unknown type from a chat client does not fail a request', () => {
  const message = { role: 'assistant', content: 'x', reasoning_details: [{ type: { toString: 1 } }] }
  const call = wireFormats.chat.client.decodeRequest({ messages: [message] })
  for (const name of generateWireFormats) wireFormats[name].upstream.encodeRequest(call, createTarget(name))
})
