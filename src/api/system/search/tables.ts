import { type RawBuilder, sql } from 'kysely'
import type { Scope } from '../../../identity/permissions/grant.ts'
import { containsText } from '../../../platform/db/contains-text.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { Schema } from '../../../platform/db/schema.ts'

export interface FoundRow {
  id: string
  name: string
  description: string | null
  workspace_id: string | null
}

/** A table of an organization whose rows have names. It is small enough to be read. */
export interface NamedTable {
  table: keyof Schema
  id: string
  name: RawBuilder<string>
  description: RawBuilder<string | null>
  workspaceId: RawBuilder<string | null>
  /** Columns that are compared with the text. */
  columns: readonly string[]
  /** Condition of rows that are not deleted. */
  isLive: RawBuilder<boolean>
  /** Condition of rows within the scope of the caller. */
  isVisible: (scope: Scope) => RawBuilder<boolean>
}

export interface TextSearch {
  organizationId: string
  scope: Scope
  text: string
  limit: number
}

/** Searches a table; rows whose name begins with the text come first. */
export async function searchTable(
  db: Db,
  named: NamedTable,
  { organizationId, scope, text, limit }: TextSearch,
): Promise<FoundRow[]> {
  const { rows } = await sql<FoundRow>`
    select ${sql.ref(named.id)} as id, ${named.name} as name, ${named.description} as description,
      ${named.workspaceId} as workspace_id
    from ${sql.table(named.table)}
    where organization_id = ${organizationId} and ${named.isLive} and ${named.isVisible(scope)}
      and ${containsText(named.columns, text)}
    order by case when lower(substr(${named.name}, 1, ${text.length})) = lower(${text}) then 0 else 1 end,
      ${named.name}, ${sql.ref(named.id)}
    limit ${limit}`.execute(db)
  return rows
}

/** The column has one of the values. */
export function isOneOf(column: string, values: Iterable<string>): RawBuilder<boolean> {
  const list = [...values]
  return list.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`${sql.ref(column)} in (${sql.join(list)})`
}

const all = sql<boolean>`1 = 1`

function inScope(column: string): NamedTable['isVisible'] {
  return ({ everywhere, workspaceIds }) => (everywhere ? all : isOneOf(column, workspaceIds))
}

const none = sql<null>`null`
const isNotDeleted = sql<boolean>`deleted_at is null`

export const namedTables = {
  workspace: {
    table: 'workspaces',
    id: 'id',
    name: sql<string>`name`,
    description: sql<string>`slug`,
    workspaceId: sql<string>`id`,
    columns: ['name', 'slug', 'id'],
    isLive: isNotDeleted,
    isVisible: inScope('id'),
  },
  member: {
    table: 'members',
    id: 'id',
    name: sql<string>`trim(coalesce(first_name, '') || ' ' || coalesce(last_name, ''))`,
    // A member without an address has the id instead.
    description: sql<string | null>`case when email like '%@%' then email end`,
    workspaceId: none,
    columns: ['first_name', 'last_name', 'email', 'id'],
    isLive: all,
    isVisible: ({ everywhere, workspaceIds }) =>
      everywhere
        ? all
        : sql<boolean>`id in (select user_id from workspace_members where ${isOneOf('workspace_id', workspaceIds)})`,
  },
  guardrail: {
    table: 'guardrails',
    id: 'id',
    name: sql<string>`name`,
    description: sql<string | null>`description`,
    workspaceId: sql<string | null>`workspace_id`,
    columns: ['name', 'id'],
    isLive: all,
    isVisible: inScope('workspace_id'),
  },
  preset: {
    table: 'presets',
    id: 'slug',
    name: sql<string>`name`,
    description: sql<string | null>`description`,
    workspaceId: sql<string | null>`workspace_id`,
    columns: ['name', 'slug', 'id'],
    isLive: all,
    isVisible: inScope('workspace_id'),
  },
  destination: {
    table: 'destinations',
    id: 'id',
    name: sql<string>`coalesce(name, type)`,
    description: sql<string>`type`,
    workspaceId: sql<string>`workspace_id`,
    columns: ['name', 'type', 'id'],
    isLive: isNotDeleted,
    isVisible: inScope('workspace_id'),
  },
  byok_key: {
    table: 'byok_keys',
    id: 'id',
    name: sql<string>`coalesce(name, provider)`,
    description: sql<string>`provider || ' ' || label`,
    workspaceId: sql<string | null>`workspace_id`,
    columns: ['name', 'provider', 'label', 'id'],
    isLive: isNotDeleted,
    isVisible: inScope('workspace_id'),
  },
} as const satisfies Record<string, NamedTable>
