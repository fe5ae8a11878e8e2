import { allPages } from '../../../api/all-pages.ts'
import { api, type Schemas } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'

export type Issuer = Schemas['WorkloadIssuer']
export type Policy = Schemas['WorkloadPolicy']

export const issuersOptions = allPages(api.queryOptions('get', '/workload-identity/issuers'))
export const policiesOptions = allPages(api.queryOptions('get', '/workload-identity/policies'))

/** Everything about workloads is read again. */
export function useWorkloadRefresh(): () => Promise<void> {
  const refresh = useRefresh()
  return () => refresh('/workload-identity/issuers', '/workload-identity/policies')
}
