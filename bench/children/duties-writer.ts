// The database of the duties: a row for each request, with as many columns and indexes as the gateway has.
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
const database = new Database(join(folder, 'duties.sqlite'))
for (const pragma of ['journal_mode=WAL', 'synchronous=FULL']) database.run(`PRAGMA ${pragma}`)

const named = ['organization text', 'created_at text', 'cost bigint', 'latency integer']
const others = Array.from({ length: 55 }, (_, index) => `column_${index}`)
database.run(`create table records (id text primary key, ${[...named, ...others].join(', ')})`)
database.run('create index records_by_time on records (organization, created_at, id)')
database.run('create index records_ended on records (created_at)')
// The files exist as long as this process does.
rmSync(folder, { recursive: true })
const places = Array.from({ length: 1 + named.length + others.length }, () => '?')
const insert = database.prepare(`insert into records values (${places.join(', ')})`)

const write = database.transaction((rows: (string | number)[][]) => {
  for (const row of rows) insert.run(...row)
})

const worker = globalThis as unknown as Worker
worker.onmessage = ({ data }: MessageEvent<string>) => write(JSON.parse(data))
