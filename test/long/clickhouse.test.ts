import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { truncationMarker } from '../../src/delivery/destinations/bounds.ts'
import { clickhouse } from '../../src/delivery/destinations/clickhouse.ts'
import { readCodeBlocks, TestDestination } from '../support/deliver.ts'
import { newGenerationEvent, newPrivateEvent } from '../support/generation-event.ts'

const interpreter = process.env.HEADGATE_TEST_CLICKHOUSE
const login = { database: 'traces', username: 'headgate', password: 'pass"word' }

describe.if(interpreter !== undefined)('rows in ClickHouse', () => {
  let server: Bun.Subprocess<'ignore', 'pipe', 'inherit'>
  let origin: string
  let destination: TestDestination

  beforeAll(async () => {
    server = Bun.spawn([interpreter!, 'test/long/clickhouse/server.py', login.username, login.password], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const { value } = await server.stdout.getReader().read()
    origin = `http://127.0.0.1:${Number(new TextDecoder().decode(value))}`
    destination = new TestDestination(clickhouse, { ...login, host: origin })
    await query('CREATE DATABASE traces', 'default')
  })

  afterAll(() => server.kill())

  /** The tables of the documentation. */
  beforeEach(async () => {
    await query('DROP TABLE IF EXISTS SERVICE_TRACES')
    const [create = ''] = await readCodeBlocks('docs/destinations/clickhouse.md', 'sql')
    expect(create).toStartWith('CREATE TABLE SERVICE_TRACES')
    await query(create)
  })

  async function query(sql: string, database = login.database): Promise<Record<string, unknown>[]> {
    const headers = {
      'x-clickhouse-user': login.username,
      'x-clickhouse-key': login.password,
      'x-clickhouse-database': database,
    }
    const response = await fetch(origin, { method: 'POST', headers, body: sql })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }

  const accepted = { status: 200, body: '', failure: undefined }

  test('a generation is a row with a value in every column', async () => {
    expect(await destination.deliver([newGenerationEvent()])).toEqual(accepted)
    const [row, ...others] = await query('SELECT * FROM SERVICE_TRACES')
    expect(others).toEqual([])
    const { ATTRIBUTES, INPUT, OUTPUT, METADATA, MODEL_PARAMETERS, ...columns } = row!
    const event = newGenerationEvent()
    expect(columns).toEqual({
      GENERATION_ID: 'gen_1',
      TRACE_ID: '0af7651916cd43dd8448eb211c80319c',
      SPAN_ID: 'b7ad6b7169203331',
      PARENT_SPAN_ID: '00f067aa0ba902b7',
      USER_ID: 'user-1',
      SESSION_ID: 'session-1',
      TIMESTAMP: '2026-11-16 10:00:00.250',
      MODEL: 'openai/gpt-5-mini',
      PROVIDER_NAME: 'openai',
      API_KEY_NAME: 'Key of Ann / prod',
      STATUS: 'completed',
      LEVEL: 'DEFAULT',
      SPAN_TYPE: 'GENERATION',
      FINISH_REASON: 'stop',
      PROMPT_TOKENS: 120,
      COMPLETION_TOKENS: 30,
      TOTAL_TOKENS: 150,
      TOTAL_COST: 1.5e-7,
      DURATION_MS: 1500,
    })
    expect(JSON.parse(String(INPUT))).toEqual(event.input)
    expect(JSON.parse(String(OUTPUT))).toEqual(event.output)
    expect(JSON.parse(String(METADATA))).toEqual(event.trace.metadata)
    expect(JSON.parse(String(MODEL_PARAMETERS))).toEqual(event.parameters)
    expect(JSON.parse(String(ATTRIBUTES))).toMatchObject({
      operation: 'chat',
      time_to_first_token_ms: 400,
      cost: { total_usd: 1.5e-7, service_tier: 'flex' },
      identity: { api_key_hash: 'abc' },
      context: { request_id: 'req_1' },
      spans: [{ name: 'route' }, { name: 'attempt openai', error: 'overloaded' }],
    })
  })

  test('content, cost and identity are null where the event has none', async () => {
    const error = { code: 'timeout', message: 'Too slow' }
    await destination.deliver([newPrivateEvent({ status: 'failed', error, finishReason: null })])
    const [row] = await query('SELECT * FROM SERVICE_TRACES')
    expect(row).toMatchObject({
      PARENT_SPAN_ID: null,
      USER_ID: null,
      SESSION_ID: null,
      API_KEY_NAME: null,
      FINISH_REASON: null,
      TOTAL_COST: null,
      INPUT: null,
      OUTPUT: null,
      STATUS: 'failed',
      LEVEL: 'ERROR',
    })
    expect(JSON.parse(String(row!.ATTRIBUTES))).toMatchObject({
      error,
      cost: null,
      identity: null,
      context: null,
    })
  })

  test('text that looks like SQL, or that is not valid, is data', async () => {
    const hostile = '\'); DROP TABLE SERVICE_TRACES; -- \\ ` " \n\t\0 \ud800 😀'
    const expected = hostile.toWellFormed().replaceAll('\0', '\ufffd')
    const event = newGenerationEvent({
      externalUser: hostile,
      sessionId: hostile,
      input: { prompt: hostile },
    })
    expect(await destination.deliver([event])).toEqual(accepted)
    const [row] = await query('SELECT USER_ID, SESSION_ID, INPUT FROM SERVICE_TRACES')
    expect(row).toMatchObject({ USER_ID: expected, SESSION_ID: expected })
    expect(JSON.parse(String(row!.INPUT))).toEqual({ prompt: expected })
  })

  test('a repeated delivery adds nothing', async () => {
    const events = [newGenerationEvent(), newGenerationEvent({ id: 'gen_2' })]
    await destination.deliver(events)
    await destination.deliver(events)
    expect(await query('SELECT count() AS n FROM SERVICE_TRACES')).toEqual([{ n: 2 }])
  })

  test('a generation that is repeated in another batch is read once with FINAL, and after a merge', async () => {
    await destination.deliver([newGenerationEvent()])
    await destination.deliver([newGenerationEvent(), newGenerationEvent({ id: 'gen_2' })])
    expect(await query('SELECT count() AS n FROM SERVICE_TRACES FINAL')).toEqual([{ n: 2 }])
    await query('OPTIMIZE TABLE SERVICE_TRACES FINAL')
    expect(await query('SELECT count() AS n FROM SERVICE_TRACES')).toEqual([{ n: 2 }])
  })

  test('a full batch arrives', async () => {
    const { maxEvents } = destination.exporter
    const events = Array.from({ length: maxEvents }, (_, index) => newGenerationEvent({ id: `gen_${index}` }))
    expect(await destination.deliver(events)).toEqual(accepted)
    const [row] = await query('SELECT count() AS n, uniq(GENERATION_ID) AS ids FROM SERVICE_TRACES')
    expect(row).toEqual({ n: maxEvents, ids: maxEvents })
  })

  test('a long text is shortened and marked', async () => {
    const output = { completion: 'x'.repeat(2_000_000), reasoning: null, tool_calls: [] }
    expect(await destination.deliver([newGenerationEvent({ output })])).toEqual(accepted)
    const [row] = await query('SELECT length(OUTPUT) AS bytes, OUTPUT FROM SERVICE_TRACES')
    expect(Number(row!.bytes)).toBeLessThanOrEqual(256 * 1024)
    expect(JSON.parse(String(row!.OUTPUT)).completion).toEndWith(truncationMarker)
  })

  test('a table with fewer columns gets those it has', async () => {
    await query(
      'CREATE OR REPLACE TABLE SERVICE_TRACES (TRACE_ID String, MODEL String) ENGINE = MergeTree ORDER BY ()',
    )
    expect(await destination.deliver([newGenerationEvent()])).toEqual(accepted)
    expect(await query('SELECT * FROM SERVICE_TRACES')).toEqual([
      { TRACE_ID: '0af7651916cd43dd8448eb211c80319c', MODEL: 'openai/gpt-5-mini' },
    ])
  })

  test('the query of the documentation runs', async () => {
    await destination.deliver([newGenerationEvent()])
    const sql = (await readCodeBlocks('docs/destinations/clickhouse.md', 'sql')).at(-1) ?? ''
    expect(await query(sql.replace('now()', "toDateTime('2026-11-20')"))).toEqual([
      { MODEL: 'openai/gpt-5-mini', requests: 1, dollars: 1.5e-7, first_token_p95: 400 },
    ])
  })

  test('the connection test needs the table, the database and the password', async () => {
    expect(await destination.probe()).toMatchObject({ status: 200, failure: undefined })
    const change = (fields: object) => new TestDestination(clickhouse, { ...login, host: origin, ...fields })
    expect(await change({ table: 'MISSING' }).probe()).toMatchObject({ status: 404 })
    expect(await change({ database: 'missing' }).probe()).toMatchObject({ status: 404 })
    expect(await change({ password: 'wrong' }).probe()).toMatchObject({ status: 403 })
    expect((await change({ table: 'MISSING' }).deliver([newGenerationEvent()])).status).toBe(404)
  })
})
