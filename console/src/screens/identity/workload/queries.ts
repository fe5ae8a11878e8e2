import { allPages } from '../../../api/all-pages.ts'
import { api, type Schemas } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'

export type Issuer = Schemas['WorkloadIssuer']
export type Policy = Schemas['WorkloadPolicy']

const page = { params: { query: { limit: 100 } } }

export const issuersOptions = api.queryOptions('get', '/workload-identity/issuers', page)
export const policiesOptions = allPages(api.queryOptions('get', '/workload-identity/policies', page))

/** Everything about workloads is read again. */
export function useWorkloadRefresh(): () => Promise<void> {
  const refresh = useRefresh()
  return () => refresh('/workload-identity/issuers', '/workload-identity/policies')
}
