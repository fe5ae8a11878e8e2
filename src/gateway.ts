import type { Logger } from 'pino'
import type { ResponseQuota } from './account/response-quota.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { Edits } from './catalog/edits.ts'
import type { Config } from './config.ts'
import type { Db } from './db/db.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Node } from './ledger/recovery.ts'
import type { RollUpThread } from './ledger/rollups/thread.ts'
import type { BackgroundRuns } from './lib/background.ts'
import type { ByteCache } from './lib/byte-cache.ts'
import type { Clock } from './lib/clock.ts'
import type { Origins } from './lib/origins.ts'
import type { Pulse } from './lib/pulse.ts'
import type { MinuteRate } from './lib/rate.ts'
import type { Vault } from './lib/secret.ts'
import type { Slots } from './lib/slots.ts'
import type { Turns } from './lib/turns.ts'
import type { Memory } from './memory.ts'
import type { Metrics } from './metrics.ts'
import type { Routing } from './routing/routing.ts'
import type { Settings } from './settings.ts'
import type { Grants } from './sign-in/service-account.ts'

/**
 * Everything a request may use, passed first. `settings`, `edits` and `catalog` are replaced when headgate.yaml
 * is reloaded or an operator edits the catalogue.
 */
export interface Gateway {
  readonly config: Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly vault: Vault
  readonly metrics: Metrics
  readonly memory: Memory
  readonly ledger: Ledger
  /** This process among those that share the database. */
  readonly node: Node
  readonly rollUps: RollUpThread
  readonly pulse: Pulse
  /** Shared by everything that may work for long without waiting. */
  readonly turns: Turns
  readonly rates: MinuteRate
  readonly routing: Routing
  readonly origins: Origins
  /** Tokens that service accounts were given by their vendors. */
  readonly grants: Grants
  /** Replies that are read on although their client has left. */
  readonly drains: Slots
  /** Conversations with providers that are under way, to be cut when the process must stop. */
  readonly exchanges: Set<{ stop(): void }>
  /** Replies that may be given once more, on this node. */
  readonly responseCache: ByteCache
  /** Responses that are made for clients who do not wait. */
  readonly background: BackgroundRuns
  /** Keeps what clients have stored within bounds. */
  readonly responseQuota: ResponseQuota
  settings: Settings
  edits: Edits
  catalog: Catalog
}
