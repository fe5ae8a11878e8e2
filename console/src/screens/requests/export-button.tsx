import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useEffect, useRef, useState } from 'react'
import { downloadText } from '../../components/download.ts'
import { type CsvCell, formatCsv } from '../../format/csv.ts'
import { formatCount } from '../../format/number.ts'
import type { LoggedRequest } from './columns.tsx'
import { fetchPage, type ListQuery } from './use-requests.ts'

const maxRows = 10_000
/** A page can be empty although there are more rows. */
const maxPages = 500

/** Saves the requests that match as a file, newest first. A second click stops it. */
export function ExportButton({ query }: { query: ListQuery }) {
  const [count, setCount] = useState<number | null>(null)
  const controller = useRef<AbortController | null>(null)
  useEffect(() => () => controller.current?.abort(), [])
  const start = async () => {
    controller.current = new AbortController()
    const { signal } = controller.current
    setCount(0)
    try {
      const { rows, isComplete } = await collect(query, signal, setCount)
      downloadText(`requests-${new Date().toISOString().slice(0, 10)}.csv`, formatRows(rows))
      if (!isComplete) {
        const message = `The file has the newest ${formatCount(rows.length)} requests. Choose a shorter period for the others.`
        notifications.show({ color: 'yellow', title: 'Not all requests', message })
      }
    } catch (error) {
      if (!signal.aborted) notifications.show({ color: 'red', title: 'Export', message: String(error) })
    } finally {
      setCount(null)
    }
  }
  return (
    <Button
      size="xs"
      variant="default"
      onClick={() => (count === null ? void start() : controller.current?.abort())}
    >
      {count === null ? 'Export CSV' : `${formatCount(count)} rows · stop`}
    </Button>
  )
}

async function collect(query: ListQuery, signal: AbortSignal, onProgress: (count: number) => void) {
  const rows: LoggedRequest[] = []
  let cursor: string | null = null
  for (let page = 0; page < maxPages && rows.length < maxRows; page++) {
    const { data, cursor: next }: Awaited<ReturnType<typeof fetchPage>> = await fetchPage(
      query,
      cursor,
      signal,
    )
    rows.push(...data)
    onProgress(rows.length)
    cursor = next
    if (cursor === null) return { rows, isComplete: true }
  }
  return { rows, isComplete: false }
}

function formatRows(rows: LoggedRequest[]): string {
  const cells: Record<string, (row: LoggedRequest) => CsvCell> = {
    created_at: (row) => row.created_at,
    id: (row) => row.id,
    request_id: (row) => row.request_id,
    status: (row) => row.status,
    error_code: (row) => row.error_code,
    requested_model: (row) => row.requested_model,
    model: (row) => row.model,
    provider: (row) => row.provider,
    key: (row) => row.key?.name ?? null,
    key_hash: (row) => row.key?.hash ?? null,
    member: (row) => row.user?.name ?? row.user?.id ?? null,
    workspace: (row) => row.workspace.name ?? row.workspace.id,
    app: (row) => row.app?.title ?? row.app?.url ?? null,
    format: (row) => row.format,
    session_id: (row) => row.session_id,
    streamed: (row) => row.streamed,
    is_byok: (row) => row.is_byok,
    tokens_prompt: (row) => row.tokens_prompt,
    tokens_completion: (row) => row.tokens_completion,
    tokens_cached: (row) => row.tokens_cached,
    cost_usd: (row) => row.cost,
    latency_ms: (row) => row.latency,
    first_token_ms: (row) => row.first_token,
    finish_reason: (row) => row.finish_reason,
    attempts: (row) => row.attempts,
    requests: (row) => row.requests,
  }
  const readers = Object.values(cells)
  return formatCsv([Object.keys(cells), ...rows.map((row) => readers.map((read) => read(row)))])
}
