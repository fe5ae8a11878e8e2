import { type ApiKey, findKeyByHash } from './account/keys.ts'
import { type OwnKey, ownKeysOf } from './account/own-keys.ts'
import { findUsablePreset, type UsablePreset } from './account/presets.ts'
import { defaultTextModel, type IoLogging, ioLogging, workspaceBudgets } from './account/workspaces.ts'
import { changeCount, type Db } from './db/db.ts'
import { unavailable } from './errors.ts'
import type { Limit } from './ledger/book.ts'
import { creditTotals } from './ledger/entries.ts'
import { Memo } from './lib/memo.ts'
import { sha256 } from './lib/secret.ts'
import { type EffectivePolicy, effectivePolicy } from './policy/effective.ts'
import { limitsOf, subjectsOf } from './policy/limits.ts'
import { loadLayers } from './policy/store.ts'

/** Other nodes, and the command line, change the same database: what they did is seen after this time. */
const freshMs = 1000
/** While the database cannot be asked, what was known last counts for this long. */
const staleMs = 60_000

/** A database that is away is no fault of the request. */
async function reached<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking
  } catch (cause) {
    throw unavailable(cause)
  }
}

/** What stands around a key: what it may do, and what it may spend. */
export interface Standing {
  policy: EffectivePolicy
  /** The meters its requests count in, and what they must fit into. */
  subjects: readonly string[]
  limits: readonly Limit[]
  /** Credits ever bought, in nano-dollars: they decide how much of what is free there is. */
  purchased: bigint
  defaultModel: string | null
  logging: IoLogging | null
  /** Credentials for providers that its requests may use, in the order they are tried. */
  ownKeys: readonly OwnKey[]
}

/** What the hot path knows without asking the database. A change made by this process is seen at once. */
export class Memory {
  readonly #keys: Memo<string, ApiKey | undefined>
  readonly #standings: Memo<ApiKey, Standing>
  readonly #presets: Memo<{ organizationId: string; slug: string }, UsablePreset | undefined>

  constructor(db: Db) {
    const common = { freshMs, staleMs, version: () => changeCount(db) }
    this.#keys = new Memo({ ...common, load: (hash) => reached(findKeyByHash(db, hash)) })
    this.#standings = new Memo({ ...common, load: (key) => reached(loadStanding(db, key)) })
    this.#presets = new Memo({
      ...common,
      load: ({ organizationId, slug }) => reached(findUsablePreset(db, organizationId, slug)),
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

async function loadStanding(db: Db, key: ApiKey): Promise<Standing> {
  const [layers, credits, workspace, defaultModel, logging, ownKeys] = await Promise.all([
    loadLayers(db, key),
    creditTotals(db, key.organization_id),
    workspaceBudgets(db, key.workspace_id),
    defaultTextModel(db, key.workspace_id),
    ioLogging(db, key.workspace_id),
    ownKeysOf(db, key),
  ])
  const policy = effectivePolicy(layers)
  return {
    policy,
    subjects: subjectsOf(key),
    limits: limitsOf(key, { funded: credits.total, workspace, budgets: policy.budgets }),
    purchased: credits.purchased,
    defaultModel,
    logging,
    ownKeys,
  }
}
