import type { SimulateOptions } from '../../catalog/providers/simulation.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import { ownProvider } from '../../catalog/router-models.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { UpstreamExchange } from './exchange.ts'
import { replyWithBodies } from './reply-with-bodies.ts'

/** The events of a provider that runs in this process; undefined for a provider on the network. */
export function simulateReply(
  gateway: Gateway,
  request: InferenceRequest,
  { endpoint }: Candidate,
  exchange: UpstreamExchange,
): AsyncIterator<ReplyEvent> | undefined {
  if (endpoint.provider.slug === ownProvider.slug) return replyWithBodies(gateway, request)
  const simulate = simulators.get(endpoint.provider.slug)?.text
  return simulate?.(request.content.call, endpoint.upstream_model, buildSimulateOptions(gateway, exchange))
}

/** Time, cancellation and the size limit of a simulated reply. */
export function buildSimulateOptions({ settings }: Gateway, { signal }: UpstreamExchange): SimulateOptions {
  return { signal, sleep: (ms: number) => sleep(ms, signal), maxBytes: settings.limits.reply_bytes }
}

/** Rejects when the signal aborts first, and leaves no listener on it. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

export async function collectEvents(
  { timeSlicer }: Gateway,
  exchange: UpstreamExchange,
  events: AsyncIterator<ReplyEvent>,
): Promise<ReplyEvent[]> {
  const collected: ReplyEvent[] = []
  try {
    for (;;) {
      for (let turn = timeSlicer.pendingYield; turn; turn = timeSlicer.pendingYield) await turn
      exchange.signal.throwIfAborted()
      const { done, value } = await timeSlicer.runCounted(() => events.next())
      if (done) return collected
      collected.push(value)
    }
  } catch (error) {
    throw exchange.toError(error)
  }
}
