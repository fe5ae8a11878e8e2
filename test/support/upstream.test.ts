import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { type SseFrame, SseReader } from '../../src/platform/http/sse.ts'
import { longScenario, scenarios, textWireFormats, vendorReplies, vendorReply } from './replies.ts'
import { startUpstream, type Upstream, type UpstreamResponse } from './upstream.ts'

let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
})
afterAll(() => upstream.stop())

const post = (path: string, body: unknown = {}, signal?: AbortSignal) =>
  fetch(upstream.url + path, { method: 'POST', body: JSON.stringify(body), ...(signal ? { signal } : {}) })

async function sendWith(scripted: UpstreamResponse) {
  upstream.enqueue(scripted)
  const count = upstream.requests.length + 1
  const response = post('/v1/chat/completions')
  const received = (await upstream.waitForRequests(count))[count - 1]!
  return { response, received }
}

/** The bytes that arrive before the connection ends or breaks. */
async function bytesOf(response: Response): Promise<{ bytes: Buffer; broken: boolean; reads: number }> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of response.body!) chunks.push(chunk)
    return { bytes: Buffer.concat(chunks), broken: false, reads: chunks.length }
  } catch {
    return { bytes: Buffer.concat(chunks), broken: true, reads: chunks.length }
  }
}

/** The bytes on the wire before a break: `fetch` drops what arrives together with it. */
async function rawPost(path: string): Promise<{ body: Buffer; reset: boolean }> {
  const { port, hostname } = new URL(upstream.url)
  const chunks: Buffer[] = []
  let reset = false
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`POST ${path} HTTP/1.1\r\nhost: upstream\r\ncontent-length: 2\r\n\r\n{}`)
    })
    socket.on('data', (data) => void chunks.push(Buffer.from(data)))
    socket.on('error', () => {
      reset = true
    })
    socket.on('close', () => resolve())
  })
  const [, ...rest] = Buffer.concat(chunks).toString('latin1').split('\r\n\r\n')
  const chunked = rest.join('\r\n\r\n')
  return { body: Buffer.from(chunked.replace(/^[0-9a-f]+\r\n/, '').replace(/\r\n$/, ''), 'latin1'), reset }
}

function framesOf(text: string): SseFrame[] {
  const reader = new SseReader()
  return [...reader.push(Buffer.from(text)), ...reader.end()]
}

describe('the upstream for tests', () => {
  test('records requests and replies in the wire format of the path', async () => {
    const start = upstream.requests.length
    const paths = [
      '/v1/chat/completions',
      '/v1/responses',
      '/v1/messages',
      '/v1beta/models/m:generateContent',
    ]
    for (const path of paths) expect((await post(path, { model: 'm' })).status).toBe(200)
    expect(upstream.requests.slice(start).map(({ path }) => path)).toEqual(paths)
    expect(upstream.requests[start]).toMatchObject({ method: 'POST', json: { model: 'm' } })
    expect(await upstream.requests[start]!.done).toMatchObject({ status: 200, complete: true })
    expect((await post('/elsewhere')).status).toBe(404)
  })

  test('streams on request, in chunks with the same content', async () => {
    const { frames } = vendorReply('chat', 'text')
    const plain = await (await post('/chat/completions', { stream: true })).text()
    expect(plain).toBe(frames.join(''))
    const { response, received } = await sendWith({ sse: frames, splitBytes: 61, delayMs: 1 })
    const { bytes, reads } = await bytesOf(await response)
    expect(bytes.toString()).toBe(frames.join(''))
    expect(reads).toBeGreaterThan(10)
    expect((await received.done).bodyBytes).toBe(bytes.length)
  })

  test('queued responses serve one request each, some for one path only', async () => {
    upstream.enqueueFor('/messages', {
      status: 529,
      headers: { 'retry-after': '3' },
      json: { type: 'error' },
    })
    upstream.enqueue({ status: 429, json: { error: {} } })
    expect((await post('/chat/completions')).status).toBe(429)
    expect((await post('/chat/completions')).status).toBe(200)
    const overloaded = await post('/messages')
    expect([overloaded.status, overloaded.headers.get('retry-after')]).toEqual([529, '3'])
  })

  test('breaks a stream at exactly the given byte', async () => {
    const { frames } = vendorReply('chat', 'text')
    const whole = Buffer.from(frames.join(''))
    for (const breakWith of ['reset', 'close'] as const) {
      for (const breakAfterBytes of [0, 1, 333, whole.length - 1, whole.length]) {
        upstream.enqueue({ sse: frames, breakAfterBytes, breakWith, splitBytes: 100_000 })
        const { body, reset } = await rawPost('/chat/completions')
        const received = upstream.requests.at(-1)!
        expect({ breakAfterBytes, reset, length: body.length }).toEqual({
          breakAfterBytes,
          reset: breakWith === 'reset',
          length: breakAfterBytes,
        })
        expect(await received.done).toMatchObject({ complete: false, closedByPeerAt: null })
      }
    }
  })

  test('breaks a whole reply, and a connection without a response', async () => {
    const half = await sendWith({ json: { some: 'body' }, breakAfterBytes: 5 })
    expect((await bytesOf(await half.response)).broken).toBe(true)
    const none = await sendWith({ breakBeforeHead: true })
    expect(await none.response.then(String, () => 'broken')).toBe('broken')
  })

  test('hangs until the peer gives up, and knows when it did', async () => {
    const abort = new AbortController()
    upstream.enqueue({ sse: ['data: {}\n\n'], hang: true })
    const count = upstream.requests.length + 1
    const response = await post('/chat/completions', {}, abort.signal)
    const reader = response.body!.getReader()
    await reader.read()
    const before = Date.now()
    abort.abort()
    await reader.read().catch(() => undefined)
    const outcome = await (await upstream.waitForRequests(count))[count - 1]!.done
    expect(outcome).toMatchObject({ status: 200, complete: false })
    expect(outcome.closedByPeerAt).toBeGreaterThanOrEqual(before)
  })

  test('ends without the last frame as if all were well', async () => {
    const { response } = await sendWith({ sse: ['data: 1\n\n', 'data: [DONE]\n\n'], endWithoutDone: true })
    expect(await bytesOf(await response)).toMatchObject({ broken: false, bytes: Buffer.from('data: 1\n\n') })
  })
})

describe('the replies for tests', () => {
  for (const wireFormat of textWireFormats) {
    test(`${wireFormat}: streamed and whole have the same content`, () => {
      for (const scenario of [...Object.values(scenarios), longScenario(200)]) {
        const { frames, body } = vendorReplies[wireFormat](scenario)
        const read = framesOf(frames.join(''))
        expect(read).toHaveLength(frames.length)
        const events = read.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data))
        expect(textIn(events)).toBe(scenario.text)
        expect(JSON.stringify(body)).toContain(JSON.stringify(scenario.text).slice(1, -1))
      }
    })
  }
})

/** The text of the reply in the events of any of the four formats. */
// biome-ignore lint/suspicious/noExplicitAny: events of four formats
function textIn(events: any[]): string {
  return events
    .map((event) => {
      if (event.type === 'response.output_text.delta') return event.delta
      if (event.type === 'content_block_delta') return event.delta.text ?? ''
      const [part] = event.candidates?.[0]?.content.parts ?? []
      return event.choices?.[0]?.delta.content ?? (part && !part.thought ? (part.text ?? '') : '')
    })
    .join('')
}
