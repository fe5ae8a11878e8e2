import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { mayDo, useSession } from '../app/session.tsx'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The dimensions of analytics whose spend lists show, with the columns that identify their values. */
const idColumns = { workspace: 'workspace_id', user: 'user_id' } as const

interface SpendGroup {
  dimension: keyof typeof idColumns
  ids: readonly string[]
}

/** The last 30 days. The range ends on an hour, so that the result is cached. */
export function lastMonth(now = Date.now()) {
  const end = Math.ceil(now / hourMs) * hourMs
  return { start: toIso(end - 30 * dayMs), end: toIso(end) }
}

/** What each of these workspaces or members spent in the last 30 days; null until it is known. */
export function useSpend({ dimension, ids }: SpendGroup): (id: string) => number | null {
  const session = useSession()
  const [range] = useState(() => lastMonth())
  const query = useQuery({
    ...api.queryOptions('post', '/analytics/query', {
      body: {
        metrics: ['total_usage'],
        dimensions: [dimension],
        filters: [{ field: dimension, operator: 'in', value: [...ids] }],
        time_range: range,
        limit: 1000,
      },
    }),
    staleTime: 300_000,
    enabled: ids.length > 0 && mayDo(session, 'activity:read'),
  })
  const rows = query.data?.data.data
  if (!rows) return () => null
  const spend = new Map(rows.map((row) => [row[idColumns[dimension]], Number(row.total_usage ?? 0)]))
  return (id) => spend.get(id) ?? 0
}

function toIso(time: number): string {
  return new Date(time).toISOString().replace(/[.]\d+Z$/, 'Z')
}
