import { deriveUuid } from '../../platform/crypto/ids.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { buildJsonPost, defineDestination, secretField, textField } from './destination.ts'
import { encodeEach } from './encode-each.ts'
import type { GenerationEvent } from './event.ts'
import { toTraceRow, traceColumns } from './sql-rows.ts'

interface Session {
  token: string
  database: string
  schema: string
  warehouse: string
}

/** Timeout of a statement, shorter than the 45 seconds after which one continues asynchronously. */
const statementSeconds = 30

/** Code of a statement that was executed. */
const successCode = '090001'

/** Snowflake over its SQL API. */
export const snowflake = defineDestination({
  type: 'snowflake',
  fields: {
    account: textField
      .max(255)
      .regex(/^[a-zA-Z0-9_]+(?:[.-][a-zA-Z0-9_]+)*$/, 'must be an account identifier such as org-account'),
    token: secretField,
    database: textField.default('SNOWFLAKE_LEARNING_DB'),
    schema: textField.default('PUBLIC'),
    table: textField
      .max(255)
      .regex(/^[A-Za-z_][\w$]*$/, 'must be letters, digits, underscores and dollar signs')
      .default('SERVICE_TRACES'),
    warehouse: textField.default('COMPUTE_WH'),
  },
  secrets: ['token'],
  address: 'account',
  // Underscores in the account name are hyphens in its host name.
  target: ({ account }) =>
    `https://${account.replaceAll('_', '-').toLowerCase()}.snowflakecomputing.com/api/v2/statements`,
  probe: (config, url) => ({
    request: buildStatement(url, config, { statement: `SELECT * FROM ${config.table} LIMIT 0` }),
  }),
  exporter: {
    maxEvents: 500,
    maxBytes: 1024 * 1024,
    encode: async (config, target, events) => {
      const rows = await encodeEach(events, (event) => JSON.stringify(omitNull(toTraceRow(event))))
      return buildStatement(buildRetryUrl(target, events), config, {
        statement: buildMerge(config.table),
        bindings: { 1: { type: 'TEXT', value: `[${rows.join(',')}]` } },
      })
    },
    findFailure,
  },
})

function buildStatement(url: string, { token, database, schema, warehouse }: Session, fields: object) {
  const headers = {
    authorization: `Bearer ${token}`,
    'x-snowflake-authorization-token-type': 'PROGRAMMATIC_ACCESS_TOKEN',
    accept: 'application/json',
  }
  return buildJsonPost(url, headers, { ...fields, timeout: statementSeconds, database, schema, warehouse })
}

/** A request that is repeated while its statement is still running waits for that statement. */
function buildRetryUrl(target: string, events: readonly GenerationEvent[]): string {
  const url = new URL(target)
  url.searchParams.set('requestId', deriveUuid('batch', ...events.map(({ id }) => id)))
  url.searchParams.set('retry', 'true')
  return url.href
}

const casts = {
  text: '::STRING',
  time: '::TIMESTAMP_TZ',
  integer: '::INTEGER',
  number: '::NUMBER(18,9)',
  json: '',
}

/** All rows are one bound value. Those that the table has already are left out. */
function buildMerge(table: string): string {
  const names = Object.keys(traceColumns)
  const values = Object.entries(traceColumns).map(
    ([name, type]) => `f.value:${name}${casts[type]} AS ${name}`,
  )
  return [
    `MERGE INTO ${table} t`,
    `USING (SELECT ${values.join(', ')} FROM TABLE(FLATTEN(INPUT => PARSE_JSON(?))) f) s`,
    'ON t.GENERATION_ID = s.GENERATION_ID AND t.TIMESTAMP = s.TIMESTAMP',
    `WHEN NOT MATCHED THEN INSERT (${names.join(', ')})`,
    `VALUES (${names.map((name) => `s.${name}`).join(', ')})`,
  ].join(' ')
}

/** A null in JSON is not NULL in SQL; an absent field is. */
function omitNull(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
}

/** Errors in the data are of class 22; others, such as a missing table, are not about the events. */
function findFailure(status: number, body: string): string | undefined {
  if (status !== 422 && (status < 200 || status > 299)) return undefined
  const { code, message, sqlState } = parseReply(body)
  if (code === successCode || (status === 422 && String(sqlState).startsWith('22'))) return undefined
  return [code, message].filter((part) => typeof part === 'string').join(': ')
}

function parseReply(body: string): JsonObject {
  const reply = tryParseJson(body)
  return reply === undefined ? { message: 'The response is not JSON.' } : (asObject(reply) ?? {})
}
