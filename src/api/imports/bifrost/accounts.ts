import { sha256 } from '../../../platform/crypto/crypto.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { toSingleLine } from '../../../platform/validation/name-schema.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import { importedKey } from '../../identity/keys/imported-key.ts'
import { nameLimit, toNanos, toPlannedBudget, toRateWindow, toUsdLimit } from '../amounts.ts'
import { type AccountPlan, noAccounts, type PlannedLimit, type SkippedItem } from '../import-plan.ts'
import { assignSlugs } from '../slugs.ts'
import type { Variables } from '../source.ts'
import { resolveSecret } from './providers.ts'
import type { Budget, Configuration, VirtualKey } from './rows.ts'

interface Translation {
  accounts: AccountPlan
  skipped: SkippedItem[]
  governance: Configuration['governance']
  /** Slugs of workspaces by `team <id>` or `customer <id>`. */
  workspaces: ReadonlyMap<string, string>
  providers: readonly string[]
  variables: Variables
  now: number
}

/** Teams and customers are workspaces; what a customer has for all of its teams is counted by a tag of their keys. */
export function translateAccounts(
  { governance, providers }: Configuration,
  variables: Variables,
  now: number,
): { accounts: AccountPlan; skipped: SkippedItem[] } {
  const { teams, customers } = governance
  const workspaces = assignSlugs(
    [
      ...teams.map(({ id, name }) => ({ id: `team ${id}`, name })),
      ...customers.map(({ id, name }) => ({ id: `customer ${id}`, name })),
    ],
    'team',
  )
  const accounts: AccountPlan = { ...noAccounts, workspaces: [], keys: [], limits: [] }
  const names = Object.keys(providers)
  const translation: Translation = {
    accounts,
    skipped: [],
    governance,
    workspaces,
    providers: names,
    variables,
    now,
  }
  translateCustomers(translation)
  translateTeams(translation)
  for (const key of governance.virtual_keys) translateKey(translation, key)
  translateModelConfigs(translation)
  return translation
}

type OwnerColumn = 'team_id' | 'customer_id' | 'virtual_key_id'

/** In the store a budget names its owner, in config.json the owner names its budget. */
function listBudgets(
  { governance }: Translation,
  column: OwnerColumn,
  { id, budget_id }: { id: string; budget_id?: string | null | undefined },
): Budget[] {
  return governance.budgets.filter((budget) => budget[column] === id || budget.id === budget_id)
}

function addBudgetLimits(
  { accounts }: Translation,
  owner: string,
  match: PlannedLimit['match'],
  budgets: readonly Budget[],
): void {
  for (const budget of budgets)
    accounts.limits.push(
      ...toUsdLimit(owner, match, {
        amount: budget.max_limit,
        duration: budget.reset_duration,
        spend: budget.current_usage,
      }),
    )
}

function addRateLimits(
  { accounts, governance, skipped }: Translation,
  owner: string,
  match: PlannedLimit['match'],
  rateLimitId: string | null | undefined,
): void {
  const found = governance.rate_limits.find(({ id }) => id === rateLimitId)
  if (!found) return
  for (const measure of ['requests', 'tokens'] as const) {
    const field = measure === 'requests' ? 'request' : 'token'
    const [amount, duration] = [found[`${field}_max_limit`], found[`${field}_reset_duration`]]
    if (amount == null) continue
    const { window, isStricter } = toRateWindow(duration)
    const name = nameLimit(owner, `${measure} per ${window}`)
    accounts.limits.push({ name, measure, window, amount: Math.floor(amount), match, spend: 0n })
    if (isStricter)
      skipped.push({
        kind: 'limit',
        name,
        reason: `there is no window of ${duration}: the limit is per ${window}, which allows less`,
      })
  }
}

function translateCustomers(translation: Translation): void {
  const { accounts, governance, workspaces } = translation
  for (const customer of governance.customers) {
    const slug = workspaces.get(`customer ${customer.id}`) ?? ''
    accounts.workspaces.push({
      slug,
      name: toName(customer.name, slug),
      budget: null,
      spend: 0n,
      models: null,
    })
    const match = { tag: `customer=${slug}` }
    addBudgetLimits(
      translation,
      `Customer ${customer.name}`,
      match,
      listBudgets(translation, 'customer_id', customer),
    )
    addRateLimits(translation, `Customer ${customer.name}`, match, customer.rate_limit_id)
  }
}

function toName(name: string, slug: string): string {
  return toSingleLine(name).slice(0, 100) || slug
}

