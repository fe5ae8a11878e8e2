import { QueryClient } from '@tanstack/react-query'
import { ApiError } from '../api/error.ts'

const maxRetries = 2

/** A refused request would be refused again; only an unreachable or failing server is tried again. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < maxRetries && !(error instanceof ApiError && error.status < 500),
    },
  },
})
