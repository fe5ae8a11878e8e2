import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { AuditOrigin, OwnedSecret, SecretOwner } from './entry.ts'
import type { AuditQueue } from './queue.ts'
import { findSecretOwner } from './store.ts'

const dayMs = 86_400_000
/** Maximum secrets of one day. Beyond it, secrets are recorded again. */
const maxSecrets = 100_000

/** Records that secrets are decrypted for use: one entry for each secret, process and day. */
export class SecretUses {
  readonly #queue: AuditQueue
  readonly #clock: Clock
  readonly #origin: Omit<AuditOrigin, 'organizationId'>
  #seen = new Set<string>()
  #day = 0

  constructor(queue: AuditQueue, clock: Clock, nodeId: string) {
    this.#queue = queue
    this.#clock = clock
    const actor = { type: 'job' as const, id: nodeId, name: 'gateway' }
    this.#origin = { actor, ip: null, userAgent: null, requestId: null }
  }

  /** Called for every request with a BYOK key: it only looks up a set, except for the first of a day. */
  add(type: OwnedSecret, id: string): void {
    if (this.#isFirst(type, id)) this.#record(type, id, (db) => findSecretOwner(db, type, id))
  }

  /** Records the use of a secret whose owner is known, not found by its id. */
  addOwned(type: string, id: string, owner: SecretOwner): void {
    if (this.#isFirst(type, id)) this.#record(type, id, async () => owner)
  }

  #isFirst(type: string, id: string): boolean {
    const day = Math.floor(this.#clock.now() / dayMs)
    if (day !== this.#day || this.#seen.size >= maxSecrets) this.#seen = new Set()
    this.#day = day
    const key = `${type}/${id}`
    if (this.#seen.has(key)) return false
    this.#seen.add(key)
    return true
  }

  #record(type: string, id: string, findOwner: (db: Db) => Promise<SecretOwner | undefined>): void {
    this.#queue.add(async (db) => {
      const owner = await findOwner(db)
      if (!owner) return null
      const { organizationId, workspaceId, name } = owner
      return {
        origin: { ...this.#origin, organizationId },
        event: { action: 'secret.open', target: { type, id, name }, workspaceId },
      }
    })
  }
}