function translateTeams(translation: Translation): void {
  const { accounts, skipped, governance, workspaces } = translation
  for (const team of governance.teams) {
    const slug = workspaces.get(`team ${team.id}`) ?? ''
    const [first, ...others] = listBudgets(translation, 'team_id', team)
    const budget = toPlannedBudget(first?.max_limit, first?.reset_duration, (reason) =>
      skipped.push({ kind: 'workspace', name: slug, reason }),
    )
    accounts.workspaces.push({
      slug,
      name: toName(team.name, slug),
      budget,
      spend: toNanos(first?.current_usage),
      models: null,
    })
    addBudgetLimits(translation, team.name, { workspace: slug }, others)
    addRateLimits(translation, team.name, { workspace: slug }, team.rate_limit_id)
  }
}

function translateKey(translation: Translation, row: VirtualKey): void {
  const { accounts, skipped, governance, workspaces, now } = translation
  const name = toSingleLine(row.name).slice(0, 200) || row.id
  const skip = (reason: string) => skipped.push({ kind: 'key', name, reason })
  const hash = hashOf(row, translation.variables)
  if ('problem' in hash) return void skip(hash.problem)
  const expires = row.expires_at ? Date.parse(row.expires_at) : null
  if (expires !== null && expires <= now) return void skip('has expired')
  const team = governance.teams.find(({ id }) => id === row.team_id)
  const customer = row.customer_id ?? team?.customer_id
  const workspace = workspaces.get(team ? `team ${team.id}` : `customer ${row.customer_id}`)
  const customerSlug = workspaces.get(`customer ${customer}`)
  const [first, ...others] = listBudgets(translation, 'virtual_key_id', row)
  const limit = toPlannedBudget(first?.max_limit, first?.reset_duration, skip)
  const spend = usdFromNanos(toNanos(first?.current_usage))
  const models = listModels(row, translation, skip)
  const result = importedKey.safeParse({
    hash: hash.value,
    name,
    ...(workspace !== undefined && { workspace }),
    ...(customerSlug !== undefined && { tags: { set: { customer: customerSlug } } }),
    ...(limit && { limit: usdFromNanos(limit.amount), limit_reset: limit.reset }),
    ...(expires !== null && { expires_at: new Date(expires).toISOString() }),
    disabled: row.is_active === false || models === 'none',
    spend,
    ...(limit?.reset && { spend_in_window: spend }),
  })
  if (!result.success) {
    const [issue] = flattenIssues(result.error)
    return void skip(`${issue?.path.join('.')}: ${issue?.message}`)
  }
  accounts.keys.push({
    key: { ...result.data, hash: hash.value },
    models: models === 'none' || models === 'all' ? null : models,
  })
  addBudgetLimits(translation, name, { keyHash: hash.value }, others)
  addRateLimits(translation, name, { keyHash: hash.value }, row.rate_limit_id)
}

/** The store has a hash beside the secret, which may be encrypted. */
function hashOf(row: VirtualKey, variables: Variables): { value: string } | { problem: string } {
  if (/^[0-9a-f]{64}$/.test(row.value_hash ?? '')) return { value: row.value_hash ?? '' }
  const secret = row.encryption_status === 'encrypted' ? undefined : resolveSecret(row.value, variables)
  if (!secret) return { problem: 'has no secret that could be read' }
  return 'missing' in secret
    ? { problem: `not set: ${secret.missing}; give --env` }
    : { value: sha256(secret.value) }
}

/** The only models of a key. One that names no provider may call nothing there. */
function listModels(
  { provider_configs }: VirtualKey,
  { providers }: Translation,
  skip: (reason: string) => void,
): string[] | 'all' | 'none' {
  const configs = provider_configs ?? []
  if (configs.length === 0) {
    skip('names no provider, so it may call nothing there: it is imported disabled')
    return 'none'
  }
  const whole = configs.filter(({ allowed_models }) => allowed_models?.includes('*'))
  if (whole.length === 0)
    return configs.flatMap(({ provider, allowed_models }) =>
      (allowed_models ?? []).map((model) => `${provider}/${model}`),
    )
  const named = new Set(whole.map(({ provider }) => provider))
  if (!providers.every((provider) => named.has(provider)))
    skip(
      `is limited to ${[...named].join(', ')} there: assign a guardrail with allowed_providers, docs/guardrails.md`,
    )
  return 'all'
}

function translateModelConfigs(translation: Translation): void {
  const { governance } = translation
  for (const { model_name, provider, budget_id, rate_limit_id } of governance.model_configs) {
    const owner = `Model ${model_name}`
    const match = provider ? { models: [`${provider}/${model_name}`] } : { models: [model_name] }
    const budgets = governance.budgets.filter(({ id }) => id === budget_id)
    addBudgetLimits(translation, owner, match, budgets)
    addRateLimits(translation, owner, match, rate_limit_id)
  }
}
