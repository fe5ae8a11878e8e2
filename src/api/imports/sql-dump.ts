import { maxRows, type Row, SourceError, type Tables, tooManyRowsError } from './source.ts'

/** Bounded, because a statement that does not match is read again for what it may be. */
const insertStart =
  /INSERT\s{1,9}(?:IGNORE\s{1,9})?INTO\s{1,9}([`"\w.]{1,300})\s{0,9}(?:\(([^)]{0,3999})\)\s{0,9})?VALUES\s*/iy
const createStart =
  /CREATE\s{1,9}TABLE\s{1,9}(?:IF\s{1,9}NOT\s{1,9}EXISTS\s{1,9})?([`"\w.]{1,300})\s{0,9}\(/iy
const copyStart = /COPY\s{1,9}([`"\w.]{1,300})\s{0,9}\(([^)]{0,3999})\)\s{1,9}FROM\s{1,9}stdin;\r?\n/iy

/** Of the columns of a table. */
const maxDeclaration = 256 * 1024
/** Pieces of a text that are read in one step. */
const stepPieces = 1000

/** Whether a text is a dump: of `mysqldump`, `pg_dump` or the `.dump` of SQLite. */
export function isSqlDump(text: string): boolean {
  return (
    /^\s*(--|\/\*|BEGIN|PRAGMA|CREATE|INSERT|DROP|SET|COPY)/i.test(text) &&
    /\bCREATE\s+TABLE\b|\bINSERT\s+INTO\b/i.test(text)
  )
}

/** Reads the rows of tables from a dump, in small steps. */
export function* readSqlDump(text: string, wanted: Iterable<string>): Generator<void, Tables> {
  return yield* new DumpReader(text, new Set(wanted)).read()
}

class DumpReader {
  readonly #text: string
  readonly #wanted: ReadonlySet<string>
  /** In dumps of MySQL, a backslash in a string escapes the next character. */
  readonly #hasEscapes: boolean
  readonly #columns = new Map<string, string[]>()
  readonly #tables = new Map<string, Row[]>()
  #position = 0

  constructor(text: string, wanted: ReadonlySet<string>) {
    this.#text = text
    this.#wanted = wanted
    this.#hasEscapes = /`/.test(text) || /(MySQL|MariaDB) dump/.test(text.slice(0, 1000))
  }

  *read(): Generator<void, Tables> {
    for (;;) {
      yield* this.#skipSpace()
      if (this.#position >= this.#text.length) return this.#tables
      yield
      const create = this.#match(createStart)
      const insert = create ? null : this.#match(insertStart)
      const copy = create || insert ? null : this.#match(copyStart)
      if (create) yield* this.#readColumns(nameOf(create[1]))
      else if (insert) yield* this.#readInsert(nameOf(insert[1]), insert[2])
      else if (copy) yield* this.#readCopy(nameOf(copy[1]), splitNames(copy[2] ?? ''))
      else yield* this.#skipStatement()
    }
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#position
    const match = pattern.exec(this.#text)
    if (match) this.#position += match[0].length
    return match
  }

  *#skipSpace(): Generator<void> {
    for (;;) {
      this.#match(/[\s;]+/y)
      if (!this.#skipComment()) return
      yield
    }
  }

  /** A comment that has no end goes to the end of the text. */
  #skipComment(): boolean {
    const [start] = this.#match(/--|#|\/\*/y) ?? []
    if (start === undefined) return false
    const mark = start === '/*' ? '*/' : '\n'
    const end = this.#text.indexOf(mark, this.#position)
    this.#position = end < 0 ? this.#text.length : end + mark.length
    return true
  }

  *#skipStatement(): Generator<void> {
    const stops = /['"`;]|--|\/\*/g
    for (;;) {
      stops.lastIndex = this.#position
      const stop = stops.exec(this.#text)
      if (!stop) {
        this.#position = this.#text.length
        return
      }
      const [mark] = stop
      this.#position = stop.index
      if (this.#skipComment()) {
        yield
        continue
      }
      this.#position++
      if (mark === ';') return
      yield* this.#readQuoted(mark)
      yield
    }
  }

  /** The names of the columns, by which rows without names are read. */
  *#readColumns(table: string): Generator<void> {
    const start = this.#position
    yield* this.#skipStatement()
    if (!this.#wanted.has(table)) return
    if (this.#position - start > maxDeclaration)
      throw new SourceError(`The dump cannot be read: the declaration of ${table} is too long.`)
    this.#columns.set(table, listColumns(this.#text.slice(start, this.#position), this.#hasEscapes))
  }

  *#readInsert(table: string, names: string | undefined): Generator<void> {
    if (!this.#wanted.has(table)) {
      yield* this.#skipStatement()
      return
    }
    const columns = names === undefined ? this.#columns.get(table) : splitNames(names)
    if (!columns) throw new SourceError(`The dump has rows of ${table} before its columns.`)
    do {
      yield* this.#skipSpace()
      this.#expect('(')
      const values: unknown[] = []
      do {
        if (values.length === columns.length)
          throw new SourceError(`The dump cannot be read: a row of ${table} has more values than columns.`)
        values.push(yield* this.#readValue())
      } while (this.#match(/\s*,\s*/y))
      yield* this.#skipSpace()
      this.#expect(')')
      this.#add(table, columns, values)
      yield
    } while (this.#match(/\s*,\s*/y))
    yield* this.#skipStatement()
  }

  *#readCopy(table: string, columns: string[]): Generator<void> {
    for (;;) {
      const end = this.#text.indexOf('\n', this.#position)
      const line = this.#text.slice(this.#position, end < 0 ? undefined : end).replace(/\r$/, '')
      this.#position = end < 0 ? this.#text.length : end + 1
      if (line === '\\.' || end < 0) return
      if (this.#wanted.has(table)) this.#add(table, columns, line.split('\t').map(decodeCopied))
      yield
    }
  }

  #add(table: string, columns: readonly string[], values: readonly unknown[]): void {
    const rows = this.#tables.get(table) ?? []
    if (rows.length >= maxRows) throw tooManyRowsError(table)
    rows.push(Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null])))
    this.#tables.set(table, rows)
  }

  #expect(character: string): void {
    if (this.#text[this.#position] !== character) {
      const line = this.#text.slice(0, this.#position).split('\n').length
      throw new SourceError(`The dump cannot be read: line ${line} has no "${character}" where one belongs.`)
    }
    this.#position++
  }

  *#readValue(): Generator<void, unknown> {
    yield* this.#skipSpace()
    this.#match(/_(binary|utf8\w*)\s*/iy)
    const hex = this.#match(/0x([0-9a-f]*)|x'([0-9a-f]*)'/iy)
    if (hex) return Buffer.from(hex[1] ?? hex[2] ?? '', 'hex').toString('utf8')
    const quote = this.#match(/E?'/iy)
    if (quote) return yield* this.#readQuoted("'", this.#hasEscapes || quote[0].length > 1)
    const [word = ''] = this.#match(/[^\s,()';]+/y) ?? []
    const plain = word.toLowerCase()
    if (Object.hasOwn(literals, plain)) return literals[plain]
    const number = Number(word)
    if (word === '' || Number.isNaN(number)) this.#expect('a value')
    return Number.isSafeInteger(number) || !/^-?\d+$/.test(word) ? number : word
  }

  /** Reads to the end of what is quoted. */
  *#readQuoted(quote: string, hasEscapes = this.#hasEscapes): Generator<void, string> {
    const parts: string[] = []
    const stops = hasEscapes && quote !== '`' ? new RegExp(`[\\\\${quote}]`, 'g') : new RegExp(quote, 'g')
    for (let count = 1; ; count++) {
      if (count % stepPieces === 0) yield
      stops.lastIndex = this.#position
      const stop = stops.exec(this.#text)
      if (!stop) throw new SourceError('The dump ends within a text.')
      parts.push(this.#text.slice(this.#position, stop.index))
      const next = this.#text[stop.index + 1]
      this.#position = stop.index + 2
      if (stop[0] === '\\') parts.push(escapes[next ?? ''] ?? next ?? '')
      else if (next === quote) parts.push(quote)
      else {
        this.#position--
        return parts.join('')
      }
    }
  }
}

const literals: Readonly<Record<string, unknown>> = { null: null, true: true, false: false }
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', '0': '\0', Z: '\x1a' }

function decodeCopied(text: string): unknown {
  if (text === '\\N') return null
  return text.replace(/\\(.)/g, (_whole, character: string) => escapes[character] ?? character)
}

/** The last part of a name such as public."tokens". */
function nameOf(text = ''): string {
  return text.replaceAll(/[`"]/g, '').split('.').at(-1) ?? ''
}

function splitNames(text: string): string[] {
  return text.split(',').map((name) => nameOf(name.trim()))
}

const clause = /^(primary|unique|constraint|foreign|check|exclude|fulltext|spatial)\b/i
/** Without quotes, a column of PostgreSQL may have these names. */
const mysqlClause = /^(key|index)\b/i

function listColumns(body: string, isMysql: boolean): string[] {
  return splitTopLevel(body).flatMap((part) => {
    const text = part.trim()
    if (clause.test(text) || (isMysql && mysqlClause.test(text))) return []
    const [name] = /^(`[^`]+`|"[^"]+"|\w+)/.exec(text) ?? []
    return name === undefined ? [] : [nameOf(name)]
  })
}

/** The parts between commas that are in no parentheses and in no quotes, up to the parenthesis that ends them. */
function splitTopLevel(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (const { 0: mark, index } of text.matchAll(/'(?:[^'\\]|\\[\s\S])*(?:'|\\?$)|[(),]/g)) {
    if (mark === '(') depth++
    if (mark === ')' && depth-- === 0) return [...parts, text.slice(start, index)]
    if (mark !== ',' || depth > 0) continue
    parts.push(text.slice(start, index))
    start = index + 1
  }
  return [...parts, text.slice(start)]
}
