import type { Schemas } from '../../api/client.ts'

export type SessionRequest = Schemas['LoggedRequest']
type Line = Schemas['BillLine']

/** A row of the timeline: a request, or what was done for one. */
export interface TimelineRow {
  key: string
  /** 0 for the requests of the client, 1 for what is below them. */
  depth: 0 | 1
  label: string
  kind: 'request' | 'tool' | 'plugin' | 'nested'
  /** Set if the row has a record of its own. */
  requestId: string | null
  status: SessionRequest['status'] | null
  /** Percent of the time of the session; null if the moment is not known. */
  left: number | null
  width: number
  duration: number
  tokens: number | null
  cost: number
}

export interface SessionTotals {
  requests: number
  errors: number
  cost: number
  tokens: number
  /** Milliseconds from the first request to the end of the last. */
  duration: number
}

/** Too narrow to be seen otherwise. */
const minWidth = 0.5

const startOf = ({ created_at }: SessionRequest) => Date.parse(created_at)
const endOf = (request: SessionRequest) => startOf(request) + request.latency

export function totalsOf(requests: readonly SessionRequest[]): SessionTotals {
  const first = Math.min(...requests.map(startOf))
  const last = Math.max(...requests.map(endOf))
  return {
    requests: requests.reduce((sum, { requests: count }) => sum + count, 0),
    errors: requests.filter(({ status }) => status === 'failed' || status === 'refused').length,
    cost: requests.reduce((sum, { cost }) => sum + cost, 0),
    tokens: requests.reduce((sum, request) => sum + (tokensOf(request) ?? 0), 0),
    duration: requests.length === 0 ? 0 : last - first,
  }
}

/** The requests of a session, oldest first, each with its tools, plugins and nested requests. */
export function timelineOf(requests: readonly SessionRequest[]): TimelineRow[] {
  const byId = new Map(requests.map((request) => [request.id, request]))
  const nestedIds = new Set(
    requests.flatMap(({ lines = [] }) => lines.map(({ generation_id }) => generation_id)),
  )
  const start = Math.min(...requests.map(startOf))
  const span = Math.max(1, ...requests.map((request) => endOf(request) - start))
  const place = (request: SessionRequest) => {
    const width = Math.min(100, Math.max((request.latency / span) * 100, minWidth))
    return { left: Math.min(((startOf(request) - start) / span) * 100, 100 - width), width }
  }
  const rowOf = (request: SessionRequest, kind: 'request' | 'nested'): TimelineRow => ({
    ...{ key: request.id, depth: kind === 'request' ? 0 : 1, kind },
    ...{ label: request.model ?? request.requested_model ?? 'Request', requestId: request.id },
    ...{ status: request.status, duration: request.latency, cost: request.total_cost },
    tokens: tokensOf(request),
    ...place(request),
  })
  return requests
    .filter(({ id }) => !nestedIds.has(id))
    .toSorted((one, other) => startOf(one) - startOf(other))
    .flatMap((request) => [
      rowOf(request, 'request'),
      ...(request.lines ?? [])
        .filter(({ kind }) => kind !== 'turn')
        .map((line, index) => {
          const nested = byId.get(line.generation_id ?? '')
          return nested ? rowOf(nested, 'nested') : rowOfLine(line, `${request.id} ${index}`)
        }),
    ])
}

function rowOfLine({ kind, name, quantity, ...line }: Line, key: string): TimelineRow {
  const tokens = (line.tokens_prompt ?? 0) + (line.tokens_completion ?? 0)
  return {
    ...{ key, depth: 1, kind: kind === 'plugin' || kind === 'tool' ? kind : 'nested' },
    ...{ label: quantity > 1 ? `${name} × ${quantity}` : name, requestId: line.generation_id },
    ...{ status: null, left: null, width: 0, duration: line.duration, cost: line.cost },
    tokens: tokens > 0 ? tokens : null,
  }
}

function tokensOf({ tokens_prompt, tokens_completion }: SessionRequest): number | null {
  return tokens_prompt === null ? null : tokens_prompt + (tokens_completion ?? 0)
}
