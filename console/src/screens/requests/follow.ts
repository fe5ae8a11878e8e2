import { ApiError } from '../../api/error.ts'
import { readEvents } from '../../api/event-stream.ts'

/** `waiting`: there is no connection, and the next attempt follows by itself. */
export type Connection = 'connecting' | 'connected' | 'waiting'

interface FollowHandlers {
  onEvent: (data: string) => void
  onConnection: (connection: Connection) => void
}

interface FollowParts {
  fetch: (signal: AbortSignal) => Promise<Response>
  /** Resolves early when `signal` is aborted. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>
}

const firstDelayMs = 1000
const maxDelayMs = 30_000

/**
 * Reads a stream of events until `signal` is aborted, and connects again whenever it ends: servers restart, proxies
 * close quiet connections. Throws only what another attempt would not change.
 */
export async function followStream(
  signal: AbortSignal,
  { onEvent, onConnection }: FollowHandlers,
  { fetch, wait }: FollowParts,
): Promise<void> {
  let delayMs = firstDelayMs
  while (!signal.aborted) {
    onConnection('connecting')
    try {
      const response = await fetch(signal)
      if (!response.ok || !response.body) throw await ApiError.from(response)
      onConnection('connected')
      for await (const data of readEvents(response.body)) {
        delayMs = firstDelayMs
        onEvent(data)
      }
    } catch (error) {
      if (signal.aborted) return
      if (isFinal(error)) throw error
    }
    if (signal.aborted) return
    onConnection('waiting')
    await wait(delayMs, signal)
    delayMs = Math.min(2 * delayMs, maxDelayMs)
  }
}

/** A refusal that depends on the request or the person; a rate limit passes. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.status !== 429 && error.status !== 408
}

export function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish, { once: true })
    function finish() {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
  })
}
