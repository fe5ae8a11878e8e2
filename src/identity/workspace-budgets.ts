import type { Selectable } from 'kysely'
import { newUuid } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import type { BudgetInterval, WorkspaceBudgetTable } from '../platform/db/schema.ts'
import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

export type WorkspaceBudget = Selectable<WorkspaceBudgetTable>

/** Shortest first: each budget must be larger than those before it. */
export const budgetIntervals = ['daily', 'weekly', 'monthly', 'lifetime'] as const satisfies BudgetInterval[]

export async function listBudgets(db: Db, workspaceId: string): Promise<WorkspaceBudget[]> {
  return db.selectFrom('workspace_budgets').selectAll().where('workspace_id', '=', workspaceId).execute()
}

export async function putBudget(
  db: Db,
  clock: Clock,
  input: { workspaceId: string; interval: BudgetInterval; limit: bigint },
): Promise<WorkspaceBudget> {
  const now = isoNow(clock)
  return db
    .insertInto('workspace_budgets')
    .values({
      id: newUuid(),
      workspace_id: input.workspaceId,
      interval: input.interval,
      limit_nanos: input.limit,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'interval'])
        .doUpdateSet({ limit_nanos: input.limit, updated_at: now }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteBudget(
  db: Db,
  workspaceId: string,
  interval: BudgetInterval,
): Promise<WorkspaceBudget | undefined> {
  return db
    .deleteFrom('workspace_budgets')
    .where('workspace_id', '=', workspaceId)
    .where('interval', '=', interval)
    .returningAll()
    .executeTakeFirst()
}

export function rankOf(budget: Pick<WorkspaceBudget, 'interval'>): number {
  return budgetIntervals.indexOf(budget.interval)
}

/** A 400 names the field of the amount that is not larger than the shorter budgets, or not less than the longer ones. */
export function assertBudgetOrder(
  existing: readonly WorkspaceBudget[],
  input: { interval: BudgetInterval; limit: bigint; field: string },
): void {
  for (const other of existing) {
    const distance = rankOf(other) - rankOf(input)
    const inOrder = distance > 0 ? input.limit < other.limit_nanos : input.limit > other.limit_nanos
    if (distance === 0 || inOrder) continue
    const relation = distance > 0 ? 'less' : 'more'
    const limit = usdFromNanos(other.limit_nanos)
    throw invalidFieldError(
      input.field,
      `must be ${relation} than the ${other.interval} budget of ${limit} USD`,
    )
  }
}
