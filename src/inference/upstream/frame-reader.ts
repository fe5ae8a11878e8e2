import { type FrameReader, SseReader } from '../../platform/http/sse.ts'
import type { Translation } from './translate.ts'

/** Server-sent events, unless the provider uses its own framing for this reply. */
export function createFrameReader({ headers }: Response, { wireFormat, access }: Translation): FrameReader {
  const createReader = access.endpoint.provider.wire?.[wireFormat.name]?.createFrameReader
  const isSse = headers.get('content-type')?.startsWith('text/event-stream')
  return createReader && !isSse
    ? createReader()
    : new SseReader(access.isUserNamed ? maxUserNamedFrame : undefined)
}

/** Characters of one frame from an upstream whose URL a user has named. */
const maxUserNamedFrame = 4 * 1024 * 1024
