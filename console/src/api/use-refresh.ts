import { useQueryClient } from '@tanstack/react-query'
import type { paths } from './schema.ts'

/** Refreshes the data of these paths, such as `/keys/{hash}`, on all screens after a change. */
export function useRefresh(): (...changed: (keyof paths)[]) => Promise<void> {
  const queryClient = useQueryClient()
  return async (...changed) => {
    await Promise.all(changed.map((path) => queryClient.invalidateQueries({ queryKey: ['get', path] })))
  }
}
