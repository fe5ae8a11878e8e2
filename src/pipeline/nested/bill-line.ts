import type { Usage } from '../../call/usage.ts'
import type { InferenceRequest } from '../request/inference-request.ts'

/** A request that was made on behalf of another one. */
interface NestedRequestLine {
  id: string
  purpose: string
  provider: string
  usage: Usage | null
  cost: bigint
  /** It has reached a provider, so that it has a record. */
  isCharged: boolean
  startedAt: number
}

/** Adds a nested request that has ended to the bill of the other one. */
export function addNestedRequest(
  { work }: Pick<InferenceRequest, 'work'>,
  { id, purpose, provider, usage, cost, isCharged, startedAt }: NestedRequestLine,
): void {
  if (!isCharged) return
  const durationMs = Math.round(performance.now() - startedAt)
  work?.bill.addNested({ name: purpose, provider, quantity: 1, usage, cost, durationMs, nestedId: id })
}
