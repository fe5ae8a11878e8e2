import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { readCodeBlocks, TestDestination } from '../../../test/support/deliver.ts'
import { newGenerationEvent, newPrivateEvent } from '../../../test/support/generation-event.ts'
import { startReceiver } from '../../../test/support/receiver.ts'
import { snowflake } from './snowflake.ts'
import { traceColumns } from './sql-rows.ts'

/** Schema from the reference of the SQL API. Values of bindings are always text. */
const payload = z.strictObject({
  statement: z.string().min(1),
  timeout: z.int().min(0),
  database: z.string(),
  schema: z.string(),
  warehouse: z.string(),
  bindings: z
    .record(
      z.string().regex(/^[1-9]\d*$/),
      z.strictObject({ type: z.enum(['TEXT', 'FIXED', 'REAL']), value: z.string() }),
    )
    .optional(),
})
const headers = z.object({
  authorization: z.literal('Bearer the-token'),
  'x-snowflake-authorization-token-type': z.enum(['KEYPAIR_JWT', 'OAUTH', 'PROGRAMMATIC_ACCESS_TOKEN']),
  accept: z.literal('application/json'),
  'content-type': z.literal('application/json'),
  'user-agent': z.string().regex(/^headgate\/\d/),
})
const query = z.union([z.strictObject({}), z.strictObject({ requestId: z.uuid(), retry: z.literal('true') })])

let response: { status: number; body: object } = success()
function success() {
  return { status: 200, body: { code: '090001', message: 'Statement executed successfully.' } }
}

const receiver = startReceiver((request) => {
  if (request.method !== 'POST' || request.path !== '/api/v2/statements')
    return new Response(null, { status: 404 })
  if (!headers.safeParse(request.headers).success) return Response.json({ code: '390303' }, { status: 401 })
  query.parse(request.query)
  const { statement, bindings = {} } = payload.parse(JSON.parse(request.body))
  // Every placeholder has a value, and every value a placeholder.
  const expected = [...statement.matchAll(/\?/g)].map((_, index) => String(index + 1))
  if (expected.join() !== Object.keys(bindings).join())
    return Response.json({ code: '002049' }, { status: 422 })
  return Response.json(response.body, { status: response.status })
})
afterAll(receiver.stop)
beforeEach(() => {
  receiver.requests.splice(0)
  response = success()
})

const config = { account: 'My_Org-acc', token: 'the-token', database: 'DB', warehouse: 'WH' }
const destination = new TestDestination(snowflake, config)

function readRequest() {
  const { body, query } = receiver.requests[0]!
  const { statement, bindings, ...session } = payload.parse(JSON.parse(body))
  return { statement, session, query, rows: JSON.parse(bindings?.[1]?.value ?? 'null') }
}

test('the address is that of the account', async () => {
  const { url } = await destination.encode(newGenerationEvent())
  expect(url).toStartWith('https://my-org-acc.snowflakecomputing.com/api/v2/statements?requestId=')
})

