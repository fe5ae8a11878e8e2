import { newId } from './ids.ts'

const ids = new WeakMap<Request, string>()

/** The name a request has in answers, logs and records: the client's own, where it gave one that can be shown. */
export function requestIdOf(request: Request): string {
  const known = ids.get(request)
  if (known !== undefined) return known
  const given = request.headers.get('x-request-id')
  const id = given && /^[\w.:-]{1,128}$/.test(given) ? given : newId('req')
  ids.set(request, id)
  return id
}
