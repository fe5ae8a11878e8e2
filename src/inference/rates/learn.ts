import type { Gateway } from '../../gateway/gateway.ts'
import { readRateHeaders } from './rate-headers.ts'
import type { Room } from './room.ts'

/** The attempt that a reply belongs to. */
interface ObservedExchange {
  candidateId: string | null
  room: Room | null
}

/** Learns the rates that a provider reports with a reply. */
export function learnRates(
  { upstreams, clock, timer }: Gateway,
  { candidateId, room }: ObservedExchange,
  headers: Headers,
): void {
  if (candidateId === null) return
  room?.observe()
  upstreams.rates.learned.learn(candidateId, readRateHeaders(headers, clock.now()), timer.now())
}
