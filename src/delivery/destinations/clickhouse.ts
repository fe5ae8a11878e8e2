import { deriveUuid } from '../../platform/crypto/ids.ts'
import { defineDestination, secretField, textField } from './destination.ts'
import { encodeEach } from './encode-each.ts'
import type { GenerationEvent } from './event.ts'
import { toTraceRow, traceColumns } from './sql-rows.ts'

interface Login {
  username: string
  password: string
  database: string
}

/** ClickHouse over its HTTP interface. */
export const clickhouse = defineDestination({
  type: 'clickhouse',
  fields: {
    host: textField
      .regex(/^[^?#]+$/, 'must not have a query')
      .describe('A host name, with or without a port, or an https URL'),
    database: textField,
    username: textField,
    password: secretField,
    table: textField.regex(/^\w+$/, 'must be letters, digits and underscores').default('SERVICE_TRACES'),
  },
  secrets: ['password'],
  address: 'host',
  target: ({ host }) => {
    if (host.includes('://')) return host
    // The port of its HTTP interface under TLS.
    return `https://${/:\d+$/.test(host) ? host : `${host}:8443`}`
  },
  probe: (config, url) => ({
    request: {
      url,
      method: 'POST',
      headers: buildHeaders(config),
      body: `SELECT * FROM \`${config.table}\` LIMIT 0`,
    },
  }),
  exporter: {
    maxEvents: 500,
    maxBytes: 1024 * 1024,
    encode: async (config, target, events) => ({
      url: buildInsertUrl(target, config.table, events),
      method: 'POST',
      headers: buildHeaders(config),
      body: (await encodeEach(events, (event) => `${JSON.stringify(toTextRow(event))}\n`)).join(''),
    }),
    findFailure,
  },
})

function buildHeaders({ username, password, database }: Login): Record<string, string> {
  return {
    'x-clickhouse-user': username,
    'x-clickhouse-key': password,
    'x-clickhouse-database': database,
    'content-type': 'text/plain',
  }
}

function buildInsertUrl(target: string, table: string, events: readonly GenerationEvent[]): string {
  const url = new URL(target)
  url.search = new URLSearchParams({
    query: `INSERT INTO \`${table}\` FORMAT JSONEachRow`,
    // Deliveries are batches already, and not every version deduplicates asynchronous inserts.
    async_insert: '0',
    insert_deduplication_token: deriveUuid('batch', ...events.map(({ id }) => id)),
    // A column that the table does not have is left out.
    input_format_skip_unknown_fields: '1',
    date_time_input_format: 'best_effort',
    wait_end_of_query: '1',
  }).toString()
  return url.href
}

/** An error after the status line was sent is in the body. Its message may quote rows, its code and name do not. */
function findFailure(status: number, body: string): string | undefined {
  const [, code, message = ''] = /Code: (\d+)\. DB::Exception:(.*)/.exec(body) ?? []
  if (status !== 200 || code === undefined) return undefined
  return `ClickHouse returned error ${code}${/ \([A-Z_]+\)/.exec(message)?.[0] ?? ''}.`
}

/** JSON as text, which every version stores. */
function toTextRow(event: GenerationEvent): Record<string, unknown> {
  const columns = Object.entries(toTraceRow(event)).map(([name, value]) => {
    const isJson = traceColumns[name as keyof typeof traceColumns] === 'json'
    return [name, isJson && value !== null ? JSON.stringify(value) : value]
  })
  return Object.fromEntries(columns)
}