test('the rows are one bound value of a fixed statement', async () => {
  const hostile = "'); DROP TABLE SERVICE_TRACES; -- ? \0"
  const events = [newGenerationEvent({ externalUser: hostile }), newPrivateEvent({ id: 'gen_2' })]
  expect(await destination.deliver(events, receiver.origin)).toMatchObject({
    status: 200,
    failure: undefined,
  })
  const { statement, session, rows } = readRequest()
  expect(session).toEqual({ timeout: 30, database: 'DB', schema: 'PUBLIC', warehouse: 'WH' })
  expect(statement).toBe(
    [
      'MERGE INTO SERVICE_TRACES t',
      'USING (SELECT f.value:GENERATION_ID::STRING AS GENERATION_ID, f.value:TRACE_ID::STRING AS TRACE_ID,',
      'f.value:SPAN_ID::STRING AS SPAN_ID, f.value:PARENT_SPAN_ID::STRING AS PARENT_SPAN_ID,',
      'f.value:USER_ID::STRING AS USER_ID, f.value:SESSION_ID::STRING AS SESSION_ID,',
      'f.value:TIMESTAMP::TIMESTAMP_TZ AS TIMESTAMP, f.value:MODEL::STRING AS MODEL,',
      'f.value:PROVIDER_NAME::STRING AS PROVIDER_NAME, f.value:API_KEY_NAME::STRING AS API_KEY_NAME,',
      'f.value:STATUS::STRING AS STATUS, f.value:LEVEL::STRING AS LEVEL, f.value:SPAN_TYPE::STRING AS SPAN_TYPE,',
      'f.value:FINISH_REASON::STRING AS FINISH_REASON, f.value:PROMPT_TOKENS::INTEGER AS PROMPT_TOKENS,',
      'f.value:COMPLETION_TOKENS::INTEGER AS COMPLETION_TOKENS, f.value:TOTAL_TOKENS::INTEGER AS TOTAL_TOKENS,',
      'f.value:TOTAL_COST::NUMBER(18,9) AS TOTAL_COST, f.value:DURATION_MS::INTEGER AS DURATION_MS,',
      'f.value:ATTRIBUTES AS ATTRIBUTES, f.value:INPUT AS INPUT, f.value:OUTPUT AS OUTPUT,',
      'f.value:METADATA AS METADATA, f.value:MODEL_PARAMETERS AS MODEL_PARAMETERS',
      'FROM TABLE(FLATTEN(INPUT => PARSE_JSON(?))) f) s',
      'ON t.GENERATION_ID = s.GENERATION_ID AND t.TIMESTAMP = s.TIMESTAMP',
      `WHEN NOT MATCHED THEN INSERT (${Object.keys(traceColumns).join(', ')})`,
      `VALUES (${Object.keys(traceColumns)
        .map((name) => `s.${name}`)
        .join(', ')})`,
    ].join(' '),
  )
  expect(rows).toHaveLength(2)
  expect(rows[0]).toMatchObject({
    GENERATION_ID: 'gen_1',
    USER_ID: hostile.replace('\0', '\ufffd'),
    TIMESTAMP: '2026-11-16T10:00:00.250Z',
    TOTAL_COST: 1.5e-7,
    API_KEY_NAME: 'Key of Ann / prod',
    INPUT: newGenerationEvent().input,
    LEVEL: 'DEFAULT',
  })
  expect(Object.keys(rows[0]).sort()).toEqual(Object.keys(traceColumns).sort())
  // NULL in SQL is an absent field.
  for (const absent of [
    'PARENT_SPAN_ID',
    'USER_ID',
    'SESSION_ID',
    'API_KEY_NAME',
    'TOTAL_COST',
    'INPUT',
    'OUTPUT',
  ])
    expect(rows[1]).not.toHaveProperty(absent)
})

test('a repeated delivery has the same request id, another batch another', async () => {
  const first = await destination.encode(newGenerationEvent())
  expect(await destination.encode(newGenerationEvent())).toEqual(first)
  const other = await destination.encode(newGenerationEvent(), newGenerationEvent({ id: 'gen_2' }))
  expect(new URL(other.url).searchParams.get('requestId')).not.toBe(
    new URL(first.url).searchParams.get('requestId'),
  )
})

describe('a response', () => {
  test.each([
    [202, { code: '333334', message: 'In progress.' }, '333334: In progress.'],
    [422, { code: '002003', sqlState: '42S02', message: 'No such table.' }, '002003: No such table.'],
    [422, { code: '100069', sqlState: '22P02', message: 'Error parsing JSON' }, undefined],
    [400, { code: '390400', message: 'Bad request' }, undefined],
  ])('of status %i with %j is about the destination: %s', async (status, body, failure) => {
    response = { status, body }
    expect(await destination.deliver([newGenerationEvent()], receiver.origin)).toMatchObject({
      status,
      failure,
    })
  })

  test('that is not JSON is not a success', () => {
    expect(destination.exporter.findFailure?.(200, '<html>')).toBe('The response is not JSON.')
  })
})

test('the connection test reads the table, with the token', async () => {
  expect((await destination.probe(receiver.origin)).status).toBe(200)
  expect(readRequest().statement).toBe('SELECT * FROM SERVICE_TRACES LIMIT 0')
  const wrong = new TestDestination(snowflake, { ...config, token: 'wrong' })
  expect((await wrong.probe(receiver.origin)).status).toBe(401)
})

test.each(['T; DROP TABLE x', 'a.b', '"quoted"', 'a b', ''])('%j is not a table', (table) => {
  expect(snowflake.config.safeParse({ ...config, table }).success).toBe(false)
})

test('the documented table has these columns', async () => {
  const [create = ''] = await readCodeBlocks('docs/destinations/snowflake.md', 'sql')
  const columns = [...create.matchAll(/^ {2}([A-Z_]+) +([A-Z_]+)/gm)].map(([, name, type]) => [name, type])
  const types = {
    text: 'VARCHAR',
    time: 'TIMESTAMP_TZ',
    integer: 'INTEGER',
    number: 'NUMBER',
    json: 'VARIANT',
  }
  expect(columns).toEqual(Object.entries(traceColumns).map(([name, type]) => [name, types[type]]))
})
