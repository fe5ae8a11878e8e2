import { fail } from '../errors.ts'

/** A body that trickles in holds a connection: this long and no longer. */
const arrivalMs = 30_000

/** The whole body as text, refused as soon as it is known to be longer than `maxBytes`. */
export async function readText(request: Request, maxBytes: number): Promise<string> {
  refuseDeclared(request, maxBytes)
  if (!request.body) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of arriving(request.body)) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Content-Length alone is enough to refuse: nothing of the body needs to be read. */
export function refuseDeclared(request: Request, maxBytes: number): void {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

export function tooLarge(maxBytes: number) {
  return fail('body_too_large', `The request body is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes })
}

/** The chunks of a body, giving up on a sender that goes quiet or dawdles. */
export async function* arriving(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(fail('request_timeout')), arrivalMs)
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late.promise])
      if (done) return
      yield value
      timer.refresh()
    }
  } finally {
    clearTimeout(timer)
    reader.releaseLock()
  }
}
