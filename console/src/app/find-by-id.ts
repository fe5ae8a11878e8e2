import { client } from '../api/client.ts'
import { escapeFilterValue } from '../components/filter-value.ts'
import { mayOpen } from './navigation.ts'
import type { Permission, Session } from './session.tsx'

/** A record that has the typed id. */
export interface FoundRecord {
  kind: string
  name: string
  to: string
  search?: Record<string, string>
}

interface Lookup {
  kind: string
  /** The form of the ids. */
  pattern: RegExp
  permission: Permission
  isForOrganization?: boolean
  find: (id: string, signal: AbortSignal) => Promise<Omit<FoundRecord, 'kind'> | null>
}

type RequestFilter = 'id' | 'request_id' | 'upstream_id' | 'session_id'

/** Any id without spaces that is long enough not to be a word; clients choose some of them. */
const anyId = /^(?=.{8,256}$)(?=.*[\d_:.-])\S+$/
const endUserId = /^(?=.*[\d_:.@-])\S{3,256}$/
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

async function findRequest(filter: RequestFilter, value: string, signal: AbortSignal) {
  const query = { [filter]: filter === 'session_id' ? escapeFilterValue(value) : value, limit: 1 }
  const { data } = await client.GET('/generations', { params: { query }, signal })
  return data?.data[0] ?? null
}

function requestLookup(kind: string, filter: RequestFilter, pattern: RegExp): Lookup {
  return {
    ...{ kind, pattern, permission: 'generations:read' },
    find: async (id, signal) => {
      const request = await findRequest(filter, id, signal)
      if (!request) return null
      const name = request.model ?? request.requested_model ?? request.id
      return { name, to: `/requests/${encodeURIComponent(request.id)}` }
    },
  }
}

/** Records that the search of the server does not have: each is looked up by its whole id. */
const lookups: Lookup[] = [
  requestLookup('Request', 'id', /^gen-\S{6,250}$/),
  requestLookup('Request with this request ID', 'request_id', anyId),
  requestLookup('Request with this provider ID', 'upstream_id', anyId),
  {
    ...{ kind: 'Session', pattern: anyId, permission: 'generations:read' },
    find: async (id, signal) => {
      const request = await findRequest('session_id', id, signal)
      const to = `/sessions/${encodeURIComponent(id)}`
      return request && { name: id, to, search: { at: request.created_at } }
    },
  },
  {
    ...{ kind: 'End user', pattern: endUserId, permission: 'activity:read', isForOrganization: true },
    find: async (q, signal) => {
      const { data } = await client.GET('/end-users', { params: { query: { q, limit: 100 } }, signal })
      const found = data?.data.find(({ id }) => id === q) ?? data?.data[0]
      return found ? { name: found.id, to: `/end-users/${encodeURIComponent(found.id)}` } : null
    },
  },
  {
    ...{ kind: 'File', pattern: /^hg_file_\w{6,250}$/, permission: 'files:read' },
    find: async (id, signal) => {
      const { data } = await client.GET('/files/{file_id}', { params: { path: { file_id: id } }, signal })
      return data ? { name: data.filename, to: '/files', search: { id } } : null
    },
  },
  {
    ...{ kind: 'Video job', pattern: /^video_\w{6,250}$/, permission: 'videos:read' },
    find: async (id, signal) => {
      const { data } = await client.GET('/videos/{jobId}', { params: { path: { jobId: id } }, signal })
      return data ? { name: data.model ?? id, to: '/files/media', search: { id } } : null
    },
  },
  {
    ...{ kind: 'Audit log entry', pattern: uuid, permission: 'audit:read' },
    find: async (id, signal) => {
      const { data } = await client.GET('/audit', { params: { query: { id, limit: 1 } }, signal })
      const entry = data?.data[0]
      return entry ? { name: entry.action, to: '/audit', search: { id } } : null
    },
  },
]

/** The records with this id that the person may read. Those that cannot be read now are left out. */
export async function findById(session: Session, id: string, signal: AbortSignal): Promise<FoundRecord[]> {
  const fitting = lookups.filter((lookup) => lookup.pattern.test(id) && mayOpen(session, lookup))
  const found = await Promise.allSettled(fitting.map(({ find }) => find(id, signal)))
  return found.flatMap((result, index) => {
    const kind = fitting[index]?.kind
    return kind && result.status === 'fulfilled' && result.value ? [{ kind, ...result.value }] : []
  })
}
