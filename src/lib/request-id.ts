import { newId } from './ids.ts'

const ids = new WeakMap<Request, string>()

/** The id of a request in responses, logs and records: the client's `x-request-id` if it is safe to show. */
export function resolveRequestId(request: Request): string {
  const known = ids.get(request)
  if (known !== undefined) return known
  const clientId = request.headers.get('x-request-id')
  const id = clientId && /^[\w.:-]{1,128}$/.test(clientId) ? clientId : newId('req')
  ids.set(request, id)
  return id
}
