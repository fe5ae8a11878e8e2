import { loadModelAliases, type ModelAliases } from '../catalog/aliases.ts'
import { type ByokKey, listByokKeys } from '../catalog/byok-keys.ts'
import type { ExportSettings } from '../delivery/destinations/export-settings.ts'
import { loadExportSettings } from '../delivery/destinations.ts'
import { type DefaultPlugin, defaultPlugin } from '../formats/schema/plugins.ts'
import type { Priority } from '../formats/vocabulary.ts'
import { listAllowedPhrases } from '../governance/allowed-phrases.ts'
import { loadBlockedNames } from '../governance/blocked-end-users.ts'
import { splitDeclaredLimits } from '../governance/limits/declared.ts'
import type { KeyLimits, LimitIndex } from '../governance/limits/limit-index.ts'
import { loadLimitIndex } from '../governance/limits/store.ts'
import { buildContentRules, type ContentRules } from '../governance/policy/content-rules.ts'
import {
  computeEffectivePolicy,
  type EffectivePolicy,
  type GuardrailIds,
  listGuardrailIds,
} from '../governance/policy/effective.ts'
import { scopedBuiltin } from '../governance/policy/guardrail.ts'
import { listLimits, listMeterScopes } from '../governance/policy/limits.ts'
import { loadLayers } from '../governance/policy/store.ts'
import type { WorkspaceRules } from '../governance/routing-rules/rule.ts'
import { loadRoutingRules, type RoutingRuleIndex } from '../governance/routing-rules/store.ts'
import { combineTagRules, type TagRules } from '../governance/tags/rules.ts'
import { type ApiKey, findKeyByHash, findKeyById } from '../identity/keys.ts'
import { findMemberLimit } from '../identity/member-limits.ts'
import { loadDefaultPlugins } from '../identity/organizations.ts'
import { loadOwnerAccount } from '../identity/owners.ts'
import {
  findWorkspaceDefaults,
  type IoLoggingSettings,
  loadIoLogging,
  loadWorkspaceBudgets,
} from '../identity/workspaces.ts'
import { type Sort, sorts } from '../inference/routing/query.ts'
import { loadCreditTotals } from '../ledger/entries.ts'
import type { Limit } from '../ledger/ledger-state.ts'
import { LoadingCache } from '../platform/concurrency/loading-cache.ts'
import type { RevisionReader } from '../platform/concurrency/revision-reader.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import { staleMs, withUnavailableError } from '../platform/db/account-revision.ts'
import type { Db } from '../platform/db/db.ts'
import { type ActivePreset, findActivePreset } from '../storage/presets.ts'
import { loadShadows, type Shadow, type ShadowIndex } from '../storage/shadows/shadow.ts'

/** A secret has at most 512 characters. */
const maxHashes = 10_000
/** Hashes of secrets that no key has. */
const maxRejected = 10_000

/** The context of a key's requests: policy, limits, defaults and BYOK keys. */
export interface KeyContext {
  policy: EffectivePolicy
  /** Ids of the guardrail of each layer that has one. */
  guardrailIds: GuardrailIds
  /** Null if no guardrail has a rule about content. */
  contentRules: ContentRules | null
  /** The meters its requests count in, and their limits. */
  meterScopes: readonly string[]
  limits: readonly Limit[]
  /** Declared limits that are not among `limits`: they depend on the request, or count something else than dollars. */
  declaredLimits: KeyLimits | null
  /** Credits ever purchased, in nano-dollars: they raise the rate limit of free variants. */
  purchasedCredits: bigint
  /** The meter of requests to free variants. */
  freeSubject: string
  defaultModel: string | null
  /** Default sort of endpoints, for requests without one. */
  defaultSort: Sort | null
  /** Types of server tools that the workspace does not allow, such as `service:web_search`. */
  disabledServerTools: readonly string[]
  /** The rules of the key and its workspace about tags; null if there are none. */
  tagRules: TagRules | null
  /** The priority of its requests, and the highest they may ask for. */
  priority: Priority
  maxPriority: Priority
  /** Whether breakpoints for the prompt caches of providers are added to its requests. */
  cachesPrompts: boolean
  /** The names of blocked end users; null if there are none. */
  blockedEndUsers: ReadonlySet<string> | null
  logging: IoLoggingSettings | null
  /** Destinations that receive its finished requests. */
  destinations: readonly ExportSettings[]
  /** The plugins of requests that do not name them. */
  defaultPlugins: readonly DefaultPlugin[]
  /** BYOK keys its requests may use, in the order they are tried. */
  byokKeys: readonly ByokKey[]
  /** Names for models, of its workspace and organization; null if there are none. */
  aliases: ModelAliases | null
  /** The routing rules of its workspace and organization; null if there are none. */
  routingRules: WorkspaceRules | null
  /** The shadows that mirror its requests; null if there are none. */
  shadows: readonly Shadow[] | null
  /** The request repeats another one for a shadow. */
  isMirror?: true
}

