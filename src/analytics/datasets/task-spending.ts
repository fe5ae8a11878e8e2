import type { Db } from '../../platform/db/db.ts'

/** The spending of an organization on a model for a kind of task, at list prices. */
export interface TaskSpending {
  model: string
  tag: string
  nanos: number
}

/** Reads spending from the sampled requests since a day. */
export async function readTaskSpending(
  db: Db,
  organizationId: string,
  sinceDay: string,
): Promise<TaskSpending[]> {
  const rows = await db
    .selectFrom('dataset_contributions')
    .select((eb) => ['subject', eb.fn.sum<string | number | bigint>('cost_nanos').as('nanos')])
    .where('organization_id', '=', organizationId)
    .where('kind', '=', 'task')
    .where('day', '>=', sinceDay)
    .groupBy('subject')
    .execute()
  return rows.map(({ subject, nanos }) => {
    const [model = '', tag = ''] = subject.split('\n')
    return { model, tag, nanos: Number(nanos) }
  })
}
