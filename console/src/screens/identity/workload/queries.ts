import { useQueryClient } from '@tanstack/react-query'
import { api, type Schemas } from '../../../api/client.ts'

export type Issuer = Schemas['WorkloadIssuer']
export type Policy = Schemas['WorkloadPolicy']

const all = { params: { query: { limit: 100 } } }

export const issuersOptions = api.queryOptions('get', '/workload-identity/issuers', all)
export const policiesOptions = api.queryOptions('get', '/workload-identity/policies', all)

/** Everything about workloads is read again. */
export function useRefresh(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () =>
    queryClient.invalidateQueries({
      predicate: ({ queryKey }) => String(queryKey[1]).startsWith('/workload-identity'),
    })
}
