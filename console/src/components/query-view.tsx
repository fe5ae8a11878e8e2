import { Skeleton, Stack } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'
import { ManagedNotice } from './managed.tsx'

interface QueryViewProps<T> {
  query: UseQueryResult<T, unknown>
  children: (data: T) => ReactNode
}

/** The data of a query; until it is there, what stands for it. Data that could not be refreshed stays. */
export function QueryView<T>({ query, children }: QueryViewProps<T>) {
  if (query.data !== undefined) {
    return (
      <>
        {query.error !== null && <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />}
        <ManagedNotice reply={query.data} />
        {children(query.data)}
      </>
    )
  }
  if (query.error !== null) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading">
      <Skeleton height={32} />
      <Skeleton height={32} />
      <Skeleton height={32} width="70%" />
    </Stack>
  )
}