/** Account data for the hot path, without a query until it changes. A change by this process is visible at once. */
export class AccountCache {
  readonly #db: Db
  readonly #keys: LoadingCache<string, ApiKey | undefined>
  /** Hashes by secret, of valid and invalid keys alike: hashing costs more than the rest of a lookup. */
  readonly #hashes = new Map<string, string>()
  readonly #keysById: LoadingCache<number, ApiKey | undefined>
  readonly #contexts: LoadingCache<ApiKey, KeyContext>
  readonly #limits: LoadingCache<string, LimitIndex>
  /** Shared by the contexts of all keys of an organization. */
  readonly #blockedEndUsers: LoadingCache<string, ReadonlySet<string> | null>
  /** The same for routing rules, which are compiled. */
  readonly #routingRules: LoadingCache<string, RoutingRuleIndex | null>
  readonly #shadows: LoadingCache<string, ShadowIndex | null>
  readonly #presets: LoadingCache<{ organizationId: string; slug: string }, ActivePreset | undefined>

  readonly #revisions: RevisionReader

  constructor(db: Db, revisions: RevisionReader) {
    this.#db = db
    this.#revisions = revisions
    const cacheOptions = { revisions, staleMs }
    this.#keys = new LoadingCache({
      ...cacheOptions,
      load: (hash) => withUnavailableError(findKeyByHash(db, hash)),
      maxMissing: maxRejected,
    })
    this.#keysById = new LoadingCache({
      ...cacheOptions,
      load: (id) => withUnavailableError(findKeyById(db, id)),
    })
    this.#contexts = new LoadingCache({
      ...cacheOptions,
      load: (key) => withUnavailableError(this.#loadContext(key)),
    })
    this.#limits = new LoadingCache({
      ...cacheOptions,
      load: (organizationId) => withUnavailableError(loadLimitIndex(db, organizationId)),
    })
    this.#blockedEndUsers = new LoadingCache({
      ...cacheOptions,
      load: (organizationId) => withUnavailableError(loadBlockedNames(db, organizationId)),
    })
    this.#routingRules = new LoadingCache({
      ...cacheOptions,
      load: (organizationId) => withUnavailableError(loadRoutingRules(db, organizationId)),
    })
    this.#shadows = new LoadingCache({
      ...cacheOptions,
      load: (organizationId) => withUnavailableError(loadShadows(db, organizationId)),
    })
    this.#presets = new LoadingCache({
      ...cacheOptions,
      load: ({ organizationId, slug }) => withUnavailableError(findActivePreset(db, organizationId, slug)),
    })
  }

  /** Differs whenever the data may; null if that has to be read first. */
  get version(): number | null {
    return this.#revisions.current?.version ?? null
  }

  findKey(secret: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const hash = this.#hashes.get(secret) ?? this.#hash(secret)
    return this.#keys.get(hash, hash)
  }

  /** The row of the current version; undefined if it is not known, or may be older. */
  peekKey(secret: string): ApiKey | undefined {
    const hash = this.#hashes.get(secret)
    return hash === undefined ? undefined : this.#keys.peek(hash)
  }

  /** The row as it is now. A secret that no key has is not looked up again until the revision changes. */
  findCurrentKey(secret: string): Promise<ApiKey | undefined> {
    const hash = this.#hashes.get(secret) ?? this.#hash(secret)
    return this.#keys.getCurrent(hash, () => findKeyByHash(this.#db, hash))
  }

  #hash(secret: string): string {
    const hash = sha256(secret)
    if (this.#hashes.size >= maxHashes) this.#hashes.clear()
    this.#hashes.set(secret, hash)
    return hash
  }

  findKeyById(id: number): ApiKey | undefined | Promise<ApiKey | undefined> {
    return this.#keysById.get(String(id), id)
  }

  findContext(key: ApiKey): KeyContext | Promise<KeyContext> {
    return this.#contexts.get(String(key.id), key)
  }

  /** The row of the caller may be older than the revision that the context is stored for. */
  async #loadContext(caller: ApiKey): Promise<KeyContext> {
    const key = (await findKeyById(this.#db, caller.id)) ?? caller
    const { organization_id } = key
    const [limits, blockedEndUsers, rules, index] = await Promise.all([
      this.#limits.get(organization_id, organization_id),
      this.#blockedEndUsers.get(organization_id, organization_id),
      this.#routingRules.get(organization_id, organization_id),
      this.#shadows.get(organization_id, organization_id),
    ])
    const routingRules = rules?.forWorkspace(key.workspace_id) ?? null
    const shadows = index?.forWorkspace(key.workspace_id) ?? null
    return { ...(await loadKeyContext(this.#db, key, limits)), blockedEndUsers, routingRules, shadows }
  }

  findPreset(
    organizationId: string,
    slug: string,
  ): ActivePreset | undefined | Promise<ActivePreset | undefined> {
    return this.#presets.get(`${organizationId}/${slug}`, { organizationId, slug })
  }
}

async function loadKeyContext(
  db: Db,
  key: ApiKey,
  index: LimitIndex,
): Promise<Omit<KeyContext, 'blockedEndUsers' | 'routingRules' | 'shadows'>> {
  const [
    layers,
    credits,
    owner,
    workspace,
    member,
    defaults,
    plugins,
    logging,
    destinations,
    byokKeys,
    aliases,
  ] = await Promise.all([
    loadLayers(db, key),
    loadCreditTotals(db, key.organization_id),
    loadOwnerAccount(db, key.organization_id),
    loadWorkspaceBudgets(db, key.workspace_id),
    findMemberLimit(db, key.creator_user_id),
    findWorkspaceDefaults(db, key.workspace_id),
    loadDefaultPlugins(db, key.organization_id),
    loadIoLogging(db, key.workspace_id),
    loadExportSettings(db, key.workspace_id),
    listByokKeys(db, key),
    loadModelAliases(db, key),
  ])
  const policy = computeEffectivePolicy(layers)
  const declared = splitDeclaredLimits(index.forKey(key), key)
  return {
    policy,
    guardrailIds: listGuardrailIds(layers),
    contentRules: buildContentRules(policy, await loadAllowedPhrases(db, key, policy)),
    meterScopes: [...listMeterScopes(key, member), ...declared.ledger.map(({ subject }) => subject)],
    limits: [
      ...listLimits(key, { grantedCredits: credits.total, workspace, member, budgets: policy.budgets }),
      ...declared.ledger,
    ],
    declaredLimits: declared.others,
    purchasedCredits: owner.purchased,
    freeSubject: owner.subject,
    ...defaults,
    tagRules: combineTagRules(defaults.tagRules, key.tag_rules),
    priority: key.priority,
    maxPriority: key.max_priority ?? key.priority,
    defaultSort: sorts.find((sort) => sort === defaults.defaultSort) ?? null,
    defaultPlugins: plugins.filter(isDefaultPlugin),
    logging,
    destinations,
    byokKeys,
    aliases,
  }
}

/** A version of this gateway that stored them may have had other settings. */
function isDefaultPlugin(value: unknown): value is DefaultPlugin {
  return defaultPlugin.safeParse(value).success
}

/** Loads the phrases if a filter is the injection detector, which alone reads them. */
export async function loadAllowedPhrases(
  db: Db,
  key: Pick<ApiKey, 'organization_id'>,
  policy: EffectivePolicy,
): Promise<string[]> {
  const filters = [...policy.content_filter_builtins, ...(policy.dry_run?.content_filter_builtins ?? [])]
  if (!filters.some(({ slug }) => slug === scopedBuiltin)) return []
  return (await listAllowedPhrases(db, key.organization_id)).map(({ phrase }) => phrase)
}
