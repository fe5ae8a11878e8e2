import { z } from 'zod'
import type { TableOrders } from '../postgres-tables.ts'
import { parseRow } from '../rows.ts'
import type { Tables as SourceTables } from '../source.ts'

const amount = z.number().nonnegative().nullish().catch(null)
const count = z.number().nonnegative().nullish().catch(null)
const text = z.string().nullish().catch(null)
const names = z.array(z.string()).nullish().catch(null)

/** What a key, team, user or budget may spend and ask in a window. */
const budgetFields = {
  max_budget: amount,
  soft_budget: amount,
  budget_duration: text,
  tpm_limit: count,
  rpm_limit: count,
  tpd_limit: count,
  max_parallel_requests: count,
  model_max_budget: z.record(z.string(), z.unknown()).nullish().catch(null),
}

const budgetRow = z.object({ budget_id: z.string(), ...budgetFields })

const teamRow = z.object({
  team_id: z.string(),
  team_alias: text,
  members_with_roles: z.array(z.object({ user_id: text })).catch([]),
  spend: amount,
  models: names,
  blocked: z.boolean().nullish(),
  model_id: z.number().nullish().catch(null),
  ...budgetFields,
})

const userRow = z.object({
  user_id: z.string(),
  user_email: text,
  user_role: text,
  spend: amount,
  models: names,
  ...budgetFields,
})

const keyRow = z.object({
  token: z.string(),
  key_name: text,
  key_alias: text,
  spend: amount,
  total_spend: amount,
  expires: text,
  models: names,
  aliases: z.record(z.string(), z.unknown()).nullish().catch(null),
  user_id: text,
  team_id: text,
  metadata: z.object({ tags: names }).nullish().catch(null),
  blocked: z.boolean().nullish(),
  allowed_routes: names,
  budget_id: text,
  ...budgetFields,
})

const membershipRow = z.object({ user_id: z.string(), team_id: z.string(), spend: amount, budget_id: text })

const endUserRow = z.object({
  user_id: z.string(),
  spend: amount,
  budget_id: text,
  blocked: z.boolean().nullish(),
  default_model: text,
})

const tagRow = z.object({ tag_name: z.string(), spend: amount, budget_id: text, models: names })
const organizationRow = z.object({ organization_id: z.string(), organization_alias: text })
const anyObject = z.record(z.string(), z.unknown())
const modelRow = z.object({
  model_name: z.string(),
  litellm_params: anyObject.catch({}),
  model_info: anyObject.nullish().catch(null),
  blocked: z.boolean().nullish().catch(null),
})
const credentialRow = z.object({ credential_name: z.string(), credential_values: anyObject.catch({}) })

/** The tables that are read, by their names here, and the columns that they are read in the order of. */
export const tables = {
  budgets: { name: 'LiteLLM_BudgetTable', order: 'budget_id', row: budgetRow },
  teams: { name: 'LiteLLM_TeamTable', order: 'team_id', row: teamRow },
  users: { name: 'LiteLLM_UserTable', order: 'user_id', row: userRow },
  keys: { name: 'LiteLLM_VerificationToken', order: 'token', row: keyRow },
  memberships: { name: 'LiteLLM_TeamMembership', order: 'team_id, user_id', row: membershipRow },
  endUsers: { name: 'LiteLLM_EndUserTable', order: 'user_id', row: endUserRow },
  tags: { name: 'LiteLLM_TagTable', order: 'tag_name', row: tagRow },
  organizations: { name: 'LiteLLM_OrganizationTable', order: 'organization_id', row: organizationRow },
  models: { name: 'LiteLLM_ProxyModelTable', order: 'model_id', row: modelRow },
  credentials: { name: 'LiteLLM_CredentialsTable', order: 'credential_name', row: credentialRow },
} as const

type Tables = typeof tables
export type LiteLlmDatabase = { [T in keyof Tables]: z.output<Tables[T]['row']>[] }
export type Budget = Omit<z.output<typeof budgetRow>, 'budget_id'>
export type Team = z.output<typeof teamRow>
export type Key = z.output<typeof keyRow>

/** The tables by their names there. */
export const tableOrders: TableOrders = Object.fromEntries(
  Object.values(tables).map(({ name, order }) => [name, order]),
)

/** Validates the rows of each table. */
export function readRows(read: SourceTables): LiteLlmDatabase {
  return Object.fromEntries(
    Object.entries(tables).map(([key, { name, row }]) => [
      key,
      (read.get(name) ?? []).map((value) => parseRow(name, row, value)),
    ]),
  ) as unknown as LiteLlmDatabase
}
