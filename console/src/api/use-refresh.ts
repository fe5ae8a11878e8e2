import { useQueryClient } from '@tanstack/react-query'
import type { paths } from './schema.ts'

/** After a change: reads again what the screens have of these paths, such as `/keys/{hash}`. */
export function useRefresh(): (...changed: (keyof paths)[]) => Promise<void> {
  const queryClient = useQueryClient()
  return async (...changed) => {
    await Promise.all(changed.map((path) => queryClient.invalidateQueries({ queryKey: ['get', path] })))
  }
}
