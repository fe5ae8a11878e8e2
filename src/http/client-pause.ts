import type { Gateway } from '../app/gateway.ts'
import { heartbeatResponses } from '../lib/response-traits.ts'
import type { Operation } from './operation.ts'
import { type Context, toResponse } from './record-operations.ts'

type Connections = Pick<ReturnType<typeof Bun.serve>, 'timeout'>

/** The response to a POST. A client that reads nothing of the reply of a model is disconnected. */
export function respond(
  operation: Operation,
  { gateway, httpRequest }: Context,
  connections: Connections,
  result: unknown,
): Response {
  const response = toResponse(operation, httpRequest, result)
  if (operation.inference) limitPause(gateway, connections, httpRequest, response)
  return response
}

/** The longest timeout of the runtime, in seconds. */
const maxConnectionTimeout = 255
/** The runtime looks for timeouts this often, in seconds, and may end a connection as much too early. */
const timeoutPrecision = 4

/** Not where the provider may be what is silent. */
function limitPause(
  { settings: { limits } }: Gateway,
  connections: Connections,
  request: Request,
  response: Response,
): void {
  const isStream = response.headers.has('x-accel-buffering')
  if (isStream && !heartbeatResponses.has(response)) return
  const least = Math.ceil(Math.max(limits.client_idle, isStream ? 2 * limits.heartbeat : 0) / 1000)
  if (least > maxConnectionTimeout) return
  connections.timeout(request, Math.min(least + timeoutPrecision, maxConnectionTimeout))
}
