import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '../errors/gateway-error.ts'
import { readFormParts } from './multipart.ts'

const pace = { idle: 5000, bytesPerSecond: 1 }
const type = 'multipart/form-data; boundary=b0undary'

interface Read {
  name: string
  filename: string | undefined
  text: string
}

async function read(chunks: Uint8Array[], contentType = type, maxBytes = 1_000_000): Promise<Read[]> {
  const left = [...chunks]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift()
      if (next) controller.enqueue(next)
      else controller.close()
    },
  })
  const headers = { 'content-type': contentType }
  const request = new Request('http://localhost/', { method: 'POST', headers, body })
  const parts: Read[] = []
  for await (const { name, filename, body: chunks } of readFormParts(request, { maxBytes, pace })) {
    const received: Buffer[] = []
    for await (const chunk of chunks) received.push(chunk)
    parts.push({ name, filename, text: Buffer.concat(received).toString('latin1') })
  }
  return parts
}

const readText = (text: string) => read([Buffer.from(text)])
const failure = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error)

function part(disposition: string, body: string): string {
  return `--b0undary\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${body}\r\n`
}

describe('readFormParts', () => {
  const contents = fc.array(fc.uint8Array({ maxLength: 200 }), { minLength: 1, maxLength: 4 })
  // Parts of the delimiter are what a search over chunks gets wrong.
  const tricky = fc
    .array(fc.constantFrom('\r', '\n', '-', '--', '\r\n--', '\r\n--b0undar', 'x'))
    .map((p) => p.join(''))

  const encode = (bodies: string[]) =>
    Buffer.from(`${bodies.map((body, i) => part(`name="p${i}"`, body)).join('')}--b0undary--\r\n`, 'latin1')

  function split(bytes: Buffer, cuts: number[]): Uint8Array[] {
    const offsets = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length]
    return offsets.slice(1).map((end, i) => bytes.subarray(offsets[i], end))
  }

  test('the content type of a part', async () => {
    const head = 'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav'
    const headers = { 'content-type': type }
    const body = `--b0undary\r\n${head}\r\n\r\nx\r\n${part('name="plain"', 'y')}--b0undary--\r\n`
    const request = new Request('http://localhost/', { method: 'POST', headers, body })
    const types: unknown[] = []
    for await (const { contentType } of readFormParts(request, { maxBytes: 1000, pace }))
      types.push(contentType)
    expect(types).toEqual(['audio/wav', undefined])
  })

  test('chunk boundaries do not change the parts', async () => {
    const bodies = fc.oneof(
      contents.map((list) => list.map((bytes) => Buffer.from(bytes).toString('latin1'))),
      fc.array(tricky, { minLength: 1, maxLength: 4 }),
    )
    await fc.assert(
      fc.asyncProperty(bodies, fc.array(fc.nat()), async (expected, cuts) => {
        fc.pre(!expected.some((body) => `\r\n${body}`.includes('\r\n--b0undary')))
        const parts = await read(split(encode(expected), cuts))
        expect(parts.map(({ text }) => text)).toEqual(expected)
        expect(parts.map(({ name }) => name)).toEqual(expected.map((_, i) => `p${i}`))
      }),
    )
  })

  test('a body that ends before its last delimiter is rejected, never waited for', async () => {
    const bytes = encode(['first', 'second'])
    const end = bytes.lastIndexOf('--')
    for (let length = 0; length <= end + 1; length++) {
      const error = await failure(read([bytes.subarray(0, length)]))
      expect(error).toBeInstanceOf(GatewayError)
      expect((error as GatewayError).row.status).toBe(400)
    }
    expect(await read([bytes.subarray(0, end + 2)])).toHaveLength(2)
  })

  test.each([
    ['no headers', '--b0undary\r\n\r\n--b0undary--\r\n'],
    ['no headers, before one that has', `--b0undary\r\n\r\n${part('name="a"', 'x')}--b0undary--\r\n`],
    ['headers without an end', '--b0undary\r\nContent-Disposition: form-data; name="a"\r\n--b0undary--\r\n'],
    ['no disposition', '--b0undary\r\nContent-Type: text/plain\r\n\r\nx\r\n--b0undary--\r\n'],
    ['no name', `${part('filename="a"', 'x')}--b0undary--\r\n`],
    [
      'text after a delimiter',
      `--b0undaryX\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b0undary--`,
    ],
    ['headers of 20 kB', `${part(`name="${'n'.repeat(20_000)}"`, 'x')}--b0undary--\r\n`],
    ['line feeds alone', part('name="a"', 'x').replaceAll('\r', '')],
    ['a filename that is not UTF-8', `${part(`name="a"; filename*=UTF-8''%ff`, 'x')}--b0undary--\r\n`],
  ])('400 for a part with %s', async (_, text) => {
    const error = await failure(readText(text))
    expect(error).toBeInstanceOf(GatewayError)
    expect((error as GatewayError).message).toStartWith('body:')
  })

  test.each([
    ['name="file"; filename="a b.txt"', 'a b.txt'],
    ['name=file; filename=plain.txt', 'plain.txt'],
    ['name="file"; filename="naïve 日本.txt"', 'naïve 日本.txt'],
    ['name="file"; filename="say \\"hi\\".txt"', 'say "hi".txt'],
    ['name="file"; filename="C:\\dir\\a.txt"', 'C:\\dir\\a.txt'],
    ['name="file"; filename="semi; name=other.txt"', 'semi; name=other.txt'],
    [`name="file"; filename="x"; filename*=UTF-8''na%C3%AFve.txt`, 'naïve.txt'],
    ['name="file"', undefined],
  ])('reads the filename of %s', async (disposition, filename) => {
    expect(await readText(`${part(disposition, 'x')}--b0undary--`)).toEqual([
      { name: 'file', filename, text: 'x' },
    ])
  })

  test('skips a preamble and an epilogue', async () => {
    const parts = await readText(`preamble\r\n${part('name="a"', 'x')}--b0undary--\r\nepilogue`)
    expect(parts).toEqual([{ name: 'a', filename: undefined, text: 'x' }])
  })

  test('reads a FormData body', async () => {
    const form = new FormData()
    form.append('file', new File(['hello'], 'a.txt'))
    form.append('purpose', 'batch')
    const encoded = new Response(form)
    const contentType = encoded.headers.get('content-type') ?? ''
    const bytes = new Uint8Array(await encoded.arrayBuffer())
    expect(await read([bytes], contentType)).toEqual([
      { name: 'file', filename: 'a.txt', text: 'hello' },
      { name: 'purpose', filename: undefined, text: 'batch' },
    ])
  })

  test.each(['application/json', 'multipart/form-data', 'multipart/mixed; boundary=b0undary', ''])(
    '400 for the content type "%s"',
    async (contentType) => {
      const error = await failure(read([Buffer.from('x')], contentType))
      expect((error as GatewayError).message).toStartWith('content-type:')
    },
  )

  test('413 as soon as the body is longer than allowed', async () => {
    const bytes = encode(['x'.repeat(1000)])
    const error = await failure(read([bytes], type, 500))
    expect((error as GatewayError).row.status).toBe(413)
  })
})
