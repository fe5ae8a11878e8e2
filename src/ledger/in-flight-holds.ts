import { type AdmitOperation, jobOwner, type LedgerOperation, type OperationResult } from './engine.ts'
import { listAdmissions } from './queued-operation.ts'

/** Holds of requests in progress on this node. */
export class InFlightHolds {
  readonly #ids = new Set<string>()

  get size(): number {
    return this.#ids.size
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }

  /** No other request is in progress: no settlement can arrive before that of this one is written. */
  isOnly(id: string): boolean {
    return this.#ids.size === 1 && this.#ids.has(id)
  }

  /** A stop does not wait for jobs: they continue after the next start. */
  add({ owner, request }: AdmitOperation): void {
    if (owner !== jobOwner) this.#ids.add(request.id)
  }

  delete(id: string): void {
    this.#ids.delete(id)
  }

  /** The holds of an operation that is given up. */
  abandon(op: LedgerOperation): readonly AdmitOperation[] {
    const admissions = listAdmissions(op)
    for (const { request } of admissions) this.#ids.delete(request.id)
    return admissions
  }

  finish(op: LedgerOperation, result: OperationResult): OperationResult {
    if (op.op === 'settle') this.#ids.delete(op.id)
    else if (result !== null) for (const { request } of listAdmissions(op)) this.#ids.delete(request.id)
    else if (op.op === 'exchange') for (const id of op.releases) this.#ids.delete(id)
    return result
  }
}
