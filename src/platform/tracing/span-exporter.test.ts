import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { pino } from 'pino'
import { type OtlpReceiver, startOtlpReceiver } from '../../../test/support/otlp-receiver.ts'
import { loadOtlpEncoder, type OtlpEncoder } from './otlp-encoder.ts'
import { SpanExporter } from './span-exporter.ts'
import { createRoot, type RecordedSpan } from './span-recorder.ts'

const root = createRoot(null)
const span = (name: string): RecordedSpan => ({
  spanId: 'b7ad6b7169203331',
  parentSpanId: null,
  name,
  kind: 'internal',
  startedAt: 1_700_000_000_000.25,
  endedAt: 1_700_000_000_001.5,
  attributes: { text: 'a', number: 1.5, count: 3, flag: true },
  error: null,
})

describe('the export of spans', () => {
  let receiver: OtlpReceiver
  beforeEach(() => {
    receiver = startOtlpReceiver()
  })
  afterEach(() => receiver.stop())

  async function openExporter(
    endpoint = receiver.url,
    adapt: (encoder: OtlpEncoder) => OtlpEncoder = (encoder) => encoder,
  ) {
    const sampler = { isParentBased: true, ratio: 1 }
    const config = { endpoint, headers: {}, protocol: 'http/protobuf' as const, serviceName: 'test', sampler }
    return new SpanExporter(config, adapt(await loadOtlpEncoder(config)), pino({ level: 'silent' }))
  }

  test('keeps times and attributes', async () => {
    const exporter = await openExporter()
    exporter.add(root, span('one'))
    exporter.add(root, { ...span('two'), error: 'timeout' })
    await exporter.close()
    expect(receiver.spans).toMatchObject([
      {
        traceId: root.traceId,
        name: 'one',
        start: 1_700_000_000_000_250_000n,
        end: 1_700_000_000_001_500_000n,
        attributes: { text: 'a', number: 1.5, count: 3, flag: true },
        code: 0,
      },
      { name: 'two', code: 2, attributes: { 'error.type': 'timeout' } },
    ])
    expect([exporter.exportedCount, exporter.droppedCount]).toEqual([2, 0])
  })

  test('sends many spans in batches, each once', async () => {
    const exporter = await openExporter()
    for (let index = 0; index < 1000; index++) exporter.add(root, span(`span ${index}`))
    await exporter.flush()
    await exporter.close()
    expect(new Set(receiver.spans.map(({ name }) => name)).size).toBe(1000)
    expect(receiver.requests.length).toBeGreaterThan(3)
  })

  test('drops and counts what does not fit into the queue', async () => {
    receiver.statuses.push(...Array(100).fill(400))
    const exporter = await openExporter()
    for (let index = 0; index < 10_000; index++) exporter.add(root, span('many'))
    expect(exporter.droppedCount).toBeGreaterThan(1000)
    await exporter.flush()
    expect([exporter.exportedCount, exporter.droppedCount]).toEqual([0, 10_000])
    await exporter.close()
  })

  test('retries when the receiver is busy, but not when it refuses', async () => {
    const exporter = await openExporter()
    receiver.statuses.push(503, 400)
    exporter.add(root, span('busy'))
    await exporter.flush()
    expect([exporter.exportedCount, exporter.droppedCount]).toEqual([0, 1])
    expect(receiver.requests).toHaveLength(2)
    receiver.statuses.push(503)
    exporter.add(root, span('busy again'))
    await exporter.flush()
    expect(receiver.spans.map(({ name }) => name)).toEqual(['busy again'])
    await exporter.close()
  })

  test('an unreachable receiver and an encoder that fails cost only the spans', async () => {
    await receiver.stop()
    const unreachable = await openExporter()
    unreachable.add(root, span('lost'))
    await unreachable.close()
    expect([unreachable.exportedCount, unreachable.droppedCount]).toEqual([0, 1])
    const broken = await openExporter(receiver.url, (encoder) => ({
      ...encoder,
      encode: () => {
        throw new Error('broken')
      },
    }))
    broken.add(root, span('lost'))
    await broken.close()
    expect(broken.droppedCount).toBe(1)
  })

  test('after closing, spans are dropped', async () => {
    const exporter = await openExporter()
    await exporter.close()
    exporter.add(root, span('late'))
    await exporter.flush()
    expect([exporter.droppedCount, receiver.requests.length]).toEqual([1, 0])
  })
})
