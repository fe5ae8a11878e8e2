import type { Schemas } from '../../api/client.ts'

type Details = Record<string, unknown>
type Request = Pick<Schemas['LoggedRequest'], 'key' | 'user' | 'workspace'>

/** The id of the limit that rejected the request, as `PATCH /limits/{id}` takes it; null if it is not known. */
export function findRefusingLimit({ limit, limit_id, interval }: Details, request: Request): string | null {
  if (limit === 'limit') return typeof limit_id === 'string' ? limit_id : null
  if (limit === 'key') return request.key && `key:${request.key.hash}`
  if (limit === 'member') return request.user && `member:${request.user.id}`
  return limit === 'workspace' ? `workspace:${request.workspace.id}:${String(interval)}` : null
}
