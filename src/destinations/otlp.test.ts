import { expect, test } from 'bun:test'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
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

test('a protobuf response rejects spans exactly where OpenTelemetry reads that it does', () => {
  const counts = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 1e9 }))
  const messages = fc.oneof(fc.string({ maxLength: 20 }), fc.string({ minLength: 100, maxLength: 400 }))
  fc.assert(
    fc.property(counts, messages, (rejected, message) => {
      const bytes = encodeResponse(rejected, message)
      const { partialSuccess } = ProtobufTraceSerializer.deserializeResponse(bytes)
      const isRejected = (partialSuccess?.rejectedSpans ?? 0) > 0
      expect(findPartialRejection(new TextDecoder().decode(bytes)) !== undefined).toBe(isRejected)
    }),
  )
})

test('the message of a rejection is passed on, printable and short', () => {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
  expect(findPartialRejection(decode(encodeResponse(3, 'too old')))).toBe('Spans were rejected: too old')
  expect(findPartialRejection(decode(encodeResponse(300, 'x'.repeat(5000))))?.length).toBeLessThan(230)
  expect(findPartialRejection(decode(encodeResponse(3, '')))).toBe('Spans were rejected.')
})

test.each([
  ['{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}', 'Spans were rejected: too old'],
  ['{"partialSuccess":{"rejectedSpans":2}}', 'Spans were rejected.'],
  ['{"partialSuccess":{"rejectedSpans":"0","errorMessage":"slow down"}}', undefined],
  ['{"partialSuccess":{}}', undefined],
  ['{"partialSuccess":null}', undefined],
  ['{}', undefined],
  ['{ not JSON', undefined],
  ['', undefined],
  ['\n', undefined],
  ['OK', undefined],
  ['<html></html>', undefined],
])('the response %j', (body, rejection) => {
  expect(findPartialRejection(body)).toBe(rejection)
  if (body.startsWith('{"')) {
    const { partialSuccess } = JsonTraceSerializer.deserializeResponse(Buffer.from(body))
    expect(Number(partialSuccess?.rejectedSpans ?? 0) > 0).toBe(rejection !== undefined)
  }
})

test("OpenTelemetry's encoder is loaded when the first event is encoded, and not before", () => {
  const program = `
    const { getDestination } = await import('./src/destinations/all.ts')
    const { newGenerationEvent } = await import('./test/support/generation-event.ts')
    const isLoaded = () => Object.keys(require.cache).some((path) => path.includes('otlp-transformer'))
    const before = isLoaded()
    await getDestination('ramp').exporter.encode({}, 'https://ramp.example', [newGenerationEvent()], 0)
    console.log(before, isLoaded())`
  const { stdout } = Bun.spawnSync([process.execPath, '--no-env-file', '-e', program])
  expect(stdout.toString().trim()).toBe('false true')
})
