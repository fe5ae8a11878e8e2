import { describe, expect, test } from 'bun:test'
import { gatewayError } from '../errors/gateway-error.ts'
import { createRoot, type RecordedSpan, SpanRecorder, withSpan } from './span-recorder.ts'

function openRecorder() {
  const exported: RecordedSpan[] = []
  const spans = new SpanRecorder(createRoot(null), {
    name: 'POST /x',
    attributes: {},
    clock: { now: () => 1_000_000 },
    startedAt: performance.now(),
    isPropagated: true,
    sink: { add: (_root, span) => exported.push(span) },
  })
  return { spans, exported, names: () => exported.map(({ name }) => name) }
}

describe('the spans of a request', () => {
  test('a stage returns what it returns, or fails as it fails', async () => {
    for (const request of [{ spans: null }, { spans: openRecorder().spans }]) {
      const result = {}
      const promise = Promise.resolve(result)
      expect(withSpan(request, 'sync', () => result)).toBe(result)
      expect(withSpan(request, 'async', () => promise)).toBe(promise)
      const error = gatewayError('no_provider')
      const fail = () => {
        throw error
      }
      expect(() => withSpan(request, 'sync', fail)).toThrow(error)
      expect(withSpan(request, 'async', async () => fail())).rejects.toBe(error)
    }
  })

  test('a failed stage has the code of its error, never its message', async () => {
    const { spans, exported } = openRecorder()
    const fail = (error: Error) => () => Promise.reject(error)
    await withSpan({ spans }, 'refused', fail(gatewayError('no_provider', 'secret'))).catch(() => undefined)
    await withSpan({ spans }, 'broken', fail(new Error('secret'))).catch(() => undefined)
    expect(exported.map(({ error }) => error)).toEqual(['no_provider', 'internal'])
  })

  test('the request ends with its response', () => {
    const { spans, names } = openRecorder()
    spans.begin('route')?.end()
    spans.respond(200)
    expect(names()).toEqual(['route', 'POST /x'])
  })

  test('what begins in a stage is below it, and a stage below the one it is in', async () => {
    const { spans, exported } = openRecorder()
    await withSpan({ spans }, 'plugins', async () => {
      await withSpan({ spans }, 'plugin web', async () => spans.begin('search')?.end())
      spans.begin('plugin last')?.end()
    })
    spans.begin('attempt')?.end()
    const parents = new Map(exported.map(({ spanId, name }) => [spanId, name]))
    expect(exported.map(({ name, parentSpanId }) => [name, parents.get(parentSpanId ?? '')])).toEqual([
      ['search', 'plugin web'],
      ['plugin web', 'plugins'],
      ['plugin last', 'plugins'],
      ['plugins', undefined],
      ['attempt', undefined],
    ])
  })

  test('a nested request is below its tool, in the same trace, and ends when it is closed', () => {
    const { spans, exported, names } = openRecorder()
    const tool = spans.begin('execute_tool advisor')
    const nested = spans.nest('chat', { purpose: 'advisor', eventTraceId: null }, tool)
    nested.begin('route')?.end()
    nested.rename('chat test/inner')
    nested.close()
    expect(names()).toEqual(['route', 'chat test/inner'])
    expect(nested.root).toMatchObject({ traceId: spans.root.traceId, parentSpanId: tool?.spanId })
    expect(exported.at(-1)).toMatchObject({ kind: 'client', spanId: nested.root.spanId })
    // The outer request was canceled: its event has the span that the nested one is below.
    expect(spans.listSpans()).toMatchObject([{ spanId: tool?.spanId, error: 'cancelled' }])
    tool?.end()
    expect(spans.listSpans()).toMatchObject([{ spanId: tool?.spanId, error: null }])
  })

  test('a streamed request ends after its stream and its last span', () => {
    const { spans, names } = openRecorder()
    spans.beginStream()
    spans.respond(200)
    spans.begin('attempt')?.end('timeout')
    const settle = spans.begin('settle')
    spans.endStream()
    expect(names()).toEqual(['attempt'])
    settle?.end()
    expect(names()).toEqual(['attempt', 'settle', 'POST /x'])
  })

  test('a span ends once, with the clock of the gateway', () => {
    const { spans, exported } = openRecorder()
    const span = spans.begin('route', { startedAt: performance.now() - 5 })
    span?.end()
    span?.end('timeout')
    expect(exported).toHaveLength(1)
    const [{ startedAt, endedAt } = { startedAt: 0, endedAt: 0 }] = exported
    expect(startedAt).toBeLessThan(1_000_000)
    expect(endedAt - startedAt).toBeGreaterThanOrEqual(5 - 1 / 64)
    expect(Number.isInteger((endedAt - startedAt) * 1e6)).toBe(true)
  })

  test('their number is bounded', () => {
    const { spans, names } = openRecorder()
    for (let index = 0; index < 1000; index++) spans.begin('attempt')?.end()
    spans.respond(200)
    expect(names()).toHaveLength(257)
  })

  test('a status of 500 or more is an error of the request', () => {
    for (const [status, error] of [
      [200, null],
      [404, null],
      [503, '503'],
    ] as const) {
      const { spans, exported } = openRecorder()
      spans.respond(status)
      expect(exported[0]).toMatchObject({ error, attributes: { 'http.response.status_code': status } })
    }
  })
})
