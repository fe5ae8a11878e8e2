import { type RawBuilder, sql } from 'kysely'
import { windowStartsOf } from '../../../ledger/meter.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { BudgetInterval } from '../../../platform/db/schema.ts'

export const budgetOwners = ['workspace', 'member', 'key'] as const
export type BudgetOwner = (typeof budgetOwners)[number]

/** A limit in dollars on a workspace, a member or a key, and whose spending it limits. */
export interface UsedBudget {
  kind: BudgetOwner
  name: string
  subject: string
  interval: BudgetInterval
  include_byok: number
  /** Nano-dollars as text: not every driver reads large numbers of a combined query exactly. */
  amount: string
  workspace_id: string | null
  user_id: string | null
  key_hash: string | null
}

export interface BudgetSearch {
  organizationId: string
  /** Those of these workspaces, without members; null: all. */
  workspaceIds: readonly string[] | null
  /** The least share that is used. */
  minUsed: number
  /** The UTC day whose windows are compared. */
  day: string
  limit: number
}

/** The budgets of which at least that share is used, most used first, as the meters are stored. */
export async function findUsedBudgets(db: Db, search: BudgetSearch): Promise<UsedBudget[]> {
  const owners = search.workspaceIds === null ? budgetOwners : (['workspace', 'key'] as const)
  const all = sql.join(
    owners.map((owner) => sql`${selects[owner]} where ${conditionOf(search, owner)}`),
    sql` union all `,
  )
  const { rows } = await sql<UsedBudget>`
    select kind, name, budgets.subject, "interval", include_byok, cast(limit_nanos as text) as amount,
      workspace_id, user_id, key_hash
    from (${all}) budgets join meters on meters.subject = budgets.subject
    where ${spentIn(search.day)} >= limit_nanos * ${sql.lit(search.minUsed)}
    order by ${spentIn(search.day)} * 1.0 / limit_nanos desc, budgets.subject limit ${search.limit}
  `.execute(db)
  return rows
}

const selects: Readonly<Record<BudgetOwner, RawBuilder<unknown>>> = {
  workspace: sql`
    select 'workspace' as kind, workspaces.name, 'workspace:' || workspace_id as subject, "interval",
      include_byok_in_budgets as include_byok, limit_nanos, workspace_id, null as user_id, null as key_hash
    from workspace_budgets join workspaces on workspaces.id = workspace_id`,
  member: sql`
    select 'member' as kind, email as name, 'member_total:' || user_id as subject,
      coalesce(limit_reset, 'lifetime') as "interval", 0 as include_byok, limit_nanos, null as workspace_id,
      user_id, null as key_hash
    from member_limits join members on members.id = user_id`,
  key: sql`
    select 'key' as kind, name, 'key:' || id as subject, coalesce(limit_reset, 'lifetime') as "interval",
      include_byok_in_limit as include_byok, limit_nanos, workspace_id, creator_user_id as user_id,
      hash as key_hash
    from api_keys`,
}

const ownConditions: Readonly<Record<BudgetOwner, RawBuilder<unknown>>> = {
  workspace: sql`deleted_at is null`,
  member: sql`active = 1`,
  key: sql`limit_nanos is not null and kind = 'inference' and source <> 'session' and disabled = 0`,
}

/** A limit of nothing blocks its owner on purpose. */
function conditionOf({ organizationId, workspaceIds }: BudgetSearch, owner: BudgetOwner) {
  const places =
    workspaceIds === null
      ? sql`true`
      : workspaceIds.length === 0
        ? sql`false`
        : sql`workspace_id in (${sql.join([...workspaceIds])})`
  return sql`organization_id = ${organizationId} and limit_nanos > 0 and ${ownConditions[owner]} and ${places}`
}

/** What a meter has of the window of a budget that contains the day. */
function spentIn(day: string): RawBuilder<number> {
  const { week, month } = windowStartsOf(day)
  return sql`(case "interval"
    when 'daily' then case when day = ${day} then day_nanos + include_byok * byok_day_nanos else 0 end
    when 'weekly' then case when week = ${week} then week_nanos + include_byok * byok_week_nanos else 0 end
    when 'monthly' then case when month = ${month} then month_nanos + include_byok * byok_month_nanos else 0 end
    else total_nanos + include_byok * byok_total_nanos end)`
}
