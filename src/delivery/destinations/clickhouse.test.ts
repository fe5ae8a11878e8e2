import { expect, test } from 'bun:test'
import { readCodeBlocks, TestDestination } from '../../../test/support/deliver.ts'
import { newGenerationEvent, newPrivateEvent } from '../../../test/support/generation-event.ts'
import { clickhouse } from './clickhouse.ts'
import { traceColumns } from './sql-rows.ts'

// test/long/clickhouse.test.ts executes these requests in the real engine.

const config = { host: 'ch.example.com', database: 'db', username: 'u', password: 'p', table: 'T' }
const destination = new TestDestination(clickhouse, config)

test('the statement is in the URL, the rows are in the body', async () => {
  const { url, method, headers, body } = await destination.encode(
    newGenerationEvent(),
    newPrivateEvent({ id: 'gen_2' }),
  )
  const { origin, searchParams } = new URL(url)
  expect([origin, method]).toEqual(['https://ch.example.com:8443', 'POST'])
  expect(headers).toMatchObject({
    'x-clickhouse-user': 'u',
    'x-clickhouse-key': 'p',
    'x-clickhouse-database': 'db',
  })
  expect(Object.fromEntries(searchParams)).toEqual({
    query: 'INSERT INTO `T` FORMAT JSONEachRow',
    async_insert: '0',
    insert_deduplication_token: expect.stringMatching(/^[0-9a-f-]{36}$/),
    input_format_skip_unknown_fields: '1',
    date_time_input_format: 'best_effort',
    wait_end_of_query: '1',
  })
  const rows = String(body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(rows).toHaveLength(2)
  for (const row of rows) expect(Object.keys(row)).toEqual(Object.keys(traceColumns))
  expect(JSON.parse(rows[0].INPUT)).toEqual(newGenerationEvent().input)
  expect(rows[1]).toMatchObject({ INPUT: null, OUTPUT: null, TOTAL_COST: null, API_KEY_NAME: null })
})

test('a repeated delivery has the same token, another batch another', async () => {
  const first = await destination.encode(newGenerationEvent())
  expect(await destination.encode(newGenerationEvent())).toEqual(first)
  const other = await destination.encode(newGenerationEvent({ id: 'gen_2' }))
  expect(new URL(other.url).searchParams.get('insert_deduplication_token')).not.toBe(
    new URL(first.url).searchParams.get('insert_deduplication_token'),
  )
})

test('a URL may have a path', async () => {
  const proxied = new TestDestination(clickhouse, { ...config, host: 'https://proxy.example.com/clickhouse' })
  expect((await proxied.encode(newGenerationEvent())).url).toStartWith(
    'https://proxy.example.com/clickhouse?query=',
  )
})

test('an error in a response with success is found', () => {
  const { findFailure } = destination.exporter
  expect(findFailure?.(200, '')).toBeUndefined()
  const message = 'Code: 241. DB::Exception: Memory limit exceeded at secret. (MEMORY_LIMIT_EXCEEDED)'
  expect(findFailure?.(200, `{"rows":1}\n${message}\n`)).toBe(
    'ClickHouse returned error 241 (MEMORY_LIMIT_EXCEEDED).',
  )
})

test('the documented table has these columns', async () => {
  const [create = ''] = await readCodeBlocks('docs/destinations/clickhouse.md', 'sql')
  const columns = [...create.matchAll(/^ {4}([A-Z_]+) /gm)].map(([, name]) => name)
  expect(columns).toEqual(Object.keys(traceColumns))
})
