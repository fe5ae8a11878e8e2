import type { FileListOptions } from '../../../formats/files/file-format.ts'
import { unexpectedReplyError } from '../../../inference/failures/errors.ts'
import type { GuardedFile } from '../../../inference/guard/file.ts'
import { readJsonBody } from '../../../inference/upstream/decode-reply.ts'
import { UpstreamExchange } from '../../../inference/upstream/exchange.ts'
import { send, type UpstreamCall, type UpstreamResponse } from '../../../inference/upstream/send.ts'
import { attachmentHeaders } from '../../../platform/http/attachment-headers.ts'
import { encodeStreamedForm } from '../../../platform/http/form-encode.ts'
import { ClientWait, clientWaits } from '../../../platform/http/response-traits.ts'
import { asObjects, type JsonObject } from '../../../platform/json/json-values.ts'
import type { FileRecord, RecordPage } from './shapes.ts'
import { toVendorError } from './vendor-errors.ts'
import type { VendorStore } from './vendor-store.ts'

export async function listVendorFiles(store: VendorStore, options: FileListOptions): Promise<RecordPage> {
  const path = `/files?${encodeListQuery(store, options)}`
  return requestJson(store, { method: 'GET', path }, (body) => {
    const files = asObjects(body.data).map((entry) => decodeRecord(store, entry))
    return { files, hasMore: body.has_more === true, cursor: null }
  })
}

function encodeListQuery({ format }: VendorStore, options: FileListOptions): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(options)) {
    const parameter = format.listParameters[name as keyof FileListOptions]
    if (parameter !== undefined && value !== undefined) query.set(parameter, String(value))
  }
  return query
}

export async function getVendorFile(store: VendorStore, id: string): Promise<FileRecord> {
  return requestJson(store, { method: 'GET', path: `/files/${id}` }, (body) => decodeRecord(store, body))
}

export async function deleteVendorFile(store: VendorStore, id: string): Promise<void> {
  await requestJson(store, { method: 'DELETE', path: `/files/${id}` }, (body) => body)
}

/** A slower upload is given up. */
const minUploadBytesPerMs = 64

/** Sends a file that has passed the guardrails. */
export async function uploadVendorFile(
  store: VendorStore,
  { filename, mimeType, size, content, fields }: GuardedFile,
): Promise<FileRecord> {
  const { contentType, ...body } = encodeStreamedForm(
    { name: 'file', filename, contentType: mimeType, length: size, open: () => content.stream() },
    fields,
  )
  const headers = { 'content-type': contentType }
  const request = { path: '/files', headers, body, extraMs: size / minUploadBytesPerMs }
  return requestJson(store, request, (reply) => decodeRecord(store, reply))
}

/** The type of a file whose vendor does not send it. */
const unknownType = 'application/octet-stream'

function decodeRecord({ format }: VendorStore, body: JsonObject): FileRecord {
  const file = format.decodeFile(body)
  if (!file) throw unexpectedReplyError('The provider sent a reply in another format.')
  return {
    id: file.id,
    filename: file.filename,
    mime_type: file.mimeType ?? unknownType,
    size_bytes: file.size,
    purpose: file.purpose ?? 'user_data',
    created_at: new Date(file.createdAt).toISOString(),
    downloadable: file.isDownloadable,
  }
}

interface VendorRequest extends Partial<Pick<UpstreamCall, 'method' | 'headers' | 'body'>> {
  path: string
  /** Added to the timeout. */
  extraMs?: number
}

async function requestJson<T>(
  store: VendorStore,
  request: VendorRequest,
  decode: (body: JsonObject) => T,
): Promise<T> {
  const { gateway, signal } = store
  const exchange = new UpstreamExchange(signal, gateway)
  exchange.setTimeout(gateway.settings.limits.whole_reply + (request.extraMs ?? 0))
  try {
    return decode(await readJsonBody(exchange, await sendRequest(store, exchange, request)))
  } catch (error) {
    throw toVendorError(error, store.access.provider.name)
  } finally {
    exchange.release()
  }
}

function sendRequest(
  { gateway, format, access }: VendorStore,
  exchange: UpstreamExchange,
  { method, path, headers = {}, body = null }: VendorRequest,
): Promise<UpstreamResponse> {
  const call = { path, headers, body, access, upstream: format, isAdapted: false }
  return send(gateway, exchange, method ? { ...call, method } : call)
}

/** The bytes as they arrive: as fast as the client reads them, and never silent for longer than a stream may be. */
export async function downloadVendorFile(
  store: VendorStore,
  id: string,
  range: string | null,
): Promise<Response> {
  const { gateway, signal } = store
  const { first_byte } = gateway.settings.limits
  const exchange = new UpstreamExchange(signal, gateway)
  exchange.setTimeout(first_byte)
  try {
    const request = {
      method: 'GET' as const,
      path: `/files/${id}/content`,
      ...(range && { headers: { range } }),
    }
    const { response } = await sendRequest(store, exchange, request)
    const headers = new Headers(attachmentHeaders(id))
    for (const name of ['content-length', 'content-range', 'accept-ranges', 'etag']) {
      const value = response.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    const wait = new ClientWait()
    const relayed = new Response(relayChunks(store, exchange, response, wait), {
      status: response.status,
      headers,
    })
    clientWaits.set(relayed, wait)
    return relayed
  } catch (error) {
    exchange.release()
    throw toVendorError(error, store.access.provider.name)
  }
}

function relayChunks(
  { gateway }: VendorStore,
  exchange: UpstreamExchange,
  { body }: Response,
  wait: ClientWait,
): ReadableStream<Uint8Array> | null {
  if (!body) {
    exchange.release()
    return null
  }
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          wait.end()
          exchange.setTimeout(gateway.settings.limits.idle)
          const { done, value } = await reader.read()
          wait.begin()
          if (!done) return controller.enqueue(value)
          exchange.release()
          controller.close()
        } catch (error) {
          exchange.abort()
          controller.error(exchange.toError(error))
        }
      },
      cancel: () => exchange.abort(),
    },
    { highWaterMark: 0 },
  )
}
