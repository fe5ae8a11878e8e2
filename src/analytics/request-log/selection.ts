import { type RawBuilder, sql } from 'kysely'
import type { Scope } from '../../identity/permissions/grant.ts'

type Value = string | number | bigint

/** One of the columns has one of the values, the column has at least this value, or the text has this line. */
export type Condition =
  | { columns: readonly string[]; values: readonly Value[] }
  | { column: string; min: number | bigint }
  | { column: string; line: string }

/** The selection of requests in a list. Conditions are data, so that the list and its live continuation agree. */
export interface LogSelection {
  organizationId: string
  /** The id of the only request that is meant. */
  id: string | null
  /** Period of arrival; `to` is exclusive. */
  from: string | null
  to: string | null
  /** Conditions for requests with a record, and for rejected ones; null excludes them. */
  generations: readonly Condition[] | null
  refused: readonly Condition[] | null
  /** Whether to select only requests that did not succeed, which have an index of their own. */
  isUnsuccessful: boolean
  /** Alternatives of which one must hold as a whole; null: the caller may see all. */
  visible: readonly (readonly Condition[])[] | null
}

/** Lists what a caller may see: all requests in some workspaces, and in others those with keys they created. */
export function listVisibleRequests({ everywhere, workspaceIds, own }: Scope): LogSelection['visible'] {
  if (everywhere) return null
  const inWorkspaces = (ids: ReadonlySet<string>): Condition => ({
    columns: ['workspace_id'],
    values: [...ids],
  })
  if (!own) return [[inWorkspaces(workspaceIds)]]
  return [
    [inWorkspaces(workspaceIds)],
    [inWorkspaces(own.workspaceIds), { columns: ['user_id'], values: [own.userId] }],
  ]
}

export type LogRow = Readonly<Record<string, unknown>>

export function matchesAll(conditions: readonly Condition[], row: LogRow): boolean {
  return conditions.every((condition) => matches(condition, row))
}

function matches(condition: Condition, row: LogRow): boolean {
  if ('min' in condition) {
    const value = row[condition.column]
    return (typeof value === 'number' || typeof value === 'bigint') && value >= condition.min
  }
  if ('line' in condition)
    return String(row[condition.column] ?? '')
      .split('\n')
      .includes(condition.line)
  return condition.columns.some((column) => condition.values.some((value) => value === row[column]))
}

export function isVisible({ visible }: LogSelection, row: LogRow): boolean {
  return visible === null || visible.some((conditions) => matchesAll(conditions, row))
}

/** The same as SQL. */
export function buildCondition(
  { visible }: LogSelection,
  conditions: readonly Condition[],
): RawBuilder<boolean> {
  const parts = conditions.map(toSql)
  const alternatives = visible?.map((all) => join(all.map(toSql), 'and'))
  if (alternatives) parts.push(join(alternatives, 'or'))
  return join(parts, 'and')
}

function join(parts: readonly RawBuilder<boolean>[], operator: 'and' | 'or'): RawBuilder<boolean> {
  if (parts.length === 0) return operator === 'and' ? sql<boolean>`1 = 1` : sql<boolean>`1 = 0`
  return sql<boolean>`(${sql.join(parts, sql.raw(` ${operator} `))})`
}

function toSql(condition: Condition): RawBuilder<boolean> {
  if ('min' in condition) return sql<boolean>`${sql.ref(condition.column)} >= ${condition.min}`
  if ('line' in condition) {
    const lines = sql`('\n' || ${sql.ref(condition.column)} || '\n')`
    // Unlike `like`, it distinguishes upper and lower case in both databases, and has no wildcards.
    return sql<boolean>`replace(${lines}, ${`\n${condition.line}\n`}, '') <> ${lines}`
  }
  if (condition.values.length === 0) return sql<boolean>`1 = 0`
  const tests = condition.columns.map(
    (column) => sql<boolean>`${sql.ref(column)} in (${sql.join(condition.values)})`,
  )
  return join(tests, 'or')
}
