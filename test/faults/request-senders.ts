import { expect } from 'bun:test'
import { countHanging, type RequestKind } from './request-kinds.ts'

/** A gateway that requests are sent to. */
export interface Target {
  url: string
  key: string
  /** The requests that are sent to providers now; null for a gateway in another process. */
  countExchanges: (() => number) | null
}

/** Requests at the same time: few commands of a workspace run at once. */
const concurrency = { usual: 10, slow: 4 }

/** Sends so many requests of a kind, several at a time, until the gateway has finished all of them. */
export async function sendAll(target: Target, kind: RequestKind, count: number): Promise<void> {
  const size = kind.isSlow ? concurrency.slow : concurrency.usual
  for (let sent = 0; sent < count; sent += size) await sendBatch(target, kind, Math.min(size, count - sent))
}

async function sendBatch(target: Target, kind: RequestKind, count: number): Promise<void> {
  const { countExchanges } = target
  const hangingBefore = countHanging()
  const left = new AbortController()
  const sending = Array.from({ length: count }, () => sendOne(target, kind, left))
  if (kind.leaves === 'upstream') await until(() => (countExchanges?.() ?? count) >= count)
  if (kind.leaves === 'site') await until(() => countHanging() - hangingBefore >= count)
  if (kind.leaves && kind.leaves !== 'reply') left.abort()
  await Promise.all(sending)
  // A client that left is settled after it.
  await until(() => (countExchanges?.() ?? 0) === 0)
}

async function sendOne(target: Target, kind: RequestKind, left: AbortController): Promise<void> {
  const abort = kind.leaves === 'reply' ? new AbortController() : left
  try {
    const response = await fetch(`${target.url}/api/v1${kind.path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(kind.body),
      signal: abort.signal,
    })
    if (kind.leaves === 'reply') return await readStart(response, abort)
    const text = await response.text()
    const isProven = kind.proof === undefined || text.includes(kind.proof)
    if (response.status !== (kind.status ?? 200) || !isProven)
      expect({ name: kind.name, status: response.status, text }).toBeNull()
  } catch (error) {
    if (!abort.signal.aborted) throw error
  }
}

async function readStart(response: Response, abort: AbortController): Promise<void> {
  const reader = response.body?.getReader()
  await reader?.read()
  abort.abort()
  await reader?.cancel().catch(() => undefined)
}

async function until(isDone: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 30_000; !isDone(); ) {
    if (performance.now() > deadline) throw new Error('the requests did not end')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
