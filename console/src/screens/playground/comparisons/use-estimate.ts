import { useEffect, useState } from 'react'
import { useWorkspace } from '../../../app/workspace.tsx'
import type { ChatBody } from '../request.ts'
import { fetchQuote, type QuoteState } from '../use-quotes.ts'
import { concurrency, runPool } from './matrix.ts'

const pauseMs = 700

export interface Estimate {
  expected: number
  worstCase: number
  /** Requests that would be rejected. */
  rejected: number
  /** Requests that have no quote. */
  failed: number
}

/** Quotes what a run would cost, whenever the person pauses. A request that has not changed is not quoted again. */
export function useEstimate(requests: readonly ChatBody[]): Estimate | null {
  const { id: workspaceId } = useWorkspace()
  const [quotes, setQuotes] = useState<ReadonlyMap<string, QuoteState>>(new Map())
  const keys = requests.map((request) => `${workspaceId} ${JSON.stringify(request)}`)
  const joined = keys.join('\n')
  // biome-ignore lint/correctness/useExhaustiveDependencies: `joined` says what the requests are
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const timer = setTimeout(() => {
      const known = new Map([...quotes].filter(([key]) => keys.includes(key)))
      const missing = keys.map((key, index) => ({ key, index })).filter(({ key }) => !known.has(key))
      void runPool(missing, concurrency, signal, async ({ key, index }) => {
        const request = requests[index]
        if (request) known.set(key, await fetchQuote(request, signal))
      }).then(() => {
        if (!signal.aborted) setQuotes(known)
      })
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [joined])
  const found = keys.map((key) => quotes.get(key))
  return found.length > 0 && found.every((state) => state !== undefined) ? sumUp(found) : null
}

function sumUp(states: readonly QuoteState[]): Estimate {
  const quotes = states.flatMap(({ quote }) => quote ?? [])
  const accepted = quotes.filter(({ would }) => would !== 'be_refused')
  return {
    expected: accepted.reduce((sum, { price }) => sum + (price.expected ?? 0), 0),
    worstCase: accepted.reduce((sum, { price }) => sum + (price.worst_case ?? 0), 0),
    rejected: quotes.length - accepted.length,
    failed: states.length - quotes.length,
  }
}
