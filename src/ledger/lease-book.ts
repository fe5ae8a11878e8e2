import type { AdmitOperation, GrantLeaseOperation, Settlement, UseLeaseOperation } from './engine.ts'
import { isEqualLimits, Lease } from './lease.ts'
import { newLeaseId } from './lease-id.ts'
import type { LeaseState } from './postgres-transaction.ts'

/** Time for which the requests of a key without a lease are decided by the database before another is requested. */
const tightMs = 1000
const maxTight = 10_000

/** The leases of this node, and the holds within them. */
export class LeaseBook {
  readonly #owner: string
  readonly #leases = new Map<string, Lease>()
  /** Leases that admit, by the meters of their key. */
  readonly #byMeters = new Map<string, Lease>()
  /** The same by identity: requests of a key share one list. */
  #bySubjects = new WeakMap<readonly string[], Lease>()
  readonly #byHold = new Map<string, Lease>()
  readonly #low = new Set<Lease>()
  /** Keys whose limits left too little for a lease, and until when that is assumed. */
  readonly #tight = new Map<string, number>()

  constructor(owner: string) {
    this.#owner = owner
  }

  get size(): number {
    return this.#leases.size
  }

  get openHolds(): number {
    return this.#byHold.size
  }

  /** The total that is reserved and not held. */
  get free(): bigint {
    let sum = 0n
    for (const { free } of this.#leases.values()) sum += free.amount
    return sum
  }

  hasHold(id: string): boolean {
    return this.#byHold.has(id)
  }

  /** Holds an amount within a lease; null if none covers it. */
  admit(op: AdmitOperation, now: number): Lease | null {
    const lease = this.#find(op)
    if (!lease?.admit(op, now)) return null
    this.#byHold.set(op.request.id, lease)
    if (lease.isLow(now)) this.#low.add(lease)
    return lease
  }

  /** Whether a lease has been granted that should be enlarged. */
  get hasLow(): boolean {
    return this.#low.size > 0
  }

  #find({ request: { subjects, day, limits } }: AdmitOperation): Lease | null {
    let lease = this.#bySubjects.get(subjects)
    if (!lease || lease.isRetired) {
      lease = this.#byMeters.get(keyOf(subjects, day))
      if (!lease) return null
      this.#bySubjects.set(subjects, lease)
    }
    if (lease.day !== day) {
      this.#bySubjects.delete(subjects)
      return null
    }
    if (lease.limits === limits) return lease
    if (isEqualLimits(lease.limits, limits)) {
      lease.limits = limits
      return lease
    }
    // Granted within other limits.
    this.retire(lease)
    return null
  }

  cancel(lease: Lease, op: AdmitOperation): void {
    this.#byHold.delete(op.request.id)
    lease.cancel(op)
  }

  settle(op: Settlement): Lease | null {
    const lease = this.#byHold.get(op.id)
    if (!lease) return null
    this.#byHold.delete(op.id)
    lease.settle(op)
    return lease
  }

  /** Leaves a hold to its row in the database. */
  release(id: string): void {
    this.#byHold.get(id)?.release(id)
    this.#byHold.delete(id)
  }

  retire(lease: Lease): void {
    if (lease.isRetired) return
    lease.retire()
    this.#low.delete(lease)
    const key = keyOf(lease.subjects, lease.day)
    if (this.#byMeters.get(key) === lease) this.#byMeters.delete(key)
  }

  /** Plans leases for requests that none covers, one for each key. */
  plan(ops: readonly AdmitOperation[], journalId: string, now: number): GrantLeaseOperation[] {
    const planned = new Map<string, GrantLeaseOperation>()
    for (const op of ops) {
      const key = keyOf(op.request.subjects, op.request.day)
      if (planned.has(key) || this.#byMeters.has(key) || (this.#tight.get(key) ?? 0) > now) continue
      planned.set(key, new Lease(newLeaseId(journalId), op, now).buildGrant(this.#owner, now))
    }
    return [...planned.values()]
  }

  /** Does without a lease for a while. */
  markTight({ subjects, day }: GrantLeaseOperation, now: number): void {
    if (this.#tight.size >= maxTight) this.#tight.clear()
    this.#tight.set(keyOf(subjects, day), now + tightMs)
  }

  /** Adds a lease that was granted. */
  add(grant: GrantLeaseOperation, op: AdmitOperation, state: LeaseState, now: number): void {
    const lease = new Lease(grant.id, op, now)
    lease.receive(state)
    this.#leases.set(lease.id, lease)
    const key = keyOf(lease.subjects, lease.day)
    if (this.#byMeters.has(key)) lease.retire()
    else this.#byMeters.set(key, lease)
  }

  /** Requests more where little is left. */
  takeGrants(now: number): GrantLeaseOperation[] {
    const grants = [...this.#low].map((lease) => lease.buildGrant(this.#owner, now))
    this.#low.clear()
    return grants
  }

  takeUses(): UseLeaseOperation[] {
    const uses: UseLeaseOperation[] = []
    for (const lease of this.#leases.values()) if (lease.isChanged || lease.isOver) uses.push(lease.takeUse())
    return uses
  }

  /** Records that uses are in the database. */
  confirm(uses: readonly UseLeaseOperation[]): void {
    for (const use of uses) {
      const lease = this.#leases.get(use.id)
      lease?.confirm(use)
      if (use.isLast) this.#leases.delete(use.id)
    }
  }

  receive(states: ReadonlyMap<string, LeaseState>): void {
    for (const [id, state] of states) this.#leases.get(id)?.receive(state)
  }

  /** Returns what is not needed, or may not be reserved: `recalled` has the meters without leases. */
  review(now: number, recalled: ReadonlySet<string>): void {
    for (const lease of this.#leases.values()) {
      if (recalled.size > 0 && lease.subjects.some((subject) => recalled.has(subject))) this.retire(lease)
      else {
        lease.review(now)
        if (lease.isRetired) this.#forget(lease)
      }
    }
  }

  #forget(lease: Lease): void {
    this.#low.delete(lease)
    const key = keyOf(lease.subjects, lease.day)
    if (this.#byMeters.get(key) === lease) this.#byMeters.delete(key)
  }

  /** Whether something has to be written. */
  get isChanged(): boolean {
    for (const lease of this.#leases.values()) if (lease.isChanged || lease.isOver) return true
    return false
  }

  /** Leaves all holds to their rows. */
  releaseAll(): void {
    for (const id of [...this.#byHold.keys()]) this.release(id)
  }

  retireAll(): void {
    for (const lease of this.#leases.values()) this.retire(lease)
  }

  /** Forgets everything: another node has taken the leases over. */
  clear(): void {
    for (const lease of this.#leases.values()) lease.isRetired = true
    this.#leases.clear()
    this.#byMeters.clear()
    this.#byHold.clear()
    this.#low.clear()
    this.#bySubjects = new WeakMap()
  }
}

function keyOf(subjects: readonly string[], day: string): string {
  return `${day} ${subjects.join(' ')}`
}
