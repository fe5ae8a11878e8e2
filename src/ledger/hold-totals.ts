import type { Db } from '../platform/db/db.ts'
import { leasePattern } from './lease-id.ts'

/** The holds of requests in the database, without the leases of nodes: of those in progress, and of those that were interrupted. */
export async function sumHolds(db: Db): Promise<{ count: number; amountNanos: bigint }> {
  const { count, amount_nanos } = await db
    .selectFrom('holds')
    .where('id', 'not like', leasePattern)
    .select((holds) => [
      holds.fn.countAll<bigint | number | string>().as('count'),
      holds.fn.sum<bigint | number | string | null>('amount_nanos').as('amount_nanos'),
    ])
    .executeTakeFirstOrThrow()
  return { count: Number(count), amountNanos: BigInt(amount_nanos ?? 0) }
}
