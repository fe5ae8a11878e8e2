import { newTimeOrderedHex } from '../crypto/ids.ts'

const ids = new WeakMap<Request, string>()

/** The id of a request in responses, logs and records: the client's `x-request-id` if it is safe to show. */
export function resolveRequestId(request: Request): string {
  const known = ids.get(request)
  if (known !== undefined) return known
  const clientId = request.headers.get('x-request-id')
  // With the time, so that the record of a request is found by its id without an index.
  const id =
    clientId && /^[\w.:-]{1,128}$/.test(clientId) ? clientId : `req_${newTimeOrderedHex().slice(0, 24)}`
  ids.set(request, id)
  return id
}

/** A request that the gateway makes of another one has its id. */
export function shareRequestId(original: Request, copy: Request): void {
  ids.set(copy, resolveRequestId(original))
}

/** Whether an id has the form of those that this server assigns; the index of other ones does not have it. */
export function isAssignedForm(id: string): boolean {
  return id.startsWith('req_') && id.length === assignedLength
}

const assignedLength = 28

/** The time of an id that this server assigned; null for others, which a client may choose as it likes. */
export function readRequestTime(id: string, now: number): number | null {
  const digits = /^req_([0-9a-f]{12})7[0-9a-f]{11}$/.exec(id)?.[1]
  const time = digits === undefined ? Number.NaN : Number.parseInt(digits, 16)
  return Math.abs(now - time) <= plausibleMs ? time : null
}

/** Ids of earlier versions are random: read as a time, they are millennia away. */
const plausibleMs = 10 * 365 * 86_400_000
