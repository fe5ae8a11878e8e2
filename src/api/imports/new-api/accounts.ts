import { z } from 'zod'
import { isTagValue } from '../../../governance/tags/tag.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { toSingleLine } from '../../../platform/validation/name-schema.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import { importedKey } from '../../identity/keys/imported-key.ts'
import { nameLimit, toNanos } from '../amounts.ts'
import { type AccountPlan, noAccounts, type SkippedItem } from '../import-plan.ts'
import { assignSlugs } from '../slugs.ts'
import { splitList } from './channels.ts'
import type { ApiDatabase, Token, User } from './rows.ts'

const defaultGroup = 'default'
const usdScale = 1e9
const statuses = { enabled: 1, expired: 3 } as const
const adminRole = 10

interface Owner {
  user: User
  /** Null without an e-mail address: the keys then have a tag, which a limit counts. */
  email: string | null
  tag: string
}

interface Translation {
  accounts: AccountPlan
  skipped: SkippedItem[]
  quotaPerUsd: number
  owners: ReadonlyMap<number, Owner>
  workspaces: ReadonlyMap<string, string>
  modelsOf: ReadonlyMap<string, ReadonlySet<string>>
  now: number
}

/** Users, groups and tokens; quotas in dollars. */
export function translateAccounts(
  database: ApiDatabase,
  modelsOf: ReadonlyMap<string, ReadonlySet<string>>,
  now: number,
): { accounts: AccountPlan; skipped: SkippedItem[] } {
  const owners = new Map(database.users.map((user) => [user.id, describeOwner(user)]))
  const groups = listGroups(database)
  const workspaces = assignSlugs(
    groups.map((group) => ({ id: group, name: group })),
    'group',
  )
  const accounts: AccountPlan = { ...noAccounts, workspaces: [], members: [], keys: [], limits: [] }
  const quotaPerUsd = Number(database.options.get('QuotaPerUnit')) || 500_000
  const translation = { accounts, skipped: [], quotaPerUsd, owners, workspaces, modelsOf, now }
  translateGroups(translation, groups)
  for (const owner of owners.values()) translateUser(translation, owner, database.tokens)
  for (const token of database.tokens) translateToken(translation, token)
  return translation
}

function describeOwner(user: User): Owner {
  const email = z.email().max(254).safeParse(user.email?.trim()).data ?? null
  const name = user.username ?? ''
  return { user, email, tag: isTagValue(name) && name !== '' ? name : `user-${user.id}` }
}

/** The groups of users and tokens, besides the one that every user begins with. */
function listGroups({ users, tokens }: ApiDatabase): string[] {
  const named = [...users, ...tokens].map(({ group }) => group ?? '')
  return [...new Set(named)]
    .filter((group) => group !== '' && group !== defaultGroup && group !== 'auto')
    .sort()
}

function translateGroups(
  { accounts, modelsOf, skipped, workspaces }: Translation,
  groups: readonly string[],
): void {
  const all = new Set([...modelsOf.values()].flatMap((models) => [...models]))
  for (const group of groups) {
    const models = modelsOf.get(group)
    const slug = workspaces.get(group) ?? ''
    accounts.workspaces.push({
      slug,
      name: toSingleLine(group).slice(0, 100) || slug,
      budget: null,
      spend: 0n,
      models: models && models.size < all.size ? [...models] : null,
    })
    if (!models) skipped.push({ kind: 'workspace', name: slug, reason: 'no channel serves the group there' })
  }
  const own = modelsOf.get(defaultGroup)
  if (own && own.size < all.size)
    skipped.push({
      kind: 'setting',
      name: `group ${defaultGroup}`,
      reason:
        'its keys may use the models of all groups: set `allowed_models` of the default guardrail, docs/guardrails.md',
    })
}

function toUsd(quota: number, { quotaPerUsd }: Translation): number {
  return Math.round((quota / quotaPerUsd) * usdScale) / usdScale
}

function translateUser(
  translation: Translation,
  { user, email, tag }: Owner,
  tokens: readonly Token[],
): void {
  const { accounts, skipped, workspaces } = translation
  const spent = toUsd(user.used_quota, translation)
  const total = Math.max(0, toUsd(user.quota + user.used_quota, translation))
  const name = email ?? user.username ?? tag
  const own = tokens.filter(({ user_id }) => user_id === user.id)
  const slugs = [user.group, ...own.map(({ group }) => group)].flatMap(
    (group) => workspaces.get(group ?? '') ?? [],
  )
  if (email !== null)
    accounts.members.push({
      email,
      budget: { amount: toNanos(total), reset: null },
      spend: toNanos(spent),
      workspaces: [...new Set(slugs)],
    })
  else if (own.length > 0) {
    const match = { tag: `user=${tag}` }
    const limit = { measure: 'usd' as const, window: 'lifetime' as const, amount: total, match }
    accounts.limits.push({ name: nameLimit(`User ${tag}`, 'quota'), ...limit, spend: toNanos(spent) })
    const reason = `has no e-mail address, with which members sign in: its keys have the tag user=${tag}, which a limit counts`
    skipped.push({ kind: 'member', name, reason })
  }
  if (email !== null && user.role >= adminRole)
    skipped.push({
      kind: 'member',
      name,
      reason: 'was an admin: members are imported without rights of admins',
    })
}

function translateToken(translation: Translation, token: Token): void {
  const { accounts, skipped, owners, workspaces, now } = translation
  const secret = `sk-${token.key.trim().replace(/^sk-/, '')}`
  const name = toSingleLine(token.name ?? '').slice(0, 200) || `Token ${token.id}`
  const skip = (reason: string) => skipped.push({ kind: 'key', name, reason })
  const owner = owners.get(token.user_id)
  const expires = token.expired_time > 0 ? token.expired_time * 1000 : null
  if (!owner) return void skip('its user does not exist')
  if (token.status === statuses.expired || (expires !== null && expires <= now))
    return void skip('has expired')
  const workspace = workspaces.get(token.group || owner.user.group || '')
  const spent = toUsd(token.used_quota, translation)
  const limit = token.unlimited_quota
    ? null
    : Math.max(0, toUsd(token.remain_quota + token.used_quota, translation))
  const result = importedKey.safeParse({
    hash: sha256(secret),
    name,
    label: `${secret.slice(0, 6)}...${secret.slice(-4)}`,
    ...(workspace !== undefined && { workspace }),
    ...(owner.email === null ? { tags: { set: { user: owner.tag } } } : { owner: owner.email }),
    ...(limit !== null && { limit }),
    ...(expires !== null && { expires_at: new Date(expires).toISOString() }),
    // One that has used up its quota is limited, and works again with a higher one.
    disabled: token.status === 2 || owner.user.status !== statuses.enabled,
    spend: spent,
  })
  if (!result.success) {
    const [issue] = flattenIssues(result.error)
    return void skip(`${issue?.path.join('.')}: ${issue?.message}`)
  }
  const models = splitList(token.model_limits_enabled ? token.model_limits : token.models)
  accounts.keys.push({
    key: { ...result.data, hash: sha256(secret) },
    models: models.length > 0 ? models : null,
  })
  if (token.allow_ips?.trim() || token.subnet?.trim())
    skip('its addresses are not restricted here: allow them in a proxy before the gateway')
  if (token.group === 'auto') skip('group auto: it uses the models of its workspace')
}
