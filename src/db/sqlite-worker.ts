import { Database, type Statement } from 'bun:sqlite'
import type { Row } from './batch.ts'
import type { Asked, Group, Told } from './sqlite-thread.ts'

/** The thread that waits for the disk. */
declare const self: Worker

/** How long another connection may keep the file to itself. */
const busyMs = 5000

type Binding = string | number | bigint | null

let database: Database | undefined
const statements = new Map<string, Statement<Row, Binding[]>>()

self.onmessage = ({ data }: MessageEvent<string>) => {
  const asked: Asked = JSON.parse(data)
  if (asked[0] === 'open') open(asked[1])
  else self.postMessage(answer(asked))
}

function answer([kind, groups]: Asked): Told {
  try {
    if (kind === 'close') database?.close()
    else if (kind === 'read') return { rows: read(groups) }
    else write(groups)
    return { rows: [] }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { error: { message: String(error), code } }
  }
}

/** Not answered: when it fails the thread ends, and with it whatever is asked next. */
function open([[path] = ['']]: Group[]): void {
  database = new Database(path, { safeIntegers: true })
  for (const pragma of [
    `busy_timeout=${busyMs}`,
    'journal_mode=WAL',
    'synchronous=FULL',
    'foreign_keys=ON',
  ]) {
    database.run(`PRAGMA ${pragma}`)
  }
}

function read(groups: Group[]): Row[] {
  return groups.flatMap(([sql, ...rows]) =>
    rows.flatMap((values) => prepared(sql).all(...(values as Binding[]))),
  )
}

function write(groups: Group[]): void {
  prepared('begin immediate').run()
  try {
    for (const [sql, ...rows] of groups) {
      const statement = prepared(sql)
      for (const values of rows) statement.run(...(values as Binding[]))
    }
    prepared('commit').run()
  } catch (error) {
    if (database?.inTransaction) prepared('rollback').run()
    throw error
  }
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
