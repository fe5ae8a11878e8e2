import { newId } from './ids.ts'

const ids = new WeakMap<Request, string>()

/** The name a request has in answers, logs and records: the client's own, where it gave one that can be shown. */
export function resolveRequestId(request: Request): string {
  const known = ids.get(request)
  if (known !== undefined) return known
  const clientId = request.headers.get('x-request-id')
  const id = clientId && /^[\w.:-]{1,128}$/.test(clientId) ? clientId : newId('req')
  ids.set(request, id)
  return id
}
