import { type RawBuilder, sql } from 'kysely'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import type { Db } from '../../platform/db/db.ts'
import type { BudgetInterval } from '../../platform/db/schema.ts'
import { toFlag } from '../../platform/db/values.ts'
import { type Clock, isoNow } from '../../platform/time/clock.ts'
import type { Pagination } from '../../platform/validation/query-params.ts'
import { isDefaultGuardrail } from '../policy/default-guardrail.ts'
import type { GuardrailRow } from '../policy/guardrail.ts'
import { type LimitRow, listLimitRowsById } from './store.ts'

/** Where a limit is declared: by itself, in headgate.yaml, or with the record it belongs to. */
export const limitSources = ['limit', 'settings', 'key', 'member', 'workspace', 'guardrail'] as const
export type LimitSource = (typeof limitSources)[number]

export function isAttachedSource(source: LimitSource): source is AttachedLimit['source'] {
  return source !== 'limit' && source !== 'settings'
}

/** The spending limit of a key, a member or a guardrail, or a budget of a workspace. */
export interface AttachedLimit {
  source: Exclude<LimitSource, 'limit' | 'settings'>
  /** The hash of a key, the id of a member or guardrail, or `<workspace id>:<interval>`. */
  owner: string
  name: string
  /** Nano-dollars. */
  amount: bigint
  interval: BudgetInterval
  includeByok: boolean
  workspaceId: string | null
  keyId: number | null
  createdAt: string
  updatedAt: string
}

export interface LimitFilter {
  organizationId: string
  /** Those of these workspaces only; null: all. */
  workspaceIds: readonly string[] | null
  source: LimitSource | null
  keyId: number | null
  tier: string | null
}

interface ListedLimit {
  source: LimitSource
  owner: string
  name: string
  /** As text: not every driver reads large numbers of a combined query exactly. */
  amount: string
  interval: BudgetInterval | null
  include_byok: number
  workspace_id: string | null
  key_id: number | null
  created_at: string
  updated_at: string
}

/** Declared limits and those that belong to a record, oldest first. */
export async function listAllLimits(
  db: Db,
  filter: LimitFilter,
  { offset, limit }: Pagination,
): Promise<{ limits: (LimitRow | AttachedLimit)[]; total: number }> {
  const all = selectAll(filter)
  const { rows: counted } = await sql<{ count: number }>`select count(*) as count from (${all}) l`.execute(db)
  const { rows } = await sql<ListedLimit>`
    select * from (${all}) l order by created_at, source, owner limit ${limit} offset ${offset}
  `.execute(db)
  const declaredIds = rows.filter(({ source }) => !isAttachedSource(source)).map(({ owner }) => owner)
  const declared = new Map((await listLimitRowsById(db, declaredIds)).map((row) => [row.id, row]))
  const limits = rows.flatMap((row) => toAttached(row) ?? declared.get(row.owner) ?? [])
  return { limits, total: Number(counted[0]?.count ?? 0) }
}

/** Undefined if the record has no limit. */
export async function findAttachedLimit(
  db: Db,
  organizationId: string,
  { source, owner }: Pick<AttachedLimit, 'source' | 'owner'>,
): Promise<AttachedLimit | undefined> {
  const all = selectAll({ organizationId, workspaceIds: null, source, keyId: null, tier: null })
  const { rows } = await sql<ListedLimit>`select * from (${all}) l where owner = ${owner}`.execute(db)
  return rows[0] && toAttached(rows[0])
}

