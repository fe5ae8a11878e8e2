import type { Catalog, CatalogTable } from './catalog.ts'

/** What statements of the previous version would fail with after a migration; empty if it can live with it. */
export function compareCatalogs(before: Catalog, after: Catalog): string[] {
  return Object.entries(before).flatMap(([name, table]) => {
    const present = after[name]
    if (!present) return [`table ${name} is gone`]
    return [...compareColumns(name, table, present), ...compareConstraints(name, table, present)]
  })
}

function compareColumns(name: string, before: CatalogTable, after: CatalogTable): string[] {
  const problems: string[] = []
  for (const [column, definition] of Object.entries(before.columns)) {
    const present = after.columns[column]
    const at = `${name}.${column}`
    if (present === undefined) problems.push(`column ${at} is gone`)
    else if (typeOf(present) !== typeOf(definition))
      problems.push(`column ${at} is ${typeOf(present)}, and was ${typeOf(definition)}`)
    else if (isNotNull(present) && !isNotNull(definition))
      problems.push(`column ${at} is not nullable any more`)
    else if (mustBeSet(present) && !mustBeSet(definition))
      problems.push(`column ${at} has no default any more`)
  }
  for (const [column, definition] of Object.entries(after.columns))
    if (!Object.hasOwn(before.columns, column) && mustBeSet(definition))
      problems.push(`column ${name}.${column} is new, not nullable and without a default`)
  return problems
}

/** Constraints that are about new columns alone hold for rows of the previous version. */
function compareConstraints(name: string, before: CatalogTable, after: CatalogTable): string[] {
  const isOld = (column: string) => Object.hasOwn(before.columns, column)
  const missing = before.unique.filter((index) => !after.unique.includes(index))
  const added = after.unique.filter((index) => !before.unique.includes(index) && columnsOf(index).some(isOld))
  const constraints = Object.entries(after.constraints).filter(
    ([definition, columns]) => !Object.hasOwn(before.constraints, definition) && columns.some(isOld),
  )
  return [
    ...missing.map((index) => `table ${name} has no unique index on ${index} any more`),
    ...added.map((index) => `table ${name} has a new unique index on ${index}`),
    ...constraints.map(([definition]) => `table ${name} has a new constraint: ${definition}`),
  ]
}

function typeOf(definition: string): string {
  return definition.replace(/ (?:not null|identity|generated|default .*)$/, '').replace(/ not null.*$/, '')
}

function isNotNull(definition: string): boolean {
  return / not null\b/.test(definition)
}

/** Whether an insert must name it. */
function mustBeSet(definition: string): boolean {
  return isNotNull(definition) && !/ (?:identity|generated|default )/.test(definition)
}

function columnsOf(index: string): string[] {
  return [...(/^\((.*?)\)/.exec(index)?.[1] ?? '').matchAll(/\w+/g)].map(([name]) => name)
}
