import { SQL } from 'bun'
import { createDatabase, type TestDatabase } from './databases.ts'

/** The columns that an import reads, with the types that LiteLLM declares. */
const budget = `max_budget double precision, soft_budget double precision, budget_duration text, tpm_limit bigint,
  rpm_limit bigint, tpd_limit bigint, max_parallel_requests int, model_max_budget jsonb default '{}'`
const spend = 'spend double precision not null default 0'
const tables = [
  `"LiteLLM_BudgetTable" (budget_id text primary key, ${budget})`,
  `"LiteLLM_OrganizationTable" (organization_id text primary key, organization_alias text)`,
  `"LiteLLM_TeamTable" (team_id text primary key, team_alias text, members_with_roles jsonb default '{}', ${spend},
    models text[], blocked boolean default false, model_id int, ${budget})`,
  `"LiteLLM_UserTable" (user_id text primary key, user_email text, user_role text, ${spend}, models text[], ${budget})`,
  `"LiteLLM_VerificationToken" (token text primary key, key_name text, key_alias text, ${spend},
    total_spend double precision not null default 0, expires timestamp(3), models text[], aliases jsonb default '{}',
    user_id text, team_id text, metadata jsonb default '{}', blocked boolean, allowed_routes text[] default '{}',
    budget_id text, ${budget})`,
  `"LiteLLM_TeamMembership" (user_id text, team_id text, ${spend}, budget_id text, primary key (user_id, team_id))`,
  `"LiteLLM_EndUserTable" (user_id text primary key, ${spend}, budget_id text, blocked boolean default false,
    default_model text)`,
  `"LiteLLM_ProxyModelTable" (model_id text primary key, model_name text, litellm_params jsonb, model_info jsonb,
    blocked boolean default false)`,
  `"LiteLLM_CredentialsTable" (credential_id text primary key, credential_name text, credential_values jsonb)`,
]

export interface LiteLlmSource extends TestDatabase {
  /** Changes its rows, as LiteLLM does while it serves. */
  run: (statement: string) => Promise<void>
}

/** A PostgreSQL database with LiteLLM's tables and the rows of each. */
export async function createLiteLlmDatabase(
  rows: Record<string, Record<string, unknown>[]>,
  more: readonly string[] = [],
): Promise<LiteLlmSource> {
  const database = await createDatabase()
  const client = new SQL(database.url, { max: 1 })
  for (const table of [...tables, ...more]) await client.unsafe(`create table ${table}`)
  for (const [table, values] of Object.entries(rows))
    for (const row of values)
      await client.unsafe(
        `insert into "LiteLLM_${table}" (${Object.keys(row).join(', ')})
          select ${Object.keys(row).join(', ')} from jsonb_populate_record(null::"LiteLLM_${table}", $1::text::jsonb)`,
        [JSON.stringify(row)],
      )
  await client.close({ timeout: 1 })
  return {
    ...database,
    run: async (statement) => {
      const session = new SQL(database.url, { max: 1 })
      await session.unsafe(statement)
      await session.close({ timeout: 1 })
    },
  }
}
