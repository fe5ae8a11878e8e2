import type { Usage } from '../../formats/call/usage.ts'
import type { InferenceRequest } from '../request/inference-request.ts'

export interface NestedRequestLine {
  id: string
  purpose: string
  provider: string
  usage: Usage | null
  cost: bigint
  /** Whether it was sent to a provider, and so has a record. */
  isCharged: boolean
  startedAt: number
}

/** Adds a nested request that has ended to the bill of its outer request. */
export function addNestedRequest(
  { work }: Pick<InferenceRequest, 'work'>,
  { id, purpose, provider, usage, cost, isCharged, startedAt }: NestedRequestLine,
): void {
  if (!isCharged) return
  const durationMs = Math.round(performance.now() - startedAt)
  work?.bill.addNested({ name: purpose, provider, quantity: 1, usage, cost, durationMs, nestedId: id })
}
