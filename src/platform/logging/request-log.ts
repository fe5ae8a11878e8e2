import type { Logger } from 'pino'
import { resolveRequestId } from '../http/request-id.ts'
import type { SpanRecorder } from '../tracing/span-recorder.ts'
import { readTraceContext } from '../tracing/trace-parent.ts'
import { type Subsystem, subsystemLog } from './subsystem-log.ts'

/** What identifies a request in the log. */
export interface LoggedRequest {
  httpRequest: Request
  /** The id of its generation, if it has one. */
  id?: string
  spans?: SpanRecorder | null
}

/** The log of a request, whose lines have its ids. Created for each line: few requests have one. */
export function logOf(
  { log }: { readonly log: Logger },
  { id, httpRequest, spans }: LoggedRequest,
  subsystem: Subsystem = 'inference',
): Logger {
  const traceId = spans?.root.traceId ?? readTraceContext(httpRequest.headers)?.traceId
  return subsystemLog(log, subsystem).child({
    requestId: resolveRequestId(httpRequest),
    ...(id !== undefined && { generationId: id }),
    ...(traceId !== undefined && { traceId }),
  })
}
