import { recordStatements } from '../../src/platform/db/migrate/recorded-statements.ts'
import { isContract, type SchemaMigration, stepsOf } from '../../src/platform/db/migrate/steps.ts'
import type { Released } from './released.ts'

interface Rule {
  pattern: RegExp
  /** The problem, after the name of the table. */
  problem: string
  /** Whether it only matters in a transaction. */
  inTransaction?: boolean
}

const table = '(?:if exists )?(?:only )?"?(?<table>\\w+)"?'
const alter = `^alter table ${table} .*`

/** Statements about a table that the previous version uses. */
const rules: Rule[] = [
  { pattern: new RegExp(`^drop table ${table}`, 'i'), problem: 'is dropped' },
  { pattern: new RegExp(`${alter}\\bdrop column`, 'i'), problem: 'loses a column' },
  {
    pattern: new RegExp(`${alter}\\brename\\b`, 'i'),
    problem: 'is renamed, or a column or constraint of it',
  },
  {
    pattern: new RegExp(`${alter}\\balter column "?\\w+"? (?:set data )?type\\b`, 'i'),
    problem: 'has a column whose type changes',
  },
  {
    pattern: new RegExp(`${alter}\\bset not null`, 'i'),
    problem: 'has a column that must not be null any more',
  },
  { pattern: new RegExp(`${alter}\\bdrop default`, 'i'), problem: 'has a column that loses its default' },
  {
    pattern: new RegExp(`${alter}\\badd (?:column )?(?=.*\\bnot null)(?!.*\\bdefault\\b)(?!constraint)`, 'i'),
    problem: 'gets a column that is not nullable and has no default',
  },
  {
    pattern: new RegExp(`${alter}\\badd column .*\\bdefault .*\\(`, 'i'),
    problem: 'gets a column whose default is computed: all rows would be written again',
  },
  {
    pattern: new RegExp(`${alter}\\badd (?:constraint|check|unique|foreign|exclude|primary)\\b`, 'i'),
    problem: 'gets a constraint that writes of the previous version could violate',
  },
  {
    pattern: /^create unique index .*\bon (?:only )?"?(?<table>\w+)"?/i,
    problem: 'gets a unique index that writes of the previous version could violate',
  },
  {
    pattern: /^create index (?!concurrently).*?\bon (?:only )?"?(?<table>\w+)"?/i,
    problem: 'gets an index in a transaction, which stops writes: use createIndex',
    inTransaction: true,
  },
  {
    pattern: /^(?:update|delete from) "?(?<table>\w+)"?/i,
    problem: 'is changed row by row in a transaction: use backfill',
    inTransaction: true,
  },
]

/** Finds what the last release could not live with, in the migrations after it. */
export async function lintMigrations(
  migrations: Readonly<Record<string, SchemaMigration>>,
  released: Pick<Released, 'migrations' | 'tables'>,
): Promise<string[]> {
  const problems = released.migrations
    .filter((name) => !Object.hasOwn(migrations, name))
    .map((name) => `${name}: a released migration is missing`)
  const last = released.migrations.at(-1) ?? ''
  for (const [name, migration] of Object.entries(migrations)) {
    if (released.migrations.includes(name)) continue
    if (name < last) problems.push(`${name}: its name is before ${last}, which is released`)
    problems.push(...(await lintMigration(name, migration, released)))
  }
  return problems
}

async function lintMigration(
  name: string,
  migration: SchemaMigration,
  released: Pick<Released, 'migrations' | 'tables'>,
): Promise<string[]> {
  if (isContract(migration)) return lintContract(name, migration, released)
  if ('steps' in migration && migration.isCompatibleBecause !== undefined) return []
  const problems: string[] = []
  for (const step of stepsOf(migration)) {
    if (step.kind === 'backfill') continue
    for (const statement of await recordStatements(step)) {
      const isRelevant = ({ inTransaction }: Rule) => !inTransaction || step.kind === 'transaction'
      problems.push(
        ...findProblems(statement, rules.filter(isRelevant), released).map((text) => `${name}: ${text}`),
      )
    }
  }
  return problems
}

function lintContract(
  name: string,
  migration: SchemaMigration,
  { migrations }: Pick<Released, 'migrations'>,
): string[] {
  const contract = 'steps' in migration ? migration.contract : undefined
  if (!contract || 'servesBoth' in contract || migrations.includes(contract.after)) return []
  return [`${name}: ${contract.after}, which makes it possible, is in no earlier release`]
}

function findProblems(
  statement: string,
  applied: readonly Rule[],
  { tables }: Pick<Released, 'tables'>,
): string[] {
  if (/^drop index\b/i.test(statement)) return [`an index is dropped: ${statement}`]
  return applied.flatMap(({ pattern, problem }) => {
    const found = pattern.exec(statement)?.groups?.table
    return found !== undefined && Object.hasOwn(tables, found) ? [`${found} ${problem}: ${statement}`] : []
  })
}
