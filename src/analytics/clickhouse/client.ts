import type { ClickHouseConfig } from '../../config/clickhouse.ts'
import { LinkedAbortController } from '../../platform/concurrency/linked-abort-controller.ts'

/** A failure without the text of the server, which may contain rows or a query. */
export class ClickHouseError extends Error {
  /** The server's own code, such as 241 for a memory limit; null if it did not answer. */
  readonly code: number | null

  constructor(message: string, code: number | null = null) {
    super(message)
    this.code = code
  }
}

export interface QueryOptions {
  timeoutMs: number
  settings?: Readonly<Record<string, string | number>>
  /** Rows to insert; the query is then sent in the URL. */
  body?: string
}

/** A statement may name thousands of generations. */
const maxQueryBytes = 64 * 1024 * 1024
/** Time that the server has to stop a query by itself before the connection is closed. */
const graceMs = 500

/**
 * Sends statements to the HTTP interface of ClickHouse. Replies are buffered there first, so that a failed query is an
 * error and not a truncated result.
 */
export class ClickHouseClient {
  readonly #config: ClickHouseConfig

  constructor(config: ClickHouseConfig) {
    this.#config = config
  }

  async query(sql: string, { timeoutMs, settings = {}, body }: QueryOptions): Promise<string> {
    const { origin, username, password, database, ca } = this.#config
    const parameters = new URLSearchParams({
      wait_end_of_query: '1',
      max_execution_time: String(Math.ceil(timeoutMs / 1000)),
      max_query_size: String(maxQueryBytes),
      ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])),
      ...(body !== undefined && { query: sql }),
    })
    const abort = new LinkedAbortController([], timeoutMs + graceMs)
    const request = {
      method: 'POST',
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'x-clickhouse-user': username,
        'x-clickhouse-key': password,
        'x-clickhouse-database': database,
      },
      body: body ?? sql,
      redirect: 'manual',
      signal: abort.signal,
      ...(ca !== null && { tls: { ca } }),
    } as const
    let response: Response
    let text: string
    try {
      response = await fetch(`${origin}/?${parameters}`, request)
      text = await response.text()
    } catch {
      throw new ClickHouseError(
        abort.isTimedOut ? 'ClickHouse did not reply in time' : 'ClickHouse cannot be reached',
      )
    } finally {
      abort.close()
    }
    if (response.ok) return text
    throw toError(response, text)
  }

  /** Rows of JSON arrays, each with the selected values in order; integers of 64 bits are texts. */
  async select(sql: string, options: QueryOptions): Promise<unknown[][]> {
    const settings = { output_format_json_quote_64bit_integers: 1, ...options.settings }
    const text = await this.query(`${sql}\nFORMAT JSONCompactEachRow`, { ...options, settings })
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown[])
  }
}

/** Names the error, and leaves out its text. */
function toError({ status, headers }: Response, text: string): ClickHouseError {
  const [, codeInText, name] = /Code: (\d+)\.[\s\S]*\(([A-Z][A-Z_0-9]+)\)/.exec(text) ?? []
  const code = Number(headers.get('x-clickhouse-exception-code') ?? codeInText ?? Number.NaN)
  const reason = name ?? `status ${status}`
  return new ClickHouseError(
    `ClickHouse rejected a statement (${reason})`,
    Number.isInteger(code) ? code : null,
  )
}
