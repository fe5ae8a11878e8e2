import { useEffect, useRef, useState } from 'react'
import { client } from '../../api/client.ts'
import { applyChange, type Change, hasChange, type PresetVersion } from './change.ts'
import type { Outcome } from './compare.ts'
import type { RequestBody, SavedRequest } from './request-set.ts'

export interface Result {
  request: SavedRequest
  before: Outcome
  after: Outcome
}

export interface Comparison {
  results: Result[]
  /** The change that the results are about. */
  change: Change
}

/** Quotes that are requested at the same time. */
const parallel = 4

/** Requests two quotes of each request: as it is, and with the change, if there is one. */
export function useComparison() {
  const [comparison, setComparison] = useState<Comparison | null>(null)
  const [done, setDone] = useState<number | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = async (requests: SavedRequest[], change: Change, version: PresetVersion | null) => {
    running.current?.abort()
    const controller = new AbortController()
    const { signal } = controller
    running.current = controller
    setDone(0)
    const results: Result[] = []
    const waiting = [...requests.entries()]
    const work = async () => {
      for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
        const [index, request] = next
        const changed = hasChange(change) ? applyChange(request, change, version) : null
        results[index] = await compare(request, changed, signal)
        if (!signal.aborted) setDone((count) => (count ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: parallel }, work))
    if (signal.aborted) return
    setComparison({ results, change })
    setDone(null)
  }
  /** `done` of the requests while it runs; otherwise null. */
  return { comparison, done, run }
}

async function compare(
  request: SavedRequest,
  changed: RequestBody | string | null,
  signal: AbortSignal,
): Promise<Result> {
  const before = await fetchQuote(request, request.body, signal)
  if (changed === null) return { request, before, after: before }
  const after =
    typeof changed === 'string'
      ? { quote: null, problem: changed }
      : await fetchQuote(request, changed, signal)
  return { request, before, after }
}

async function fetchQuote(
  { format }: SavedRequest,
  body: RequestBody,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const { data } = await client.POST('/quote', {
      params: { query: format === null ? {} : { format } },
      body,
      signal,
    })
    if (!data) throw new Error('The server sent no quote.')
    return { quote: data.data, problem: null }
  } catch (error) {
    return { quote: null, problem: error instanceof Error ? error.message : String(error) }
  }
}
