import { Types } from 'scimmy'
import { enterpriseUrn, isObject, type Json, ScimError } from './protocol.ts'

/** An equality the database can look for. */
export interface Term {
  /** Lower case, such as `username` or `emails.value`. */
  path: string
  value: string | boolean
}

/** Whether the database answers an equality of this attribute rightly, or only finds no fewer than it should. */
export type Fields = ReadonlyMap<string, 'exact' | 'narrowing'>

export interface Search {
  /** Any of these, each all of its terms: at least what matches. Null: everything. */
  branches: Term[][] | null
  /** The branches say it all, and nothing needs to be compared in memory. */
  exact: boolean
  /** Paths the filter names, in lower case. */
  paths: Set<string>
  matches(resource: Json): boolean
}

/** More than any provider sends, and few enough that multiplying them out stays small. */
const maxOperators = 16
const maxLength = 4096

/** Attributes with many values, which mean their `value` when no part of them is named. */
const plural = new Set(['emails', 'members', 'groups', 'phonenumbers'])
const caseExact = new Set(['id', 'externalid'])

/** The library would take the URN apart at the dot of its version. */
const enterpriseName = 'enterpriseextension'
const enterprisePrefix = new RegExp(`\\b${enterpriseUrn.replace('.', '\\.')}:`, 'gi')

const danglingOperator = /(^|[([])\s*(and|or)\b|\b(and|or)\s*($|[)\]]|(and|or)\b)/i
const juxtaposed = /("#\d+#"|\)|\b(true|false|null|pr)\b)(?!\s*($|[)\]]|(and|or)\b))/i

const everything: Search = { branches: null, exact: true, paths: new Set(), matches: () => true }

interface Clause {
  path: string
  comparator: string
  value: unknown
  negated: boolean
}

export function searchOf(text: string | null, fields: Fields): Search {
  if (text === null || text.trim() === '') return everything
  const branches = parseFilter(text)
  const clauses = branches.flat()
  for (const clause of clauses) checkValue(clause)
  const terms = branches.map((branch) => branch.flatMap((clause) => termOf(clause, fields)))
  const exact = branches.every((branch) =>
    branch.every((clause) => isTranslatable(clause, fields) && fields.get(clause.path) === 'exact'),
  )
  return {
    branches: terms.every((branch) => branch.length > 0) ? terms : null,
    exact,
    paths: new Set(clauses.map((clause) => clause.path)),
    matches: matcherOf(branches),
  }
}

/** The values a filter of the form `value eq "a" or value eq "b"` names; undefined when it says something else. */
export function valuesOf(text: string): string[] | undefined {
  const values: string[] = []
  for (const branch of parseFilter(text)) {
    const [clause] = branch
    if (branch.length !== 1 || clause?.path !== 'value' || clause.comparator !== 'eq') return undefined
    if (clause.negated || typeof clause.value !== 'string') return undefined
    values.push(clause.value)
  }
  return values
}

/** The equalities of a filter without alternatives, by attribute: what an element that matches must have. */
export function equalitiesOf(text: string): Json | undefined {
  const [branch, ...others] = parseFilter(text)
  if (!branch || others.length > 0 || !branch.every(isPlainEquality)) return undefined
  const equal = new Map(branch.map((clause) => [clause.path, clause.value]))
  return equal.size === branch.length ? Object.fromEntries(equal) : undefined
}

function isPlainEquality({ comparator, negated, path, value }: Clause): boolean {
  return comparator === 'eq' && !negated && !path.includes('.') && value !== undefined
}

/**
 * The library's parser sees no quoted text, only numbered stand-ins: it knows no escapes, and what is inside
 * quotes must not be able to change the structure.
 */
function parseFilter(text: string): Clause[][] {
  if (text.length > maxLength || text.includes('\0')) throw unreadable('it is too long or not text')
  const texts: string[] = []
  const masked = text
    .replace(/"(?:[^"\\]|\\.)*"/gs, (literal) => `"#${texts.push(unquoted(literal)) - 1}#"`)
    .replace(/\burn:ietf:params:scim:schemas:core:2\.0:\w+:/gi, '')
    .replace(enterprisePrefix, `${enterpriseName}.`)
    // The library takes them in any case, but then for false.
    .replace(/\b(true|false|null)\b/gi, (word) => word.toLowerCase())
  checkStructure(masked)
  try {
    const parsed: Json[] = [...new Types.Filter(masked)]
    return parsed.map((branch) => clausesOf(branch, '', texts))
  } catch (error) {
    if (error instanceof ScimError) throw error
    throw unreadable('it is not a SCIM filter')
  }
}

