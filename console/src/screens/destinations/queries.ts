import { api } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'

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

/** Refreshes the data of destinations. */
export function useDestinationRefresh(): () => Promise<void> {
  const refresh = useRefresh()
  return () =>
    refresh(
      '/observability/destinations',
      '/observability/destinations/{id}',
      '/observability/destinations/{id}/status',
      '/observability/destinations/{id}/failures',
    )
}
