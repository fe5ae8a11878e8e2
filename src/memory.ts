import { type ApiKey, findKeyByHash } from './account/keys.ts'
import { findUsablePreset, type UsablePreset } from './account/presets.ts'
import { defaultTextModel } from './account/workspaces.ts'
import { changeCount, type Db } from './db/db.ts'
import { creditTotals } from './ledger/entries.ts'
import { type KeyUsage, noUsage, usageOfKeys, usageOfOrganization } from './ledger/usage.ts'
import type { Clock } from './lib/clock.ts'
import { Memo } from './lib/memo.ts'
import { sha256 } from './lib/secret.ts'
import { type EffectivePolicy, effectivePolicy } from './policy/effective.ts'
import { loadLayers } from './policy/store.ts'

/** Other nodes, and the command line, change the same database: what they did is seen after this time. */
const freshMs = 1000

/** What stands around a key: what it may do, and what is left to spend. */
export interface Standing {
  policy: EffectivePolicy
  /** Credits of the organization, in nano-dollars. */
  balance: bigint
  usage: KeyUsage
  defaultModel: string | null
}

/** What the hot path knows without asking the database. A change made by this process is seen at once. */
export class Memory {
  readonly #keys: Memo<string, ApiKey | undefined>
  readonly #standings: Memo<ApiKey, Standing>
  readonly #presets: Memo<{ organizationId: string; slug: string }, UsablePreset | undefined>

  constructor(db: Db, clock: Clock) {
    const common = { freshMs, version: () => changeCount(db) }
    this.#keys = new Memo({ ...common, load: (hash) => findKeyByHash(db, hash) })
    this.#standings = new Memo({ ...common, load: (key) => loadStanding(db, clock, key) })
    this.#presets = new Memo({
      ...common,
      load: ({ organizationId, slug }) => findUsablePreset(db, organizationId, slug),
    })
  }

  keyOf(secret: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const hash = sha256(secret)
    return this.#keys.get(hash, hash)
  }

  standingOf(key: ApiKey): Standing | Promise<Standing> {
    return this.#standings.get(String(key.id), key)
  }

  preset(organizationId: string, slug: string): UsablePreset | undefined | Promise<UsablePreset | undefined> {
    return this.#presets.get(`${organizationId}/${slug}`, { organizationId, slug })
  }
}

async function loadStanding(db: Db, clock: Clock, key: ApiKey): Promise<Standing> {
  const [layers, credits, spent, usage, defaultModel] = await Promise.all([
    loadLayers(db, key),
    creditTotals(db, key.organization_id),
    usageOfOrganization(db, key.organization_id),
    usageOfKeys(db, [key.id], clock.now()),
    defaultTextModel(db, key.workspace_id),
  ])
  return {
    policy: effectivePolicy(layers),
    balance: credits.total - spent,
    usage: usage.get(key.id) ?? noUsage,
    defaultModel,
  }
}
