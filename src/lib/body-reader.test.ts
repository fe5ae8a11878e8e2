import { describe, expect, test } from 'bun:test'
import { GatewayError } from '../errors/gateway-error.ts'
import { readBodyChunks, readBodyText } from './body-reader.ts'

const pace = { idle: 10_000, bytesPerSecond: 1 }
const limits = { maxBytes: 1_000_000, pace }

function requestOf(chunks: Uint8Array[]): Request {
  const left = [...chunks]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift()
      if (next) controller.enqueue(next)
      else controller.close()
    },
  })
  return new Request('http://localhost/', { method: 'POST', body })
}

function wholeRequest(bytes: Uint8Array): Request {
  const headers = { 'content-length': String(bytes.length) }
  return new Request('http://localhost/', { method: 'POST', headers, body: bytes })
}

/** Sends one byte at a time, and never ends. */
function drip(everyMs: number): Request {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(everyMs)
      controller.enqueue(new Uint8Array([0x20]))
    },
  })
  return new Request('http://localhost/', { method: 'POST', body })
}

function captureError(work: Promise<unknown>): Promise<GatewayError> {
  return work.then(
    () => Promise.reject(new Error('nothing was rejected')),
    (error: unknown) => (error instanceof GatewayError ? error : Promise.reject(error)),
  )
}

describe('the text of a body', () => {
  const bytes = Buffer.from('{"ä":"日本語 🙂"}')

  test('is the same whether it arrives at once or byte by byte', async () => {
    expect(await readBodyText(wholeRequest(bytes), limits)).toBe(bytes.toString())
    const single = [...bytes].map((byte) => new Uint8Array([byte]))
    expect(await readBodyText(requestOf(single), limits)).toBe(bytes.toString())
  })

  test('is rejected if it is not UTF-8, and never has replacement characters', async () => {
    const broken = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff]), Buffer.from('"}')])
    const cut = bytes.subarray(0, 3)
    for (const request of [wholeRequest(broken), requestOf([broken.subarray(0, 5), broken.subarray(5)])]) {
      const error = await captureError(readBodyText(request, limits))
      expect(error.message).toBe('The request body is not valid UTF-8 near byte 9.')
      expect(error.row.status).toBe(400)
    }
    expect((await captureError(readBodyText(requestOf([cut]), limits))).message).toContain('not valid UTF-8')
    const replaced = '{"name":"\ufffd"}'
    expect(await readBodyText(wholeRequest(Buffer.from(replaced)), limits)).toBe(replaced)
  })

  test('S13 is rejected while it arrives', async () => {
    const inspected: string[] = []
    const inspect = (text: string) => {
      inspected.push(text)
      if (inspected.length === 2) throw new GatewayError('malformed_json')
    }
    const request = requestOf(['a', 'b', 'c', 'd'].map((text) => Buffer.from(text)))
    await captureError(readBodyText(request, limits, inspect))
    expect(inspected).toEqual(['a', 'b'])
  })
})

describe('S13 a body that arrives too slowly', () => {
  test('is rejected even without a long pause', async () => {
    const slow = { maxBytes: 1_000_000, pace: { idle: 200, bytesPerSecond: 1000 } }
    const error = await captureError(readBodyText(drip(20), slow))
    expect([error.row.status, error.headers.connection]).toEqual([408, 'close'])
  })

  test('is accepted if it is fast enough on average', async () => {
    const steady = { maxBytes: 10, pace: { idle: 100, bytesPerSecond: 1 } }
    const error = await captureError(readBodyText(drip(1), steady))
    expect(error.row.status).toBe(413)
  })

  test('the time of the consumer does not count against the sender', async () => {
    const chunks = [1, 2, 3].map(() => new Uint8Array([0x20]))
    let count = 0
    const prompt = { maxBytes: 100, pace: { idle: 50, bytesPerSecond: 1_000_000 } }
    for await (const _ of readBodyChunks(requestOf(chunks), prompt)) {
      await Bun.sleep(60)
      count++
    }
    expect(count).toBe(3)
  })
})
