import type { Statement } from './batch.ts'

/** A text is made once for each number of rows: building it anew for every request costs more than running it. */
const texts = new Map<string, string>()

/** `insert` with any number of rows: all at once where each statement is a journey, one by one where it is not. */
export class Insert {
  readonly #table: string
  readonly #columns: readonly string[]
  readonly #conflict: string

  constructor(table: string, columns: readonly string[], conflict = '') {
    this.#table = table
    this.#columns = columns
    this.#conflict = conflict
  }

  of(isPostgres: boolean, rows: readonly (readonly unknown[])[]): Statement[] {
    if (isPostgres) return [...pieces(rows)].map((piece) => this.#statement(piece))
    const sql = this.#text(false, 1)
    return rows.map((values) => ({ sql, values }))
  }

  #statement(rows: readonly (readonly unknown[])[]): Statement {
    return { sql: this.#text(true, rows.length), values: rows.flat() }
  }

  #text(isPostgres: boolean, rows: number): string {
    const slot = `${isPostgres} ${this.#table} ${rows}`
    const known = texts.get(slot)
    if (known !== undefined) return known
    let parameter = 0
    const next = () => (isPostgres ? `$${++parameter}` : '?')
    const values = Array.from({ length: rows }, () => `(${this.#columns.map(next).join(', ')})`)
    const text = `insert into ${this.#table} (${this.#columns.join(', ')}) values ${values.join(', ')} ${this.#conflict}`
    texts.set(slot, text)
    return text
  }
}

const largestPiece = 64

/** Of 64, 32, 16 ... rows: the server keeps every text it has seen prepared, so there must be few of them. */
function* pieces<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let at = 0, size = largestPiece; at < rows.length; ) {
    while (size > rows.length - at) size /= 2
    yield rows.slice(at, at + size)
    at += size
  }
}

/** `on conflict` that replaces every column but the key. */
export function replacing(key: string, columns: readonly string[]): string {
  const set = columns.filter((column) => column !== key).map((column) => `${column} = excluded.${column}`)
  return `on conflict (${key}) do update set ${set.join(', ')}`
}

/** The same query for each of the values, in the fewest statements and texts: `$` stands where they go. */
export function forEach(isPostgres: boolean, sql: string, values: readonly string[]): Statement[] {
  if (values.length === 0) return []
  if (!isPostgres) return values.map((value) => ({ sql: sql.replace('$', '?'), values: [value] }))
  const list = 'select json_array_elements_text(cast(cast($1 as text) as json))'
  return [{ sql: sql.replace('$', () => list), values: [JSON.stringify(values)] }]
}
