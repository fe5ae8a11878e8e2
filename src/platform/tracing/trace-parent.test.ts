import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  buildTraceHeaders,
  newSpanId,
  newTraceId,
  parseTraceParent,
  parseTraceState,
  readTraceContext,
} from './trace-parent.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

const accepted: [string, string, number][] = [
  ['version 00', `00-${traceId}-${spanId}-01`, 1],
  ['not sampled', `00-${traceId}-${spanId}-00`, 0],
  ['a random trace id', `00-${traceId}-${spanId}-03`, 3],
  ['unknown flags, which are cleared', `00-${traceId}-${spanId}-fd`, 1],
  ['a later version', `cc-${traceId}-${spanId}-01`, 1],
  ['a later version with more fields', `cc-${traceId}-${spanId}-01-what-the-future-will-be`, 1],
  ['a later version with an empty field', `01-${traceId}-${spanId}-01-`, 1],
]

const ignored: [string, string][] = [
  ['nothing', ''],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['version ff', `ff-${traceId}-${spanId}-01`],
  ['version 00 with more fields', `00-${traceId}-${spanId}-01-more`],
  ['version 00 with a dash at the end', `00-${traceId}-${spanId}-01-`],
  ['a later version with a longer flag', `cc-${traceId}-${spanId}-01.x`],
  ['upper case', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['a letter that is no digit', `00-${traceId.replace('0', 'g')}-${spanId}-01`],
  ['a short trace id', `00-${traceId.slice(1)}-${spanId}-01`],
  ['a long span id', `00-${traceId}-${spanId}0-01`],
  ['one digit of flags', `00-${traceId}-${spanId}-1`],
  ['no flags', `00-${traceId}-${spanId}`],
  ['two headers', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
  ['spaces', ` 00-${traceId}-${spanId}-01`],
]

describe('traceparent', () => {
  test.each(accepted)('%s is read', (_name, header, flags) => {
    expect(parseTraceParent(header)).toEqual({ traceId, spanId, flags })
  })

  test.each(ignored)('%s is ignored', (_name, header) => {
    expect(parseTraceParent(header)).toBeNull()
  })

  test('what is sent can be read, and new ids are valid', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3 }), (flags) => {
        const context = { traceId: newTraceId(), spanId: newSpanId(), flags, state: 'a=1' }
        const headers = new Headers(buildTraceHeaders(context, context.spanId))
        expect(readTraceContext(headers)).toEqual(context)
      }),
    )
  })

  test('no text fails', () => {
    const nearly = fc.string({ unit: fc.constantFrom(...'0123456789abcdef-gA '), maxLength: 60 })
    fc.assert(
      fc.property(fc.oneof(fc.string(), nearly), (text) => {
        const parent = parseTraceParent(text)
        if (parent) expect(text).toContain(`-${parent.traceId}-${parent.spanId}-`)
      }),
    )
  })
})

const long = (key: string, length: number) => `${key}=${'x'.repeat(length - key.length - 1)}`

describe('tracestate', () => {
  test.each([
    ['one member', 'congo=t61rcWkgMzE', 'congo=t61rcWkgMzE'],
    ['several, with spaces', ' a=1 ,\tb=2', 'a=1,b=2'],
    ['a tenant', 'fw529a3039@dt=FfffffQFj', 'fw529a3039@dt=FfffffQFj'],
    ['empty members', 'a=1,,b=2,', 'a=1,b=2'],
    [
      'long members go first when it is too long',
      [long('a', 200), long('b', 100), long('c', 250)].join(),
      long('b', 100),
    ],
    [
      'then the last ones',
      Array.from('abcdef', (key) => long(key, 100)).join(),
      Array.from('abcde', (key) => long(key, 100)).join(),
    ],
  ])('%s', (_name, text, passedOn) => {
    expect(parseTraceState(text)).toBe(passedOn)
  })

  test.each([
    ['nothing', ''],
    ['no value', 'a'],
    ['an empty value', 'a='],
    ['no key', '=1'],
    ['an upper-case key', 'A=1'],
    ['a repeated key', 'a=1,a=2'],
    ['a second equals sign', 'a=1=2'],
    ['not ASCII', 'a=é'],
    ['more than 32 members', Array.from({ length: 33 }, (_, index) => `k${index}=1`).join()],
  ])('%s is ignored', (_name, text) => {
    expect(parseTraceState(text)).toBeNull()
  })

  test('it is never longer than 512 characters', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 10, max: 255 }), { maxLength: 32 }), (lengths) => {
        const members = lengths.map((length, index) => long(`k${index}`, length))
        const state = parseTraceState(members.join(', '))
        expect(state?.length ?? 0).toBeLessThanOrEqual(512)
        for (const member of state?.split(',') ?? []) expect(members).toContain(member)
      }),
    )
  })

  test('an invalid one does not affect the trace', () => {
    const headers = new Headers({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'A=1' })
    expect(readTraceContext(headers)).toEqual({ traceId, spanId, flags: 1, state: null })
    expect(readTraceContext(new Headers({ tracestate: 'a=1' }))).toBeNull()
  })
})
