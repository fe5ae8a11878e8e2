import { useEffect, useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { useWorkspace } from '../../app/workspace.tsx'
import type { ChatBody } from './request.ts'

/** Typing does not ask for a price at every letter. */
const pauseMs = 500

export type QuoteState = { quote: Schemas['Quote']; error: null } | { quote: null; error: unknown }

/** Quotes the cost and the endpoints of each request, whenever the person pauses. */
export function useQuotes(requests: Record<string, ChatBody> | null): Record<string, QuoteState> {
  const { id: workspaceId } = useWorkspace()
  const [quotes, setQuotes] = useState<Record<string, QuoteState>>({})
  // biome-ignore lint/correctness/useExhaustiveDependencies: the client sends the chosen workspace
  useEffect(() => {
    const controller = new AbortController()
    const timer = setTimeout(() => {
      for (const [id, body] of Object.entries(requests ?? {})) {
        void fetchQuote(body, controller.signal).then((state) => {
          if (!controller.signal.aborted) setQuotes((all) => ({ ...all, [id]: state }))
        })
      }
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [requests, workspaceId])
  return quotes
}

export async function fetchQuote(body: ChatBody, signal: AbortSignal): Promise<QuoteState> {
  try {
    const { data } = await client.POST('/quote', { params: { query: { format: 'chat' } }, body, signal })
    if (!data) throw new Error('The server sent no quote.')
    return { quote: data.data, error: null }
  } catch (error) {
    return { quote: null, error }
  }
}
