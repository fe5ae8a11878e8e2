import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { createRoot, SpanRecorder } from '../../platform/tracing/span-recorder.ts'
import { readTraceContext } from '../../platform/tracing/trace-parent.ts'
import { buildEventTrace, deriveTrace, limitUser } from './event-trace.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`

function build(body: JsonObject, headers: Record<string, string> = {}) {
  const httpRequest = new Request('http://127.0.0.1/', { headers })
  const root = createRoot(readTraceContext(httpRequest.headers))
  const clock = { now: () => 1_000_000 }
  const options = {
    name: '',
    attributes: {},
    clock,
    startedAt: performance.now(),
    isPropagated: true,
    sink: null,
  }
  const spans = new SpanRecorder(root, options)
  return { trace: buildEventTrace({ id: 'gen-1', httpRequest, content: { body }, spans }), spans }
}

describe('the trace of an event', () => {
  test('a request without a trace begins a new one', () => {
    const [first, second] = [build({}).trace, build({}).trace]
    expect(first.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(first.spanId).toMatch(/^[0-9a-f]{16}$/)
    expect(first.parentSpanId).toBeNull()
    expect(first.traceId).not.toBe(second.traceId)
    expect(first).toMatchObject({ traceName: null, spanName: null, generationName: null, metadata: {} })
  })

  test('traceparent is continued', () => {
    expect(build({}, { traceparent }).trace).toMatchObject({ traceId, parentSpanId: spanId })
  })

  test('the body wins over the header', () => {
    const other = 'a'.repeat(32)
    const { trace } = build({ trace: { trace_id: other.toUpperCase() } }, { traceparent })
    expect(trace).toMatchObject({ traceId: other, parentSpanId: null })
    const sameTrace = build({ trace: { trace_id: traceId } }, { traceparent }).trace
    expect(sameTrace.parentSpanId).toBe(spanId)
    const parent = build({ trace: { parent_span_id: 'c'.repeat(16) } }, { traceparent }).trace
    expect(parent).toMatchObject({ traceId, parentSpanId: 'c'.repeat(16) })
  })

  test('ids of another form are hashed: requests with the same id are in one trace', () => {
    const trace = { trace_id: 'my conversation', parent_span_id: 'my span' }
    const [first, second] = [build({ trace }).trace, build({ trace }).trace]
    expect(first.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(first.parentSpanId).toMatch(/^[0-9a-f]{16}$/)
    expect([second.traceId, second.parentSpanId]).toEqual([first.traceId, first.parentSpanId])
    expect(second.spanId).not.toBe(first.spanId)
    expect(build({ trace: { trace_id: '0'.repeat(32) } }).trace.traceId).not.toBe('0'.repeat(32))
  })

  test('names and metadata are bounded and can be stored', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`key${index}`, index]))
    const { trace } = build({
      trace: {
        trace_name: `a\0b${'x'.repeat(1000)}`,
        span_name: 'span',
        generation_name: '\ud800',
        text: 'y'.repeat(5000),
        nested: { a: [1] },
        huge: { text: 'z'.repeat(5000) },
        ...many,
      },
    })
    expect(trace.traceName).toHaveLength(255)
    expect(trace.traceName).not.toContain('\0')
    expect([trace.spanName, trace.generationName]).toEqual(['span', '\ufffd'])
    expect(trace.metadata.text).toHaveLength(1024)
    expect(trace.metadata.nested).toEqual({ a: [1] })
    expect(trace.metadata.huge).toBeUndefined()
    expect(Object.keys(trace.metadata).length).toBeLessThanOrEqual(64)
  })

  test('a body without a trace object has no names', () => {
    for (const trace of ['text', 7, null, []]) expect(build({ trace }).trace.traceName).toBeNull()
  })

  test('the spans that have ended are its children', () => {
    const { spans } = build({})
    spans.begin('route')?.end()
    spans.begin('attempt one')?.end('rate_limited')
    spans.begin('attempt two')
    const httpRequest = new Request('http://127.0.0.1/')
    const { spanId: root, spans: recorded } = buildEventTrace({
      id: 'gen-1',
      httpRequest,
      content: { body: {} },
      spans,
    })
    expect(recorded).toMatchObject([
      { name: 'route', parentSpanId: root, error: null },
      { name: 'attempt one', parentSpanId: root, error: 'rate_limited' },
    ])
  })

  test('without a recorder the ids follow from the generation', () => {
    const httpRequest = new Request('http://127.0.0.1/')
    const buildOnce = () => buildEventTrace({ id: 'gen-1', httpRequest, content: { body: {} }, spans: null })
    expect(buildOnce()).toEqual(deriveTrace('gen-1'))
    expect(buildOnce().traceId).toMatch(/^[0-9a-f]{32}$/)
  })

  test('the user has at most 128 characters', () => {
    expect(limitUser('u'.repeat(256))).toHaveLength(128)
    expect(limitUser(null)).toBeNull()
  })
})