/** What the library would read past, or take too long for. */
function checkStructure(masked: string): void {
  // Counted wherever the library sees one: to it, "trueor" and "or_" hold one too.
  if ((masked.match(/(and|or)(?![a-z0-9])/gi) ?? []).length > maxOperators) {
    throw unreadable('it has too many parts')
  }
  // The library turns "not (a or b)" into "not a or not b".
  if (/\bnot\s*\([^)]*\b(and|or)\b/i.test(masked)) throw unreadable('"not" may hold only one comparison')
  if (/\burn:/i.test(masked)) throw unreadable('it names a schema that users and groups do not have')
  if (danglingOperator.test(masked) || juxtaposed.test(masked)) throw unreadable('it is not a SCIM filter')
}

function unreadable(why: string): ScimError {
  return new ScimError(400, 'invalidFilter', `The filter cannot be answered: ${why}.`)
}

function unquoted(literal: string): string {
  try {
    const value: unknown = JSON.parse(literal)
    if (typeof value === 'string' && !value.includes('\0')) return value
  } catch {
    // Falls through to the refusal below.
  }
  throw unreadable('a quoted text in it is not a JSON string')
}

function clausesOf(branch: Json, prefix: string, texts: string[]): Clause[] {
  return Object.entries(branch).flatMap(([name, expression]) => {
    if (name in Object.prototype) throw unreadable('it names no attribute')
    const path = prefix + name.toLowerCase()
    if (isObject(expression)) return clausesOf(expression, `${path}.`, texts)
    if (!Array.isArray(expression)) throw unreadable('it is not a SCIM filter')
    const several = expression.every(Array.isArray) ? expression : [expression]
    return several.map((one: unknown[]) => clauseOf(plural.has(path) ? `${path}.value` : path, one, texts))
  })
}

function clauseOf(path: string, expression: unknown[], texts: string[]): Clause {
  const negated = expression[0] === 'not'
  const [comparator, value] = negated ? expression.slice(1) : expression
  const stand = typeof value === 'string' ? /^#(\d+)#$/.exec(value)?.[1] : undefined
  return {
    path,
    comparator: String(comparator).toLowerCase(),
    value: stand === undefined ? value : texts[Number(stand)],
    negated,
  }
}

function checkValue(clause: Clause): void {
  const isPresence = clause.comparator === 'pr' || clause.comparator === 'np'
  if (isPresence === (clause.value === undefined)) return
  const problem = isPresence ? 'takes no value' : 'compares with nothing'
  throw unreadable(`"${clause.path} ${clause.comparator}" ${problem}`)
}

function isTranslatable(clause: Clause, fields: Fields): boolean {
  if (clause.comparator !== 'eq' || clause.negated || !fields.has(clause.path)) return false
  return typeof clause.value === 'string' || typeof clause.value === 'boolean'
}

function termOf(clause: Clause, fields: Fields): Term[] {
  return isTranslatable(clause, fields)
    ? [{ path: clause.path, value: clause.value as string | boolean }]
    : []
}

/** Attributes compare without regard to case, except the ids: both sides are made lower case for the library. */
function matcherOf(branches: Clause[][]): (resource: Json) => boolean {
  const filter = matchable(branches.map(expressionOf))
  return (resource) => {
    try {
      return filter.match([lowered(resource)]).length > 0
    } catch {
      // The library throws where a complex attribute is absent, and so does not match.
      return false
    }
  }
}

function matchable(expressions: Json[]): Types.Filter {
  try {
    return new Types.Filter(expressions)
  } catch {
    throw unreadable('it is not a SCIM filter')
  }
}

function expressionOf(branch: Clause[]): Json {
  const expression: Json = {}
  for (const clause of branch) {
    const steps = clause.path.split('.')
    const last = steps.pop() ?? ''
    let place = expression
    for (const step of steps) {
      const inner = isObject(place[step]) ? place[step] : {}
      place[step] = inner
      place = inner
    }
    const test = [
      ...(clause.negated ? ['not'] : []),
      clause.comparator,
      ...(clause.value === undefined ? [] : [loweredValue(clause.path, clause.value)]),
    ]
    const before = place[last]
    place[last] = Array.isArray(before) ? [...(Array.isArray(before[0]) ? before : [before]), test] : test
  }
  return expression
}

function lowered(resource: Json): Json {
  return Object.fromEntries(
    Object.entries(resource).map(([name, value]) => [
      name === enterpriseUrn ? enterpriseName : name.toLowerCase(),
      loweredValue(name.toLowerCase(), value),
    ]),
  )
}

function loweredValue(path: string, value: unknown): unknown {
  if (typeof value === 'string') return caseExact.has(path) ? value : value.toLowerCase()
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? lowered(item) : item))
  return isObject(value) ? lowered(value) : value
}
