import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'

const pollMs = 5000

export function destinationOptions(id: string) {
  return api.queryOptions('get', '/observability/destinations/{id}', { params: { path: { id } } })
}

/** Polled: events are delivered while the screen is open. */
export function statusOptions(id: string) {
  const options = api.queryOptions('get', '/observability/destinations/{id}/status', {
    params: { path: { id } },
  })
  return { ...options, refetchInterval: pollMs }
}

/** Everything that is shown of destinations is read again. */
export function useRefresh(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () =>
    queryClient.invalidateQueries({
      predicate: ({ queryKey }) => String(queryKey[1]).startsWith('/observability/destinations'),
    })
}
