import { badField, fail, GatewayError } from '../errors.ts'
import { withDeadline } from './deadline.ts'

/** A sender that stays quiet holds a connection: this long and no longer. */
const quietMs = 30_000

const smallBytes = 1024 * 1024

/** The whole body as text, refused as soon as it is known to be longer than `maxBytes`. */
export async function readText(request: Request, maxBytes: number): Promise<string> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  // What comes in one piece is read in one: most requests are small, and this is the cheaper way.
  if (declared <= Math.min(smallBytes, maxBytes)) return readAtOnce(request)
  const chunks: Uint8Array[] = []
  for await (const chunk of arriving(request, maxBytes)) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function readAtOnce(request: Request): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(fail('request_timeout')), quietMs)
    request.text().then(
      (text) => {
        clearTimeout(timer)
        resolve(text)
      },
      () => {
        clearTimeout(timer)
        reject(badField('body', 'broke off'))
      },
    )
  })
}

/** Content-Length alone is enough to refuse: nothing of the body needs to be read. */
export function refuseDeclared(request: Request, maxBytes: number): void {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

function tooLarge(maxBytes: number): GatewayError {
  return fail('body_too_large', `The request body is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes })
}

/** The body as it arrives. A sender that is gone has sent a broken body; that is no fault of ours. */
export async function* arriving(request: Request, maxBytes: number): AsyncGenerator<Uint8Array, undefined> {
  const reader = request.body?.getReader()
  if (!reader) return undefined
  let size = 0
  try {
    for (;;) {
      const { done, value } = await withDeadline(quietMs, reader.read(), () => fail('request_timeout'))
      if (done) return undefined
      size += value.byteLength
      if (size > maxBytes) throw tooLarge(maxBytes)
      yield value
    }
  } catch (error) {
    throw error instanceof GatewayError ? error : badField('body', 'broke off')
  } finally {
    reader.releaseLock()
  }
}
