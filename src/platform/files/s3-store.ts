import { withDeadline } from '../time/deadline.ts'
import { type BlobStore, type ByteRange, maxBlobSilenceMs, type StoredBlob } from './blob-store.ts'

export interface S3Options {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Text in front of every key. */
  prefix: string
}

/** The store cannot be reached, or refused the request. The message has nothing of the credentials. */
export class BlobStoreError extends Error {}

interface S3Request {
  headers?: Record<string, string>
  /** The body, for each attempt. */
  open?: () => ReadableStream<Uint8Array>
  timeoutMs: number
}

const pageSize = 1000
/** Longer than any clock difference or retry, short for a URL that is never shown. */
const urlSeconds = 3600
/** Milliseconds until the store must respond. */
const answerMs = 30_000
/** An upload that is slower is given up. */
const minUploadBytesPerMs = 64
const maxAttempts = 3
const firstRetryMs = 200

/**
 * Blobs in a bucket of any S3-compatible store. The runtime's client signs and lists. Bytes are sent with `fetch` as a
 * stream of declared length: the client's own upload, and a file as the body of a TLS request, are held in memory.
 */
export class S3Store implements BlobStore {
  readonly #client: Bun.S3Client
  readonly #prefix: string

  constructor({ prefix, ...options }: S3Options) {
    this.#client = new Bun.S3Client(options)
    this.#prefix = prefix
  }

  async put(key: string, path: string): Promise<void> {
    await this.#upload(key, Bun.file(path))
  }

  async putBytes(key: string, bytes: Uint8Array): Promise<void> {
    await this.#upload(key, new Blob([Uint8Array.from(bytes)]))
  }

  async #upload(key: string, file: Blob): Promise<void> {
    const { size } = file
    const timeoutMs = answerMs + size / minUploadBytesPerMs
    const headers = { 'content-length': String(size) }
    const response = await this.#send('PUT', key, { open: () => file.stream(), headers, timeoutMs })
    await response.body?.cancel()
    if (!response.ok) throw new BlobStoreError(`The store responded to an upload with ${response.status}.`)
  }

  async read(key: string, range?: ByteRange): Promise<ReadableStream<Uint8Array> | null> {
    // An empty part cannot be requested.
    if (range && range.start === range.end) return new Response('').body
    const headers = range ? { range: `bytes=${range.start}-${range.end - 1}` } : {}
    const response = await this.#send('GET', key, { headers, timeoutMs: answerMs })
    if (response.status === 404) {
      await response.body?.cancel()
      return null
    }
    // Some stores respond to a range with 200, and say in a header that it is one.
    const isPart = response.status === 206 || response.headers.has('content-range')
    if (response.ok && response.body && isPart === Boolean(range)) return pullChunks(response.body)
    await response.body?.cancel()
    throw new BlobStoreError(`The store responded to a download with ${response.status}.`)
  }

  async delete(key: string): Promise<void> {
    const response = await this.#send('DELETE', key, { timeoutMs: answerMs })
    await response.body?.cancel()
    if (!response.ok && response.status !== 404)
      throw new BlobStoreError(`The store responded to a deletion with ${response.status}.`)
  }

  /** In the order of the keys. */
  async *list(start = ''): AsyncGenerator<StoredBlob[]> {
    for (let startAfter: string | undefined; ; ) {
      const page = await this.#listAfter(start, startAfter)
      const found = page.contents ?? []
      yield found.map(({ key, lastModified }) => ({
        key: key.slice(this.#prefix.length),
        // One without a time is never old enough for a sweep.
        modifiedAt: lastModified ? Date.parse(lastModified) : Number.POSITIVE_INFINITY,
      }))
      startAfter = found.at(-1)?.key
      if (!page.isTruncated || startAfter === undefined) return
    }
  }

  async #listAfter(start: string, startAfter: string | undefined): Promise<Bun.S3ListObjectsResponse> {
    const query = {
      prefix: this.#prefix + start,
      maxKeys: pageSize,
      ...(startAfter !== undefined && { startAfter }),
    }
    try {
      return await withDeadline(answerMs, this.#client.list(query), unansweredError)
    } catch (error) {
      throw toStoreError(error)
    }
  }

  /** Retries what may be temporary: every request can be repeated without harm. */
  async #send(method: 'GET' | 'PUT' | 'DELETE', key: string, init: S3Request): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === maxAttempts
      try {
        const response = await this.#sendOnce(method, key, init)
        if (response.status < 500 || isLast) return response
        await response.body?.cancel()
      } catch (error) {
        if (isLast) throw toStoreError(error)
      }
      await new Promise((resolve) => setTimeout(resolve, firstRetryMs * 2 ** (attempt - 1)))
    }
  }

  async #sendOnce(
    method: 'GET' | 'PUT' | 'DELETE',
    key: string,
    { timeoutMs, open, headers = {} }: S3Request,
  ): Promise<Response> {
    const url = this.#client.presign(this.#prefix + key, { method, expiresIn: urlSeconds })
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(unansweredError()), timeoutMs)
    try {
      return await fetch(url, {
        method,
        headers,
        ...(open && { body: open() }),
        redirect: 'manual',
        timeout: false,
        signal: controller.signal,
      })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Only as fast as they are read, and never silent for longer than the store may be. */
function pullChunks(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await withDeadline(maxBlobSilenceMs, reader.read(), unansweredError)
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          void reader.cancel().catch(() => undefined)
          controller.error(toStoreError(error))
        }
      },
      cancel: () => reader.cancel(),
    },
    { highWaterMark: 0 },
  )
}

function unansweredError(): BlobStoreError {
  return new BlobStoreError('The store did not respond in time.')
}

/** The runtime's errors may contain the signed URL, so only their code is passed on. */
function toStoreError(error: unknown): BlobStoreError {
  if (error instanceof BlobStoreError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  return new BlobStoreError(`The store could not be used (${code}).`)
}
