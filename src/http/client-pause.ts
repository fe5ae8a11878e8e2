import { clientWaits, sourceSilences } from '../platform/http/response-traits.ts'
import { toTaggedResponse } from './etag.ts'
import type { Operation } from './operation.ts'
import { type Context, toResponse } from './record-operations.ts'

type Connections = Pick<ReturnType<typeof Bun.serve>, 'timeout'>

/** The response to a POST. */
export function respond(
  operation: Operation,
  context: Context,
  connections: Connections,
  result: unknown,
): Response {
  const isResponse = result instanceof Response
  const response = isResponse ? result : toResponse(operation, context.httpRequest, result)
  if (operation.inference || isResponse) limitPause(context, connections, response)
  return response
}

/** The response to a GET. */
export async function respondWithRecord(
  operation: Operation,
  context: Context,
  connections: Connections,
): Promise<Response> {
  const result = await operation.handle(context)
  const isRecord = !(result instanceof Response)
  const toRead = isRecord && !operation.inference ? toTaggedResponse : toResponse
  const response = toRead(operation, context.httpRequest, result)
  if (operation.inference || !isRecord) limitPause(context, connections, response)
  return response
}

/** The longest timeout of the runtime, in seconds. */
const maxConnectionTimeout = 255
/** The runtime looks for timeouts this often, in seconds, and may end a connection as much too early. */
const timeoutPrecision = 4

/** Disconnects a client that reads nothing of the response. */
function limitPause(
  { gateway: { settings }, httpRequest }: Context,
  connections: Connections,
  response: Response,
): void {
  const leastMs = Math.max(settings.limits.client_idle, sourceSilences.get(response) ?? 0)
  const least = Math.ceil(leastMs / 1000)
  // Zero is no timeout.
  const seconds = least > maxConnectionTimeout ? 0 : Math.min(least + timeoutPrecision, maxConnectionTimeout)
  const wait = clientWaits.get(response)
  if (wait) wait.listen((isWaiting) => connections.timeout(httpRequest, isWaiting ? seconds : 0))
  connections.timeout(httpRequest, wait ? 0 : seconds)
}
