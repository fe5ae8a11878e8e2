import { z } from 'zod'
import { isTagName, isTagValue, splitTag } from '../../../governance/tags/tag.ts'
import { toSingleLine } from '../../../platform/validation/name-schema.ts'
import { toNanos } from '../amounts.ts'
import type { AccountPlan, PlannedLimit, SkippedItem } from '../import-plan.ts'
import { assignSlugs } from '../slugs.ts'
import { listUnreadBudget, toBudget, toRateLimits, toSpendLimit } from './budgets.ts'
import type { Budget, LiteLlmDatabase } from './database-rows.ts'
import { toModels, translateKeys } from './translate-keys.ts'

interface Translation {
  accounts: AccountPlan
  skipped: SkippedItem[]
}

/** Teams, users, keys, end users and tags with their budgets, in the words of this gateway. */
export function translateDatabase(database: LiteLlmDatabase, now: number): Translation {
  const budgets: ReadonlyMap<string, Budget> = new Map(
    database.budgets.map((budget) => [budget.budget_id, budget]),
  )
  const workspaces = assignSlugs(
    database.teams.map(({ team_id, team_alias }) => ({ id: team_id, name: team_alias })),
    'team',
  )
  const members = new Map(
    database.users.flatMap(({ user_id, user_email }) => {
      const email = z.email().max(254).safeParse(user_email?.trim()).data
      return email === undefined ? [] : [[user_id, email] as const]
    }),
  )
  const blockedTeams = new Set(database.teams.flatMap(({ team_id, blocked }) => (blocked ? [team_id] : [])))
  const translation: Translation = {
    accounts: { workspaces: [], members: [], keys: [], limits: [], blockedEndUsers: [] },
    skipped: [],
  }
  translateTeams(translation, database, workspaces)
  translateUsers(translation, database, { members, workspaces })
  const keys = translateKeys(database.keys, { workspaces, members, budgets, blockedTeams, now })
  translation.accounts.keys.push(...keys.keys)
  translation.accounts.limits.push(...keys.limits)
  translation.skipped.push(...keys.skipped)
  translateMemberships(translation, database, { members, workspaces, budgets })
  translateEndUsers(translation, database, budgets)
  translateTags(translation, database, budgets)
  translation.skipped.push(...listUnreadTables(database))
  return translation
}

function translateTeams(
  { accounts, skipped }: Translation,
  { teams }: LiteLlmDatabase,
  workspaces: ReadonlyMap<string, string>,
): void {
  for (const team of teams) {
    const slug = workspaces.get(team.team_id) ?? ''
    const skip = (reason: string) => skipped.push({ kind: 'workspace', name: slug, reason })
    accounts.workspaces.push({
      slug,
      name: toSingleLine(team.team_alias ?? '').slice(0, 100) || slug,
      budget: toBudget(team, skip),
      spend: toNanos(team.spend),
      models: toModels(team.models),
    })
    accounts.limits.push(...toRateLimits(slug, { workspace: slug }, team))
    skipped.push(...listUnreadBudget('workspace', slug, team))
    if (team.blocked) skip('is blocked there: its keys are imported disabled')
    if (typeof team.model_id === 'number') skip('model aliases of the team: create them in the workspace')
  }
}

interface People {
  members: ReadonlyMap<string, string>
  workspaces: ReadonlyMap<string, string>
}

function translateUsers(
  { accounts, skipped }: Translation,
  { users, teams, memberships }: LiteLlmDatabase,
  { members, workspaces }: People,
): void {
  const teamsOf = Map.groupBy(
    [
      ...teams.flatMap(({ team_id, members_with_roles }) =>
        members_with_roles.map(({ user_id }) => ({ user_id, team_id })),
      ),
      ...memberships,
    ],
    ({ user_id }) => user_id,
  )
  for (const user of users) {
    const email = members.get(user.user_id)
    const name = email ?? user.user_id
    const skip = (reason: string) => skipped.push({ kind: 'member', name, reason })
    if (email === undefined) {
      skip('has no e-mail address; members sign in with one')
      continue
    }
    const slugs = (teamsOf.get(user.user_id) ?? []).flatMap(({ team_id }) => workspaces.get(team_id) ?? [])
    accounts.members.push({
      email,
      budget: toBudget(user, skip),
      spend: toNanos(user.spend),
      workspaces: [...new Set(slugs)],
    })
    accounts.limits.push(...toRateLimits(email, { member: email }, user))
    skipped.push(...listUnreadBudget('member', email, user))
    if (user.user_role?.startsWith('proxy_admin'))
      skip(`was ${user.user_role}: members are imported without rights of admins`)
    const models = toModels(user.models)?.filter((model) => model !== 'no-default-models') ?? []
    if (models.length > 0) skip('models of the user: assign a guardrail: docs/guardrails.md')
  }
}

function translateMemberships(
  { accounts, skipped }: Translation,
  { memberships }: LiteLlmDatabase,
  { members, workspaces, budgets }: People & { budgets: ReadonlyMap<string, Budget> },
): void {
  for (const { user_id, team_id, spend, budget_id } of memberships) {
    const budget = budgets.get(budget_id ?? '')
    if (!budget) continue
    const [email, slug] = [members.get(user_id), workspaces.get(team_id)]
    const name = `${email ?? user_id} in ${slug ?? team_id}`
    if (email === undefined || slug === undefined)
      skipped.push({ kind: 'limit', name, reason: 'the member or the team is not imported' })
    else addLimits(accounts.limits, name, { member: email, workspace: slug }, budget, spend)
  }
}

function addLimits(
  limits: PlannedLimit[],
  name: string,
  match: PlannedLimit['match'],
  budget: Budget,
  spend: number | null | undefined,
): void {
  limits.push(...toSpendLimit(name, match, budget, spend), ...toRateLimits(name, match, budget))
}

function translateEndUsers(
  { accounts, skipped }: Translation,
  { endUsers }: LiteLlmDatabase,
  budgets: ReadonlyMap<string, Budget>,
): void {
  for (const { user_id, spend, budget_id, blocked, default_model } of endUsers) {
    if (blocked) accounts.blockedEndUsers.push(user_id)
    const budget = budgets.get(budget_id ?? '')
    if (budget) addLimits(accounts.limits, `End user ${user_id}`, { endUser: user_id }, budget, spend)
    if (default_model)
      skipped.push({ kind: 'end user', name: user_id, reason: 'default_model: docs/routing-rules.md' })
  }
}

function translateTags(
  { accounts, skipped }: Translation,
  { tags }: LiteLlmDatabase,
  budgets: ReadonlyMap<string, Budget>,
): void {
  for (const { tag_name, spend, budget_id, models } of tags) {
    const { name, value } = splitTag(tag_name, /[:=]/)
    const skip = (reason: string) => skipped.push({ kind: 'tag', name: tag_name, reason })
    const budget = budgets.get(budget_id ?? '')
    if (!isTagName(name) || !isTagValue(value)) skip('has characters that tags cannot have')
    else if (budget) addLimits(accounts.limits, `Tag ${tag_name}`, { tag: `${name}=${value}` }, budget, spend)
    if (models && models.length > 0) skip('models of the tag: create a routing rule: docs/routing-rules.md')
  }
}

function listUnreadTables({ organizations }: LiteLlmDatabase): SkippedItem[] {
  return organizations.map(({ organization_id, organization_alias }) => ({
    kind: 'organization',
    name: organization_alias ?? organization_id,
    reason: 'its teams are imported into this organization, its budget is not',
  }))
}
