import { isTagName, isTagValue, splitTag } from '../../../governance/tags/tag.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { toSingleLine } from '../../../platform/validation/name-schema.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import { importedKey } from '../../identity/keys/imported-key.ts'
import { toNanos } from '../amounts.ts'
import type { AccountPlan, SkippedItem } from '../import-plan.ts'
import { listUnreadBudget, toBudget, toRateLimits } from './budgets.ts'
import type { Budget, Key } from './database-rows.ts'

export interface KeyOwners {
  /** Slugs of workspaces by team. */
  workspaces: ReadonlyMap<string, string>
  blockedTeams: ReadonlySet<string>
  /** E-mail addresses of members by user. */
  members: ReadonlyMap<string, string>
  budgets: ReadonlyMap<string, Budget>
  now: number
}

/** The team of sessions of LiteLLM's own console. */
const consoleTeam = 'litellm-dashboard'

export interface TranslatedKeys extends Pick<AccountPlan, 'keys' | 'limits'> {
  skipped: SkippedItem[]
}

export function translateKeys(rows: readonly Key[], owners: KeyOwners): TranslatedKeys {
  const translated: TranslatedKeys = { keys: [], limits: [], skipped: [] }
  for (const row of rows) {
    if (row.team_id === consoleTeam) continue
    const name = nameKey(row)
    const problem = findProblem(row, owners)
    if (problem) translated.skipped.push({ kind: 'key', name, reason: problem })
    else translateKey(translated, row, name, owners)
  }
  return translated
}

function nameKey({ token, key_alias, key_name }: Key): string {
  return toSingleLine(key_alias || key_name || '').slice(0, 200) || `Key ${token.slice(0, 8)}`
}

/** Why a key is not imported. */
function findProblem(row: Key, { now, workspaces }: KeyOwners): string | null {
  if (!/^[0-9a-f]{64}$/i.test(row.token)) return 'is not stored as a SHA-256'
  const expires = row.expires ? Date.parse(toUtc(row.expires)) : Number.NaN
  if (expires <= now) return 'has expired'
  // With a key that only manages LiteLLM, a client could call models here.
  const routes = row.allowed_routes ?? []
  if (routes.length > 0 && !routes.some(isModelRoute))
    return 'calls no models there; create a management key: docs/permissions.md'
  if (row.team_id && !workspaces.has(row.team_id)) return 'its team does not exist'
  return null
}

function isModelRoute(route: string): boolean {
  return route === 'llm_api_routes' || /^\/(v1\/|chat|completions|embeddings|responses|\*)/.test(route)
}

/** Timestamps of the database have no zone and are UTC. */
function toUtc(text: string): string {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`
  const time = Date.parse(zoned)
  return Number.isNaN(time) ? text : new Date(time).toISOString()
}

function translateKey(translated: TranslatedKeys, row: Key, name: string, owners: KeyOwners): void {
  const { keys, limits, skipped } = translated
  const skip = (reason: string) => skipped.push({ kind: 'key', name, reason })
  const shared = owners.budgets.get(row.budget_id ?? '')
  const budget: Budget = shared ? fillBudget(row, shared) : row
  const limit = toBudget(budget, skip)
  const owner = owners.members.get(row.user_id ?? '')
  const workspace = owners.workspaces.get(row.team_id ?? '')
  const inWindow = toNanos(row.spend)
  const spend = [toNanos(row.total_spend), inWindow].reduce((a, b) => (a > b ? a : b))
  const tags = toTags(row.metadata?.tags ?? [], skip)
  const result = importedKey.safeParse({
    hash: row.token,
    name,
    ...(row.key_name && { label: toSingleLine(row.key_name).slice(0, 64) }),
    ...(workspace !== undefined && { workspace }),
    ...(owner !== undefined && { owner }),
    ...(limit && { limit: usdFromNanos(limit.amount), limit_reset: limit.reset }),
    ...(row.expires && { expires_at: toUtc(row.expires) }),
    disabled: row.blocked === true || owners.blockedTeams.has(row.team_id ?? ''),
    ...(Object.keys(tags).length > 0 && { tags: { set: tags } }),
    spend: usdFromNanos(spend),
    ...(limit?.reset && { spend_in_window: usdFromNanos(inWindow) }),
  })
  if (!result.success) {
    const [issue] = flattenIssues(result.error)
    skip(`${issue?.path.join('.')}: ${issue?.message}`)
    return
  }
  const hash = row.token.toLowerCase()
  keys.push({ key: { ...result.data, hash }, models: toModels(row.models) })
  limits.push(...toRateLimits(name, { keyHash: hash }, budget))
  skipped.push(...listUnreadBudget('key', name, budget))
  if (row.user_id && owner === undefined) skip('its user is not a member here: the key has no owner')
  if (Object.keys(row.aliases ?? {}).length > 0) skip('aliases: create model aliases of the workspace')
}

/** What a key does not say itself is said by its budget. */
function fillBudget(own: Budget, shared: Budget): Budget {
  const filled = Object.entries(shared).map(([field, value]) => [field, own[field as keyof Budget] ?? value])
  return Object.fromEntries(filled) as Budget
}

/** Names that stand for every model that a team or the proxy has. */
const everyModel: ReadonlySet<string> = new Set(['all-proxy-models', 'all-team-models', '*'])

/** The only models; null: all. */
export function toModels(models: readonly string[] | null | undefined): string[] | null {
  if (!models || models.length === 0 || models.some((name) => everyModel.has(name))) return null
  return [...models]
}

/** Tags of a list may be plain words. */
function toTags(tags: readonly string[], skip: (reason: string) => void): Record<string, string> {
  const pairs = tags.map((tag) => splitTag(tag, /[:=]/))
  const valid = pairs.filter(({ name, value }) => isTagName(name) && isTagValue(value))
  if (valid.length < pairs.length) skip('some of its tags have characters that tags cannot have')
  return Object.fromEntries(valid.map(({ name, value }) => [name, value]))
}
