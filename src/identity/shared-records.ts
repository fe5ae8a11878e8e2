import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { ComparisonTable } from '../platform/db/schema.ts'

export type Visibility = ComparisonTable['visibility']

/** What a caller sees: the own records, those of the organization, and those of some workspaces. */
export interface RecordReader {
  organizationId: string
  creator: string
  /** Null: of every workspace. */
  workspaceIds: ReadonlySet<string> | null
}

/** The condition of a table whose records are private or shared. */
export function isVisibleTo({ organizationId, creator, workspaceIds }: RecordReader): RawBuilder<SqlBool> {
  const inWorkspaces = workspaceIds && [...workspaceIds]
  const isListed =
    inWorkspaces === null
      ? sql``
      : inWorkspaces.length === 0
        ? sql`and 1 = 0`
        : sql`and workspace_id in (${sql.join(inWorkspaces)})`
  return sql<SqlBool>`organization_id = ${organizationId} and (visibility = 'organization'
    or (visibility = 'private' and creator = ${creator}) or (visibility = 'workspace' ${isListed}))`
}

/** Deletes the private views and comparisons of a member or key. Shared ones stay. */
export async function deletePrivateRecords(tx: Db, creator: string): Promise<void> {
  for (const table of ['saved_views', 'comparisons'] as const)
    await tx.deleteFrom(table).where('creator', '=', creator).where('visibility', '=', 'private').execute()
}
