import type { Gateway } from '../../gateway/gateway.ts'
import type { Bill } from '../../ledger/bill.ts'
import type { FundedRequest } from './extension.ts'
import { Funds } from './funds.ts'

/** Releases what was held for a request that fails before it is admitted. */
export async function releaseOnFailure<T>(
  gateway: Gateway,
  request: { funds: Funds | null },
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (request.funds) await request.funds.close(gateway)
    throw error
  }
}

/** The funds of a request, which are created when they are first needed. */
export function requireFunds(
  request: FundedRequest & { work: { bill: Bill } | null; funds: Funds | null },
): Funds {
  request.funds ??= new Funds(request, request.work?.bill ?? null, null)
  return request.funds
}
