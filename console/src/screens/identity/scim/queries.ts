import { allPages } from '../../../api/all-pages.ts'
import { api, type Schemas } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'

export type ScimToken = Schemas['ScimToken']
export type ScimMapping = Schemas['ScimGroupMapping']

export const pageSize = 20
/** Entries of the audit log that are shown. */
const recent = 10

export const tokensOptions = api.queryOptions('get', '/scim/tokens', { params: { query: { limit: 100 } } })

/** The groups that can be chosen and named. */
export const allGroupsOptions = allPages(api.queryOptions('get', '/scim/groups'))

export function groupsOptions(offset: number) {
  return api.queryOptions('get', '/scim/groups', { params: { query: { offset, limit: pageSize } } })
}

export function mappingsOptions(offset: number) {
  return api.queryOptions('get', '/scim/group-mappings', { params: { query: { offset, limit: pageSize } } })
}

/** Changes by the identity provider. */
export const recentOptions = api.queryOptions('get', '/audit', {
  params: { query: { actor_type: 'scim', limit: recent } },
})

/** Everything about SCIM is read again. */
export function useScimRefresh(): () => Promise<void> {
  const refresh = useRefresh()
  return () => refresh('/scim/tokens', '/scim/groups', '/scim/group-mappings', '/audit')
}
