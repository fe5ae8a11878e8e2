import { fail } from '../errors.ts'
import { remainingLimit } from '../ledger/usage.ts'
import type { Asked } from './asked.ts'
import type { Plan } from './route.ts'

/**
 * Lets a request in that its account can pay for. A negative balance stops everything; an empty one stops
 * what costs something.
 */
export function admit({ caller: { key }, standing }: Asked, plan: Plan): void {
  const costs = plan.candidates.some(({ endpoint }) => endpoint.price_state !== 'free')
  if (standing.balance < 0n || (costs && standing.balance === 0n)) throw fail('credits_exhausted')
  const limit = {
    amount: key.limit_nanos,
    reset: key.limit_reset,
    includeByok: key.include_byok_in_limit === 1,
  }
  if (costs && remainingLimit(limit, standing.usage) === 0n) throw fail('key_limit_reached')
}
