import type { Gateway } from '../../../gateway/gateway.ts'
import { GatewayError } from '../../../platform/errors/gateway-error.ts'
import { type ByteRange, maxBlobSilenceMs } from '../../../platform/files/blob-store.ts'
import { attachmentHeaders } from '../../../platform/http/attachment-headers.ts'
import { parseRange } from '../../../platform/http/http-range.ts'
import { sourceSilences } from '../../../platform/http/response-traits.ts'
import { storeOf } from '../../../storage/file-storage.ts'
import type { StoredFile } from '../../../storage/stored-files.ts'

/** The bytes of a file, or the part that the request asks for; null if its bytes are missing. */
export async function sendContent(
  gateway: Gateway,
  file: StoredFile,
  { headers }: Request,
): Promise<Response | null> {
  const range = requestedRange(headers, file)
  const body = await storeOf(gateway, file).read(file.id, range ?? undefined)
  if (!body) return null
  const { start, end } = range ?? { start: 0, end: file.size_bytes }
  const response = new Response(body, {
    status: range ? 206 : 200,
    headers: {
      ...attachmentHeaders(file.filename),
      'accept-ranges': 'bytes',
      'content-length': String(end - start),
      etag: etagOf(file),
      ...(range && { 'content-range': `bytes ${start}-${end - 1}/${file.size_bytes}` }),
    },
  })
  sourceSilences.set(response, maxBlobSilenceMs)
  return response
}

/** The bytes of an id never change. */
function etagOf({ id }: StoredFile): string {
  return `"${id}"`
}

function requestedRange(headers: Headers, file: StoredFile): ByteRange | null {
  const condition = headers.get('if-range')
  if (condition !== null && condition !== etagOf(file)) return null
  const range = parseRange(headers.get('range'), file.size_bytes)
  if (range !== 'unsatisfiable') return range
  throw new GatewayError('range_unsatisfiable', {
    message: `range: the file has ${file.size_bytes} bytes.`,
    headers: { 'content-range': `bytes */${file.size_bytes}` },
  })
}

/** The row is deleted already: bytes that cannot be removed now are left for the sweep. */
export async function removeContent(
  gateway: Gateway,
  file: Pick<StoredFile, 'id' | 'storage'>,
): Promise<void> {
  try {
    await storeOf(gateway, file).delete(file.id)
  } catch (error) {
    gateway.log.warn({ file: file.id, err: error }, 'the bytes of a deleted file could not be removed')
  }
}
