import { Database, type Statement } from 'bun:sqlite'
import { answerEach } from '../lib/thread.ts'
import { binding, type Row } from './batch.ts'
import type { Asked, Group } from './sqlite-thread.ts'

/** How long another connection may keep the file to itself. */
const busyMs = 5000

type Binding = string | number | bigint | null

let database: Database | undefined
const statements = new Map<string, Statement<Row, Binding[]>>()

answerEach((question) => {
  const [kind, groups] = question as Asked
  return does[kind](groups)
})

const does: Record<Asked[0], (groups: Group[]) => Row[]> = { open, read, write, jot, close }

function open([[path] = ['']]: Group[]): Row[] {
  database = new Database(path, { safeIntegers: true })
  for (const pragma of [
    `busy_timeout=${busyMs}`,
    'journal_mode=WAL',
    'synchronous=FULL',
    'foreign_keys=ON',
  ]) {
    database.run(`PRAGMA ${pragma}`)
  }
  return []
}

function close(): Row[] {
  database?.close()
  return []
}

function read(groups: Group[]): Row[] {
  return groups.flatMap(([sql, ...rows]) =>
    rows.flatMap((values) => prepared(sql).all(...(values as Binding[]))),
  )
}

/** What is written next to last puts this on disk too. */
function jot(groups: Group[]): Row[] {
  prepared('PRAGMA synchronous=NORMAL').run()
  try {
    return write(groups)
  } finally {
    prepared('PRAGMA synchronous=FULL').run()
  }
}

function write(groups: Group[]): Row[] {
  prepared('begin immediate').run()
  try {
    for (const [sql, ...rows] of groups) {
      const statement = prepared(sql)
      for (const values of rows) statement.run(...(values.map(binding) as Binding[]))
    }
    prepared('commit').run()
  } catch (error) {
    if (database?.inTransaction) prepared('rollback').run()
    throw error
  }
  return []
}

/** There are few texts: each is prepared once. */
function prepared(sql: string): Statement<Row, Binding[]> {
  const known = statements.get(sql)
  if (known) return known
  if (!database) throw new Error('the database is not open')
  const statement = database.prepare<Row, Binding[]>(sql)
  statements.set(sql, statement)
  return statement
}
