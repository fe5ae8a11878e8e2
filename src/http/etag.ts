import { addSynonyms, usesSynonyms } from '../formats/synonyms.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../platform/errors/gateway-error.ts'
import { asObject } from '../platform/json/json-values.ts'
import type { Operation } from './operation.ts'
import { attachSharedBody, sharedBodyOf } from './shared-body.ts'

/** Fields that change as the record is used. `If-Match` does not compare them. */
const counterPattern = /^(?:byok_)?usage(?:_|$)|^limit_remaining$|^last_used_at$/

/** A JSON response to a GET, with the ETag of its content; 304 if the client has it already. */
export function toTaggedResponse(operation: Operation, request: Request, result: unknown): Response {
  const { status, noStore, params } = operation
  const shown = usesSynonyms(request) ? addSynonyms(result) : result
  if (noStore) return Response.json(shown, { status })
  const shared = shown === result ? sharedBodyOf(result) : undefined
  const text = shared?.text ?? JSON.stringify(shown)
  // The record itself is compared, whatever names a client is shown.
  const compared = shown === result ? text : JSON.stringify(result)
  const etag = params ? buildRecordETag(compared, result) : `"${hash(compared)}"`
  const headers = { etag, 'cache-control': 'private, no-cache' }
  if (isNotModified(request, etag)) return new Response(null, { status: 304, headers })
  const response = new Response(text, {
    status,
    headers: { ...headers, 'content-type': 'application/json;charset=utf-8' },
  })
  return shared ? attachSharedBody(response, shared) : response
}

/** The record without its counters, then all of it. A list is never changed as a whole: it needs only the latter. */
function buildRecordETag(text: string, result: unknown): string {
  // Only those of the record itself: a setting within it may have the same name.
  const holders = new Set([result, asObject(result)?.data])
  const record = JSON.stringify(result, function (this: unknown, name, value) {
    return holders.has(this) && counterPattern.test(name) ? undefined : value
  })
  return `"${hash(record)}.${hash(text)}"`
}

function hash(text: string): string {
  return Bun.hash(text).toString(36)
}

function isNotModified({ headers }: Request, etag: string): boolean {
  const known = headers.get('if-none-match')
  return known !== null && (known.trim() === '*' || parseTags(known).includes(etag))
}

/** Weak tags are compared as if they were strong: a proxy that compresses responses makes them weak. */
function parseTags(header: string): string[] {
  return [...header.matchAll(/"[^"]*"/g)].map(([tag]) => tag)
}

/**
 * Throws unless the record is the one the client has read. `read` returns the present one. A record that does not exist
 * is 404, unless the request would create it.
 */
export async function enforceIfMatch(
  header: string,
  read: (() => Promise<unknown>) | null,
  mayCreate = false,
): Promise<void> {
  if (!read) throw invalidFieldError('If-Match', 'is not supported here: the record has no GET at this path')
  const record = await read().catch((error: unknown) => {
    const isMissing = error instanceof GatewayError && error.row.status === 404
    throw isMissing && mayCreate ? gatewayError('precondition_failed') : error
  })
  if (record instanceof Response) throw invalidFieldError('If-Match', 'is not supported for this record')
  if (header.trim() === '*') return
  const current = recordPartOf(buildRecordETag(JSON.stringify(record), record))
  if (!parseTags(header).some((tag) => recordPartOf(tag) === current))
    throw gatewayError('precondition_failed')
}

function recordPartOf(etag: string): string {
  return etag.replaceAll('"', '').split('.')[0] ?? ''
}

/** Changes of one record with a condition run one after the other, on this node. */
class RecordQueue {
  readonly #tails = new Map<string, Promise<unknown>>()

  async run<T>(record: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#tails.get(record)
    const running = (async () => {
      await previous?.catch(() => undefined)
      return work()
    })()
    this.#tails.set(record, running)
    try {
      return await running
    } finally {
      if (this.#tails.get(record) === running) this.#tails.delete(record)
    }
  }
}

const recordQueues = new WeakMap<Gateway, RecordQueue>()

export function recordQueueOf(gateway: Gateway): RecordQueue {
  const queue = recordQueues.get(gateway) ?? new RecordQueue()
  recordQueues.set(gateway, queue)
  return queue
}
