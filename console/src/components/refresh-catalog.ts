import type { QueryClient } from '@tanstack/react-query'

const affected = ['/catalogue/', '/providers', '/models', '/model/', '/endpoints/']

/** Refreshes the screens after an edit of the catalog. */
export function refreshCatalog(queryClient: QueryClient): Promise<void> {
  return queryClient.invalidateQueries({
    predicate: ({ queryKey: [, path] }) => affected.some((start) => String(path).startsWith(start)),
  })
}