function toAttached(row: ListedLimit): AttachedLimit | undefined {
  const { source } = row
  if (!isAttachedSource(source) || row.interval === null) return undefined
  return {
    source,
    owner: row.owner,
    name: row.name,
    amount: BigInt(row.amount),
    interval: row.interval,
    includeByok: row.include_byok === 1,
    workspaceId: row.workspace_id,
    keyId: row.key_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** One query for all sources, so that they are one list with pages. */
function selectAll(filter: LimitFilter): RawBuilder<unknown> {
  const sources = filter.source === null ? limitSources : [filter.source]
  return sql.join(
    sources.map((source) => sql`${columnsOf[source]} where ${conditionOf(filter, source)}`),
    sql` union all `,
  )
}

const columnsOf: Readonly<Record<LimitSource, RawBuilder<unknown>>> = {
  limit: selectDeclared('limit'),
  settings: selectDeclared('settings'),
  key: sql`
    select 'key' as source, hash as owner, name, cast(limit_nanos as text) as amount,
      coalesce(limit_reset, 'lifetime') as "interval", include_byok_in_limit as include_byok, workspace_id,
      id as key_id, created_at, coalesce(updated_at, created_at) as updated_at
    from api_keys`,
  member: sql`
    select 'member' as source, user_id as owner, email as name, cast(limit_nanos as text) as amount,
      coalesce(limit_reset, 'lifetime') as "interval", 0 as include_byok, null as workspace_id, null as key_id,
      member_limits.updated_at as created_at, member_limits.updated_at as updated_at
    from member_limits join members on members.id = user_id`,
  workspace: sql`
    select 'workspace' as source, workspace_id || ':' || "interval" as owner, workspaces.name,
      cast(limit_nanos as text) as amount, "interval", include_byok_in_budgets as include_byok, workspace_id,
      null as key_id, workspace_budgets.created_at as created_at, workspace_budgets.updated_at as updated_at
    from workspace_budgets join workspaces on workspaces.id = workspace_id`,
  guardrail: sql`
    select 'guardrail' as source, id as owner, name, cast(limit_nanos as text) as amount,
      coalesce(reset_interval, 'lifetime') as "interval", include_byok_in_budgets as include_byok, workspace_id,
      null as key_id, created_at, updated_at
    from guardrails`,
}

function selectDeclared(source: LimitSource): RawBuilder<unknown> {
  return sql`
    select ${sql.lit(source)} as source, id as owner, name, cast(amount as text) as amount, null as "interval",
      include_byok, workspace_id, key_id, created_at, updated_at
    from limits`
}

function conditionOf(
  { organizationId, workspaceIds, keyId, tier }: LimitFilter,
  source: LimitSource,
): RawBuilder<boolean> {
  const conditions = [sql`organization_id = ${organizationId}`, ...ownConditions[source]]
  if (workspaceIds !== null && source === 'member') return sql`false`
  if (workspaceIds !== null)
    conditions.push(
      workspaceIds.length === 0 ? sql`false` : sql`workspace_id in (${sql.join([...workspaceIds])})`,
    )
  if (keyId !== null) {
    if (source !== 'key' && isAttachedSource(source)) return sql`false`
    conditions.push(sql`${sql.ref(source === 'key' ? 'id' : 'key_id')} = ${keyId}`)
  }
  if (tier !== null) conditions.push(isAttachedSource(source) ? sql`false` : sql`tier = ${tier}`)
  return sql<boolean>`${sql.join(conditions, sql` and `)}`
}

const ownConditions: Readonly<Record<LimitSource, RawBuilder<unknown>[]>> = {
  limit: [sql`from_settings = 0`],
  settings: [sql`from_settings = 1`],
  key: [sql`limit_nanos is not null`, sql`kind = 'inference'`, sql`source <> 'session'`],
  member: [],
  workspace: [sql`deleted_at is null`],
  guardrail: [sql`limit_nanos is not null`],
}

/** Keys or members listed for one guardrail. */
const maxGuarded = 100

/** The meters that the budget of a guardrail limits: of keys, and of members it is assigned to. */
export async function listGuardedSubjects(
  db: Db,
  { owner, workspaceId }: AttachedLimit,
  organizationId: string,
): Promise<string[]> {
  if (isDefaultGuardrail({ id: owner, workspace_id: workspaceId })) {
    let keys = db.selectFrom('api_keys').select('id').where('organization_id', '=', organizationId)
    if (workspaceId !== null) keys = keys.where('workspace_id', '=', workspaceId)
    const rows = await keys.where('kind', '=', 'inference').orderBy('id', 'desc').limit(maxGuarded).execute()
    return rows.map(({ id }) => meterSubjects.key(id))
  }
  const keys = await db
    .selectFrom('guardrail_keys')
    .select('key_id')
    .where('guardrail_id', '=', owner)
    .limit(maxGuarded)
    .execute()
  const members = await db
    .selectFrom('guardrail_members')
    .select(['workspace_id', 'user_id'])
    .where('guardrail_id', '=', owner)
    .limit(maxGuarded)
    .execute()
  return [
    ...keys.map(({ key_id }) => meterSubjects.key(key_id)),
    ...members.map(({ workspace_id, user_id }) => meterSubjects.member(workspace_id ?? '', user_id)),
  ]
}

/** Changes the budget of a guardrail; null removes it. Undefined if the guardrail does not exist. */
export async function changeGuardrailBudget(
  tx: Db,
  clock: Clock,
  { organizationId, id }: { organizationId: string; id: string },
  { amount, includeByok }: { amount?: bigint | null | undefined; includeByok?: boolean | undefined },
): Promise<{ before: GuardrailRow; after: GuardrailRow } | undefined> {
  const before = await tx
    .updateTable('guardrails')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  if (!before) return undefined
  const after = await tx
    .updateTable('guardrails')
    .set({
      ...(amount !== undefined && { limit_nanos: amount }),
      ...(amount === null && { reset_interval: null }),
      ...(includeByok !== undefined && { include_byok_in_budgets: toFlag(includeByok) }),
      updated_at: isoNow(clock),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return { before, after }
}
