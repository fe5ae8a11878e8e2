import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { mayDo, useSession } from '../app/session.tsx'
import type { CompletedField } from './filter-input.tsx'
import type { Filters, ValueField } from './filter-query.ts'
import { splitValues } from './filter-query.ts'
import { useMemberNames } from './use-members.ts'
import { useWorkspaceNames } from './use-workspaces.ts'

/** Names records that filters have by id. */
export function useRecordNames(
  filters: Filters,
  fields: readonly CompletedField[],
): (field: ValueField, id: string) => string {
  const idsOf = (source: CompletedField['source']) =>
    fields
      .filter((field) => field.idPattern && field.source === source)
      .flatMap(({ parameter }) => splitValues(filters[parameter] ?? ''))
      .map((id) => id.replace(/^!/, ''))
  const isMember = (id: string) => id.startsWith('user_')
  const memberOf = useMemberNames([...idsOf('member'), ...idsOf('audit_actor').filter(isMember)])
  const workspaceOf = useWorkspaceNames(idsOf('workspace'))
  const keyOf = useKeyNames(idsOf('key_hash'))
  const recordOf = useAuditedNames(idsOf('audit_record')[0])
  return (field, id) => {
    const { source } = fields.find(({ name }) => name === field.name) ?? {}
    if (source === 'member' || (source === 'audit_actor' && isMember(id))) return memberOf(id)
    if (source === 'audit_actor') return id.slice(0, 8)
    if (source === 'audit_record') return recordOf(id)
    if (source === 'key_hash') return keyOf(id)
    return source === 'workspace' ? workspaceOf(id) : id
  }
}

/** The name of a key by hash; its beginning for those that are gone or that the role may not see. */
export function useKeyNames(hashes: readonly string[]): (hash: string) => string {
  const isAllowed = mayDo(useSession(), 'keys:read')
  const results = useQueries({
    queries: (isAllowed ? [...new Set(hashes)] : []).map((hash) => ({
      ...api.queryOptions('get', '/keys/{hash}', { params: { path: { hash } } }),
      staleTime: 60_000,
    })),
  })
  const names = new Map(results.map(({ data }) => [data?.data.hash, data?.data.name]))
  return (hash) => names.get(hash) ?? hash.slice(0, 8)
}

function useAuditedNames(id: string | undefined): (id: string) => string {
  const { data } = useQuery({
    ...api.queryOptions('get', '/search', { params: { query: { q: id ?? '', limit: 20 } } }),
    enabled: id !== undefined,
    placeholderData: keepPreviousData,
  })
  const names = new Map((data?.data ?? []).map((record) => [record.id, record.name]))
  return (wanted) => names.get(wanted) ?? wanted
}
