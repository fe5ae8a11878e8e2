import { type ByokKey, listByokKeys } from '../account/byok-keys.ts'
import { type ApiKey, findKeyByHash } from '../account/keys.ts'
import { type ActivePreset, findActivePreset } from '../account/presets.ts'
import {
  findDefaultTextModel,
  type IoLoggingSettings,
  loadIoLogging,
  loadWorkspaceBudgets,
} from '../account/workspaces.ts'
import { changeCountOf, type Db } from '../db/db.ts'
import { unavailableError } from '../errors/gateway-error.ts'
import { loadCreditTotals } from '../ledger/entries.ts'
import type { Limit } from '../ledger/ledger-state.ts'
import { sha256 } from '../lib/crypto.ts'
import { LoadingCache } from '../lib/loading-cache.ts'
import { computeEffectivePolicy, type EffectivePolicy } from '../policy/effective.ts'
import { listLimits, listMeterScopes } from '../policy/limits.ts'
import { loadLayers } from '../policy/store.ts'

/** Other nodes, and the command line, change the same database: what they did is seen after this time. */
const freshMs = 1000
/** While the database cannot be asked, what was known last counts for this long. */
const staleMs = 60_000

/** A database that is away is no fault of the request. */
async function withUnavailableError<T>(query: Promise<T>): Promise<T> {
  try {
    return await query
  } catch (cause) {
    throw unavailableError(cause)
  }
}

/** What stands around a key: what it may do, and what it may spend. */
export interface KeyContext {
  policy: EffectivePolicy
  /** The meters its requests count in, and what they must fit into. */
  meterScopes: readonly string[]
  limits: readonly Limit[]
  /** Credits ever bought, in nano-dollars: they decide how much of what is free there is. */
  purchasedCredits: bigint
  defaultModel: string | null
  logging: IoLoggingSettings | null
  /** Credentials for providers that its requests may use, in the order they are tried. */
  byokKeys: readonly ByokKey[]
}

/** What the hot path knows without asking the database. A change made by this process is seen at once. */
export class AccountCache {
  readonly #keys: LoadingCache<string, ApiKey | undefined>
  readonly #contexts: LoadingCache<ApiKey, KeyContext>
  readonly #presets: LoadingCache<{ organizationId: string; slug: string }, ActivePreset | undefined>

  constructor(db: Db) {
    const cacheOptions = { freshMs, staleMs, version: () => changeCountOf(db) }
    this.#keys = new LoadingCache({
      ...cacheOptions,
      load: (hash) => withUnavailableError(findKeyByHash(db, hash)),
    })
    this.#contexts = new LoadingCache({
      ...cacheOptions,
      load: (key) => withUnavailableError(loadKeyContext(db, key)),
    })
    this.#presets = new LoadingCache({
      ...cacheOptions,
      load: ({ organizationId, slug }) => withUnavailableError(findActivePreset(db, organizationId, slug)),
    })
  }

  findKey(secret: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const hash = sha256(secret)
    return this.#keys.get(hash, hash)
  }

  findContext(key: ApiKey): KeyContext | Promise<KeyContext> {
    return this.#contexts.get(String(key.id), key)
  }

  findPreset(
    organizationId: string,
    slug: string,
  ): ActivePreset | undefined | Promise<ActivePreset | undefined> {
    return this.#presets.get(`${organizationId}/${slug}`, { organizationId, slug })
  }
}

async function loadKeyContext(db: Db, key: ApiKey): Promise<KeyContext> {
  const [layers, credits, workspace, defaultModel, logging, byokKeys] = await Promise.all([
    loadLayers(db, key),
    loadCreditTotals(db, key.organization_id),
    loadWorkspaceBudgets(db, key.workspace_id),
    findDefaultTextModel(db, key.workspace_id),
    loadIoLogging(db, key.workspace_id),
    listByokKeys(db, key),
  ])
  const policy = computeEffectivePolicy(layers)
  return {
    policy,
    meterScopes: listMeterScopes(key),
    limits: listLimits(key, { grantedCredits: credits.total, workspace, budgets: policy.budgets }),
    purchasedCredits: credits.purchased,
    defaultModel,
    logging,
    byokKeys,
  }
}
