import type { Db } from '../../platform/db/db.ts'
import { type Clock, isoNow } from '../../platform/time/clock.ts'

/** What an import sets in a record: amounts as decimal text. */
export type ImportedFields = Readonly<Record<string, string | boolean | null>>

/** An import, and where it is stored what it has set. */
interface Importing {
  gateway: { clock: Clock }
  tx: Db
  organizationId: string
}

export async function rememberImported(
  { gateway, tx, organizationId }: Importing,
  subject: string,
  planned: ImportedFields,
): Promise<void> {
  const row = { fields: JSON.stringify(planned), updated_at: isoNow(gateway.clock) }
  await tx
    .insertInto('imported_values')
    .values({ subject, organization_id: organizationId, ...row })
    .onConflict((conflict) => conflict.column('subject').doUpdateSet(row))
    .execute()
}

/** Null if no import has set anything. */
export async function findImported({ tx }: Importing, subject: string): Promise<ImportedFields | null> {
  const row = await tx
    .selectFrom('imported_values')
    .select('fields')
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row ? (JSON.parse(row.fields) as ImportedFields) : null
}
