import { authenticate } from '../../../access/authenticate.ts'
import { authorize } from '../../../access/authorize.ts'
import { callerIdOf } from '../../../access/caller.ts'
import type { Follower } from '../../../analytics/request-log/followers.ts'
import type { LogSelection } from '../../../analytics/request-log/selection.ts'
import { isFollowed, type TailBatch } from '../../../analytics/request-log/tail.ts'
import { toGatewayError } from '../../../platform/errors/gateway-error.ts'
import { sourceSilences } from '../../../platform/http/response-traits.ts'
import { type LogFilters, type LogRequest, resolveLogSelection } from './filters.ts'
import { toLogRecords } from './log-record.ts'

/** Interval at which a silent stream sends a comment and the caller's reach is determined again. */
const heartbeatMs = 15_000
/** Entries of one second; there are more than anyone can read. */
const maxEntries = 100
/** Unread bytes above which a slow reader is disconnected. */
const maxWaitingBytes = 256 * 1024

interface StreamRequest extends LogRequest {
  httpRequest: Request
}

/** New requests as server-sent events, until the client disconnects or its key or session ends. */
export async function streamRequests(
  request: StreamRequest,
  filters: LogFilters,
  durationMs: number,
): Promise<Response> {
  const { followers } = request.gateway.requestLog
  const selection = await resolveLogSelection(request, filters)
  const { readable, writer } = createEventStream(() => followers.remove(follower))
  const follower = createFollower(request, { filters, selection, durationMs }, writer)
  followers.add(follower)
  writer.send(': open\n\n')
  request.httpRequest.signal.addEventListener('abort', () => followers.remove(follower))
  const response = new Response(readable, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
  })
  sourceSilences.set(response, 2 * heartbeatMs)
  return response
}

interface EventWriter {
  send(text: string): void
  end(reason: string, message: string): void
}

export function createEventStream(onEnd: () => void): {
  readable: ReadableStream<Uint8Array>
  writer: EventWriter
} {
  const encoder = new TextEncoder()
  let open: ReadableStreamDefaultController<Uint8Array> | null = null
  const readable = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        open = controller
      },
      cancel: () => {
        open = null
        onEnd()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxWaitingBytes }),
  )
  const end = (reason: string, message: string) => {
    open?.enqueue(encoder.encode(formatEvent('end', { reason, message })))
    open?.close()
    open = null
    onEnd()
  }
  const send = (text: string) => {
    if ((open?.desiredSize ?? 1) > 0) open?.enqueue(encoder.encode(text))
    else end('slow_reader', 'The stream was closed because it was not read fast enough.')
  }
  return { readable, writer: { send, end } }
}

function formatEvent(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

interface Following {
  filters: LogFilters
  selection: LogSelection
  durationMs: number
}

function createFollower(
  request: StreamRequest,
  { filters, selection: initial, durationMs }: Following,
  writer: EventWriter,
): Follower {
  const { gateway, caller } = request
  const { clock } = gateway
  const endsAt = clock.now() + durationMs
  let selection = initial
  let lastChecked = clock.now()
  return {
    callerId: callerIdOf(caller),
    organizationId: caller.organizationId,
    end: () => writer.end('shutdown', 'The gateway stops. Connect again.'),
    receive: async (batch) => {
      try {
        const isDue = clock.now() - lastChecked >= heartbeatMs
        if (isDue) {
          lastChecked = clock.now()
          selection = await renewSelection(request, filters)
        }
        const text = await describeBatch(request, selection, batch)
        if (text !== '') writer.send(text)
        else if (isDue) writer.send(': heartbeat\n\n')
        if (clock.now() >= endsAt) writer.end('time_limit', 'The stream was open for as long as it may be.')
      } catch (error) {
        const { code, message } = toGatewayError(error)
        writer.end(code, message)
      }
    },
  }
}

/** The caller may have lost a workspace since. Throws if nothing may be seen any more. */
async function renewSelection(
  { gateway, httpRequest }: StreamRequest,
  filters: LogFilters,
): Promise<LogSelection> {
  const caller = await authenticate(gateway, httpRequest)
  const scope = await authorize(gateway, caller, 'generations:read')
  return resolveLogSelection({ gateway, caller, scope }, filters)
}

async function describeBatch(
  { gateway, caller }: StreamRequest,
  selection: LogSelection,
  { entries, isIncomplete }: TailBatch,
): Promise<string> {
  const followed = entries.filter((entry) => isFollowed(selection, entry))
  const shown = followed.slice(-maxEntries)
  if (shown.length === 0) return ''
  const records = await toLogRecords(gateway, caller, shown)
  const events = records.map((record) => formatEvent('request', record)).join('')
  const skipped = followed.length - shown.length
  if (skipped === 0 && !isIncomplete) return events
  const message = 'There are more new requests than the stream shows. GET /generations has all of them.'
  return formatEvent('skipped', { message, at_least: skipped }) + events
}
