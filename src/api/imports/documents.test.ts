import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readDocument } from './documents.ts'

const read = (text: string | Uint8Array, name = 'file', maxYamlLength?: number) =>
  readDocument({ name, bytes: Buffer.from(text) }, ['tokens'], maxYamlLength)

test('texts that are made to be read again and again take as long as others', async () => {
  const count = 500_000
  const declared = 'CREATE TABLE tokens (a int);\n'
  for (const text of [
    `${declared}x ${'/* '.repeat(count)}`,
    `${declared}${'/* '.repeat(count)}`,
    `${declared}${'INSERT INTO t (;'.repeat(20_000)}`,
    `${declared}${'COPY t (;'.repeat(20_000)}`,
    `${declared}INSERT INTO y VALUES ${"('a'),".repeat(count)}('b');`,
    `CREATE TABLE tokens (a int, ${"'\\'\\'".repeat(40_000)});`,
  ])
    expect((await read(text)).tables).toEqual(new Map())
  await expect(read(`[${'\n'.repeat(count)}x`)).rejects.toThrow('file is not JSON.')
})

test('a dump has bounds for what is read at once', async () => {
  const columns = 'a int, '.repeat(40_000)
  await expect(read(`CREATE TABLE tokens (${columns} b int);`)).rejects.toThrow('tokens is too long')
  const values = `${'1,'.repeat(1000)}1`
  await expect(read(`CREATE TABLE tokens (a int);\nINSERT INTO tokens VALUES (${values});`)).rejects.toThrow(
    'a row of tokens has more values than columns',
  )
})

test('JSON and YAML have bounds', async () => {
  await expect(read('['.repeat(1000))).rejects.toThrow('nested deeper')
  await expect(read(`[${'0,'.repeat(1_000_000)}0]`)).rejects.toThrow('more than 1000000 JSON values')
  await expect(read(`a: ${'b'.repeat(2048)}`, 'file', 1024)).rejects.toThrow('YAML of more than 1 KiB')
  await expect(read(`a: ${'b'.repeat(512)}`, 'file', 1024)).resolves.toMatchObject({ name: 'file' })
})

test('a SQLite file that repeats its pages is an error', async () => {
  const pageBytes = 512
  const database = new Database(':memory:')
  database.run(`pragma page_size = ${pageBytes}`)
  database.run('create table tokens (id integer primary key, key text)')
  database.query('insert into tokens values (1, ?)').run('x'.repeat(1_000_000))
  const pages = 4
  const bytes = Buffer.from(database.serialize()).subarray(0, pages * pageBytes)
  bytes.writeUInt32BE(pages, 28)
  // The text begins in the only row of the second page, whose last bytes name the page with more of it.
  const next = bytes.readUInt32BE(2 * pageBytes - 4)
  bytes.writeUInt32BE(next, (next - 1) * pageBytes)
  await expect(read(bytes)).rejects.toThrow('The SQLite file is damaged: tokens has more than the file.')
})
