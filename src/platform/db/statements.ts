import type { Statement } from './batch.ts'

type Rows = readonly (readonly unknown[])[]

/**
 * `insert` with any number of rows: all at once where each statement is a round trip, one by one where it is
 * not.
 */
export class InsertStatement {
  /** The statement for one row, on SQLite. */
  readonly singleRow: string
  readonly #prefix: string
  readonly #columns: number
  readonly #conflict: string
  /**
   * A text is built once for each number of rows: building it for every request costs more than running it.
   */
  readonly #sqlByRowCount = new Map<number, string>()

  constructor(table: string, columns: readonly string[], conflict = '') {
    this.#prefix = `insert into ${table} (${columns.join(', ')}) values`
    this.#columns = columns.length
    this.#conflict = conflict
    this.singleRow = `${this.#prefix} (${columns.map(() => '?').join(', ')}) ${conflict}`
  }

  /** Statements for many rows, on PostgreSQL. */
  forRows(rows: Rows): Statement[] {
    return [...splitChunks(rows)].map((chunk) => ({ sql: this.#sqlFor(chunk.length), values: chunk.flat() }))
  }

  #sqlFor(rows: number): string {
    const known = this.#sqlByRowCount.get(rows)
    if (known !== undefined) return known
    let parameter = 0
    const row = () => `(${Array.from({ length: this.#columns }, () => `$${++parameter}`).join(', ')})`
    const values = Array.from({ length: rows }, row).join(', ')
    const text = `${this.#prefix} ${values} ${this.#conflict}`
    this.#sqlByRowCount.set(rows, text)
    return text
  }
}

const maxChunkRows = 64

/**
 * Splits rows into chunks of 64, 32, 16 ...: the server caches every prepared text, so there must be few distinct ones.
 */
function* splitChunks<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let at = 0, size = maxChunkRows; at < rows.length; ) {
    while (size > rows.length - at) size /= 2
    yield rows.slice(at, at + size)
    at += size
  }
}

/** `on conflict` that replaces every column but the key. */
export function buildReplaceClause(key: string, columns: readonly string[]): string {
  const set = columns.filter((column) => column !== key).map((column) => `${column} = excluded.${column}`)
  return `on conflict (${key}) do update set ${set.join(', ')}`
}

/** `on conflict` that adds to every column but those of the key. */
export function buildAddClause(table: string, key: readonly string[], columns: readonly string[]): string {
  const added = columns.filter((column) => !key.includes(column))
  const set = added.map((column) => `${column} = ${table}.${column} + excluded.${column}`)
  return `on conflict (${key.join(', ')}) do update set ${set.join(', ')}`
}

/**
 * The same query for all of the values in one PostgreSQL statement: `$` stands for the values, `$2` ... for
 * the other parameters.
 */
export function buildListQuery(sql: string, values: readonly string[], ...others: string[]): Statement[] {
  if (values.length === 0) return []
  const list = 'select json_array_elements_text(cast(cast($1 as text) as json))'
  return [{ sql: sql.replace('$', () => list), values: [JSON.stringify(values), ...others] }]
}
