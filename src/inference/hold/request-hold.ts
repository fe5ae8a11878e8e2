import type { Gateway } from '../../gateway/gateway.ts'
import { type Amounts, noAmounts } from '../../ledger/amounts.ts'
import { createRelease } from '../../ledger/settlement.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import type { FundedRequest } from './extension.ts'
import { type Spending, spendingOf } from './spending.ts'

export interface HeldAmounts extends Amounts {
  /** Null if nothing is held. */
  id: string | null
}

export const nothingHeld: HeldAmounts = { id: null, ...noAmounts }

/** The hold of a request besides its own, with the state that the hold queue needs. */
export class RequestHold {
  readonly #request: FundedRequest
  #current = nothingHeld
  /** The number of waiting requests that retain this hold. */
  #waiters = 0

  constructor(request: FundedRequest) {
    this.#request = request
  }

  get current(): HeldAmounts {
    return this.#current
  }

  replace({ ledger }: Gateway, next: HeldAmounts): void {
    const { retained } = ledger.holdQueue
    if (this.#waiters > 0) retained.remove(this.#subjects, this.#current)
    this.#current = next
    if (this.#waiters > 0) retained.add(this.#subjects, next)
  }

  addWaiter({ ledger }: Gateway): void {
    if (this.#waiters++ === 0) ledger.holdQueue.retained.add(this.#subjects, this.#current)
  }

  removeWaiter({ ledger }: Gateway): void {
    if (--this.#waiters === 0) ledger.holdQueue.retained.remove(this.#subjects, this.#current)
  }

  get limits(): Spending['limits'] {
    return spendingOf(this.#request).limits
  }

  get #subjects(): readonly string[] {
    return spendingOf(this.#request).meterScopes
  }

  async release(gateway: Gateway): Promise<void> {
    const { id } = this.#current
    this.replace(gateway, nothingHeld)
    if (id !== null) await releaseHold(gateway, this.#request, id)
  }

  /** Starts the release without waiting for it. A hold that cannot be released now is released once it has expired. */
  releaseLater(gateway: Gateway): void {
    this.release(gateway).catch((err: unknown) => this.logFailure(gateway, err))
  }

  logFailure(gateway: Gateway, err: unknown): void {
    logOf(gateway, this.#request).warn({ err }, 'failed to release a hold')
  }
}

/** Releases holds of a request that has been settled. One that cannot be released now is released once it has expired. */
export async function releaseExtensions(
  gateway: Gateway,
  request: FundedRequest,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids)
    await releaseHold(gateway, request, id).catch((err: unknown) =>
      logOf(gateway, request).warn({ err }, 'failed to release a hold'),
    )
}

/** A change in progress may have released it. */
export async function releaseHold({ ledger }: Gateway, { caller }: FundedRequest, id: string): Promise<void> {
  await ledger.settle({ ...createRelease(id, caller.organizationId), isRetry: true })
}
