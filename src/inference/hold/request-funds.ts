import type { Gateway } from '../../gateway/gateway.ts'
import type { Bill } from '../../ledger/bill.ts'
import type { FundedRequest } from './extension.ts'
import { Funds } from './funds.ts'

/** Releases what was held for a request that fails before it is admitted. */
export async function releaseOnFailure<T>(
  gateway: Gateway,
  { funds }: { funds: Funds | null },
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (funds) await funds.close(gateway)
    throw error
  }
}

/** The request with funds of its own. */
export function withFunds<R extends FundedRequest & { work: { bill: Bill } | null; funds: Funds | null }>(
  request: R,
): R & { funds: Funds } {
  return { ...request, funds: request.funds ?? new Funds(request, request.work?.bill ?? null, null) }
}
