import { Types } from 'scimmy'
import { enterpriseUrn, isObject, type Json, ScimError } from './protocol.ts'

/** An equality that SQL can express. */
export interface Term {
  /** Path in lower case, such as `username` or `emails.value`. */
  path: string
  value: string | boolean
}

/** Fields of a filter: `exact` if SQL decides their equality, `narrowing` if it may return too many rows. */
export type FilterableFields = ReadonlyMap<string, 'exact' | 'narrowing'>

export interface FilterPlan {
  /** A disjunction of conjunctions that every match satisfies. Null: everything. */
  branches: Term[][] | null
  /** The branches are exact, and nothing needs to be compared in memory. */
  isExact: boolean
  /** The paths in the filter, in lower case. */
  paths: Set<string>
  matches(resource: Json): boolean
}

/** Maximum operators: more than any provider sends, and few enough that expanding them stays cheap. */
const maxOperators = 16
const maxFilterLength = 4096

/** Multi-valued attributes, which stand for their `value` if no sub-attribute is named. */
const multiValuedAttributes = new Set(['emails', 'members', 'groups', 'phonenumbers'])
const caseExactAttributes = new Set(['id', 'externalid'])

/** The library would split the URN at the dot of its version. */
const enterpriseName = 'enterpriseextension'
const enterprisePrefix = new RegExp(`\\b${enterpriseUrn.replace('.', '\\.')}:`, 'gi')

const danglingOperatorPattern = /(^|[([])\s*(and|or)\b|\b(and|or)\s*($|[)\]]|(and|or)\b)/i
const juxtaposedPattern = /("#\d+#"|\)|\b(true|false|null|pr)\b)(?!\s*($|[)\]]|(and|or)\b))/i

const matchAll: FilterPlan = { branches: null, isExact: true, paths: new Set(), matches: () => true }

interface Clause {
  path: string
  comparator: string
  value: unknown
  negated: boolean
}

export function planFilter(text: string | null, fields: FilterableFields): FilterPlan {
  if (text === null || text.trim() === '') return matchAll
  const branches = parseFilter(text)
  const clauses = branches.flat()
  for (const clause of clauses) validateClauseValue(clause)
  const terms = branches.map((branch) => branch.flatMap((clause) => toTerms(clause, fields)))
  const isExact = branches.every((branch) =>
    branch.every((clause) => isTranslatable(clause, fields) && fields.get(clause.path) === 'exact'),
  )
  return {
    branches: terms.every((branch) => branch.length > 0) ? terms : null,
    isExact,
    paths: new Set(clauses.map((clause) => clause.path)),
    matches: createMatcher(branches),
  }
}

/** The values of a filter of the form `value eq "a" or value eq "b"`; undefined for any other filter. */
export function parseValueFilter(text: string): string[] | undefined {
  const values: string[] = []
  for (const branch of parseFilter(text)) {
    const [clause] = branch
    if (branch.length !== 1 || clause?.path !== 'value' || clause.comparator !== 'eq') return undefined
    if (clause.negated || typeof clause.value !== 'string') return undefined
    values.push(clause.value)
  }
  return values
}

/** The equalities of a filter without alternatives, by attribute: a matching element must have these values. */
export function parseEqualities(text: string): Json | undefined {
  const [branch, ...others] = parseFilter(text)
  if (!branch || others.length > 0 || !branch.every(isPlainEquality)) return undefined
  const equal = new Map(branch.map((clause) => [clause.path, clause.value]))
  return equal.size === branch.length ? Object.fromEntries(equal) : undefined
}

function isPlainEquality({ comparator, negated, path, value }: Clause): boolean {
  return comparator === 'eq' && !negated && !path.includes('.') && value !== undefined
}

/**
 * The library's parser gets numbered placeholders instead of quoted text: it does not know escapes, and quoted
 * text must not change the structure.
 */
function parseFilter(text: string): Clause[][] {
  if (text.length > maxFilterLength || text.includes('\0'))
    throw invalidFilterError('it is too long or not a string')
  const texts: string[] = []
  const masked = text
    .replace(/"(?:[^"\\]|\\.)*"/gs, (literal) => `"#${texts.push(unquote(literal)) - 1}#"`)
    .replace(/\burn:ietf:params:scim:schemas:core:2\.0:\w+:/gi, '')
    .replace(enterprisePrefix, `${enterpriseName}.`)
    // The library accepts them in any case, but reads other cases as false.
    .replace(/\b(true|false|null)\b/gi, (word) => word.toLowerCase())
  validateStructure(masked)
  try {
    const parsed: Json[] = [...new Types.Filter(masked)]
    return parsed.map((branch) => parseClauses(branch, '', texts))
  } catch (error) {
    if (error instanceof ScimError) throw error
    throw invalidFilterError('it is not a SCIM filter')
  }
}

