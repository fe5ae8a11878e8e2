import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { findPartialRejection } from './otlp.ts'

function encodeVarint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...encodeVarint(Math.floor(value / 128))]
}

/** ExportTraceServiceResponse with a partial success. */
function encodeResponse(rejected: number, message: string): Uint8Array {
  const text = [...Buffer.from(message)]
  const partial = [
    ...(rejected > 0 ? [0x08, ...encodeVarint(rejected)] : []),
    ...(message === '' ? [] : [0x12, ...encodeVarint(text.length), ...text]),
  ]
  return Uint8Array.from([0x0a, ...encodeVarint(partial.length), ...partial])
}

const find = (body: string) => findPartialRejection(Buffer.from(body))

test('a protobuf response rejects spans if it counts any, whatever its message', async () => {
  const counts = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 1e9 }))
  const messages = fc.oneof(
    fc.string({ maxLength: 20, unit: 'binary' }),
    fc.string({ minLength: 100, maxLength: 400, unit: 'binary' }),
  )
  await fc.assert(
    fc.asyncProperty(counts, messages, async (rejected, message) => {
      const rejection = await findPartialRejection(encodeResponse(rejected, message))
      expect(rejection !== undefined).toBe(rejected > 0)
    }),
  )
})

test('the message of a rejection is passed on, printable and short', async () => {
  expect(await findPartialRejection(encodeResponse(3, 'too\0old'))).toBe('Spans were rejected: too old')
  expect((await findPartialRejection(encodeResponse(300, 'x'.repeat(5000))))?.length).toBeLessThan(230)
  expect(await findPartialRejection(encodeResponse(3, ''))).toBe('Spans were rejected.')
})

test.each([
  ['{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}', 'Spans were rejected: too old'],
  ['{"partialSuccess":{"rejectedSpans":2}}', 'Spans were rejected.'],
  ['{"partialSuccess":{"rejectedSpans":2,"errorMessage":{"a":1}}}', 'Spans were rejected.'],
  ['{"partialSuccess":{"rejectedSpans":"0","errorMessage":"slow down"}}', undefined],
  ['{"partialSuccess":{}}', undefined],
  ['{"partialSuccess":null}', undefined],
  ['{}', undefined],
  ['', undefined],
])('the response %j', async (body, rejection) => {
  expect(await find(body)).toBe(rejection)
})

test.each(['{ not JSON', '\n', 'OK', '<html></html>'])('the response %j says nothing', async (body) => {
  expect(await find(body).catch(() => undefined)).toBeUndefined()
})

test("OpenTelemetry's encoder is loaded when the first event is encoded, and not before", () => {
  const program = `
    const { getDestination } = await import('./src/delivery/destinations/all.ts')
    const { newGenerationEvent } = await import('./test/support/generation-event.ts')
    const isLoaded = () => Object.keys(require.cache).some((path) => path.includes('otlp-transformer'))
    const before = isLoaded()
    await getDestination('ramp').exporter.encode({}, 'https://ramp.example', [newGenerationEvent()], 0)
    console.log(before, isLoaded())`
  const { stdout } = Bun.spawnSync([process.execPath, '--no-env-file', '-e', program])
  expect(stdout.toString().trim()).toBe('false true')
})