/** Rejects filters that the library would misread or take too long for. */
function validateStructure(masked: string): void {
  // Counts operators as the library does, which also finds one in "trueor" and "or_".
  if ((masked.match(/(and|or)(?![a-z0-9])/gi) ?? []).length > maxOperators) {
    throw invalidFilterError('it has too many conditions')
  }
  // The library turns "not (a or b)" into "not a or not b".
  if (/\bnot\s*\([^)]*\b(and|or)\b/i.test(masked))
    throw invalidFilterError('"not" supports only one comparison')
  if (/\burn:/i.test(masked)) throw invalidFilterError('it names a schema that users and groups do not have')
  if (danglingOperatorPattern.test(masked) || juxtaposedPattern.test(masked))
    throw invalidFilterError('it is not a SCIM filter')
}

function invalidFilterError(why: string): ScimError {
  return new ScimError(400, 'invalidFilter', `The filter is not supported: ${why}.`)
}

function unquote(literal: string): string {
  try {
    const value: unknown = JSON.parse(literal)
    if (typeof value === 'string' && !value.includes('\0')) return value
  } catch {
    // Falls through to the error below.
  }
  throw invalidFilterError('a quoted value in it is not a JSON string')
}

function parseClauses(branch: Json, prefix: string, texts: string[]): Clause[] {
  return Object.entries(branch).flatMap(([name, expression]) => {
    if (name in Object.prototype) throw invalidFilterError('it names no attribute')
    const path = prefix + name.toLowerCase()
    if (isObject(expression)) return parseClauses(expression, `${path}.`, texts)
    if (!Array.isArray(expression)) throw invalidFilterError('it is not a SCIM filter')
    const expressions = expression.every(Array.isArray) ? expression : [expression]
    return expressions.map((one: unknown[]) =>
      parseClause(multiValuedAttributes.has(path) ? `${path}.value` : path, one, texts),
    )
  })
}

function parseClause(path: string, expression: unknown[], texts: string[]): Clause {
  const negated = expression[0] === 'not'
  const [comparator, value] = negated ? expression.slice(1) : expression
  const placeholder = typeof value === 'string' ? /^#(\d+)#$/.exec(value)?.[1] : undefined
  return {
    path,
    comparator: String(comparator).toLowerCase(),
    value: placeholder === undefined ? value : texts[Number(placeholder)],
    negated,
  }
}

function validateClauseValue(clause: Clause): void {
  const isPresence = clause.comparator === 'pr' || clause.comparator === 'np'
  if (isPresence === (clause.value === undefined)) return
  const problem = isPresence ? 'takes no value' : 'needs a value'
  throw invalidFilterError(`"${clause.path} ${clause.comparator}" ${problem}`)
}

function isTranslatable(clause: Clause, fields: FilterableFields): boolean {
  if (clause.comparator !== 'eq' || clause.negated || !fields.has(clause.path)) return false
  return typeof clause.value === 'string' || typeof clause.value === 'boolean'
}

function toTerms(clause: Clause, fields: FilterableFields): Term[] {
  return isTranslatable(clause, fields)
    ? [{ path: clause.path, value: clause.value as string | boolean }]
    : []
}

/** Attributes other than ids compare case-insensitively: both sides are lower-cased for the library. */
function createMatcher(branches: Clause[][]): (resource: Json) => boolean {
  const filter = createFilter(branches.map(buildExpression))
  return (resource) => {
    try {
      return filter.match([lowerCaseResource(resource)]).length > 0
    } catch {
      // The library throws if a complex attribute is absent, which means no match.
      return false
    }
  }
}

function createFilter(expressions: Json[]): Types.Filter {
  try {
    return new Types.Filter(expressions)
  } catch {
    throw invalidFilterError('it is not a SCIM filter')
  }
}

function buildExpression(branch: Clause[]): Json {
  const expression: Json = {}
  for (const clause of branch) {
    const steps = clause.path.split('.')
    const last = steps.pop() ?? ''
    let node = expression
    for (const step of steps) {
      const inner = isObject(node[step]) ? node[step] : {}
      node[step] = inner
      node = inner
    }
    const test = [
      ...(clause.negated ? ['not'] : []),
      clause.comparator,
      ...(clause.value === undefined ? [] : [lowerCaseValue(clause.path, clause.value)]),
    ]
    const before = node[last]
    node[last] = Array.isArray(before) ? [...(Array.isArray(before[0]) ? before : [before]), test] : test
  }
  return expression
}

function lowerCaseResource(resource: Json): Json {
  return Object.fromEntries(
    Object.entries(resource).map(([name, value]) => [
      name === enterpriseUrn ? enterpriseName : name.toLowerCase(),
      lowerCaseValue(name.toLowerCase(), value),
    ]),
  )
}

function lowerCaseValue(path: string, value: unknown): unknown {
  if (typeof value === 'string') return caseExactAttributes.has(path) ? value : value.toLowerCase()
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? lowerCaseResource(item) : item))
  return isObject(value) ? lowerCaseResource(value) : value
}
