import { isTimeFilter, readTimeFilter } from './filter-time.ts'
import { escapeFilterValue } from './filter-value.ts'

/** Filters by the names of their parameters, as the address and the API have them. */
export type Filters = Readonly<Record<string, string | undefined>>

/** A filter that is typed as `name:value`. */
export interface ValueField {
  name: string
  parameter: string
  /** Whether it takes several values and exclusions. */
  isList?: boolean
  /** What can be chosen; other values are a problem. */
  values?: readonly string[]
  /** What ids of records look like: others are chosen by their names. */
  idPattern?: RegExp
  isTime?: boolean
  /** A typed value as the API reads it. */
  encode?: (value: string) => string
}

/** A filter that is typed as `name>value` or `name<value`. */
export interface BoundField {
  name: string
  /** The parameters of its ends; one may be absent. */
  min?: string
  max?: string
  unit: string
  example: string
  /** Null if it cannot be read. */
  read: (text: string) => string | null
}

export interface FilterFields<Field extends ValueField = ValueField> {
  values: readonly Field[]
  bounds?: readonly BoundField[]
  /** The parameter of everything that is no field; null if there is none. */
  text: string | null
  /** Recognizes an id that was pasted. */
  findId?: (word: string) => { parameter: string; value: string } | null
}

/** What was typed, as filters; `problem` says what could not be read. */
export interface ParsedFilters {
  filters: Record<string, string>
  problem: string | null
}

const tokenPattern = /(-?)([a-z]+)(:|>=?|<=?)("(?:[^"\\]|\\.)*"|\S+)?|"[^"]*"?|\S+/gi

/** Reads `model:claude -key:checkout cost>0.01 "text in the prompt"`. */
export function parseFilters(text: string, fields: FilterFields): ParsedFilters {
  const filters: Record<string, string> = {}
  const words: string[] = []
  for (const match of text.matchAll(tokenPattern)) {
    const [token, minus, name, operator, raw] = match
    const isField = [...fields.values, ...(fields.bounds ?? [])].some((field) => field.name === name)
    if (name === undefined || operator === undefined || (raw === undefined && !isField)) {
      const found = fields.findId?.(token)
      if (found) filters[found.parameter] = found.value
      else words.push(token)
      continue
    }
    const problem =
      operator === ':'
        ? addTyped(filters, fields, { name, isExcluded: minus === '-', value: unquote(raw ?? '') })
        : addBound(filters, fields, { name, isLower: operator.startsWith('>'), raw: raw ?? '' })
    if (problem !== null) return { filters, problem }
  }
  if (words.length === 0) return { filters, problem: null }
  if (fields.text === null)
    return { filters, problem: `“${words.join(' ')}” needs a field: ${nameFields(fields)}.` }
  filters[fields.text] = words.join(' ')
  return { filters, problem: null }
}

function nameFields({ values, bounds = [] }: Pick<FilterFields, 'values' | 'bounds'>): string {
  return [...values, ...bounds].map(({ name }) => name).join(', ')
}

function unquote(raw: string): string {
  return raw.startsWith('"') ? raw.slice(1, -1).replace(/\\(.)/g, '$1') : raw
}

interface TypedValue {
  name: string
  isExcluded: boolean
  value: string
}

function addTyped(
  filters: Record<string, string>,
  { values, bounds = [] }: FilterFields,
  { name, isExcluded, value }: TypedValue,
): string | null {
  const field = values.find((known) => known.name === name.toLowerCase())
  if (!field) {
    return `There is no field “${name}”. Fields: ${nameFields({ values, bounds })}.`
  }
  if (value === '') return `“${name}:” needs a value.`
  if (isExcluded && !field.isList) return `“${name}” cannot be excluded.`
  if (field.idPattern?.test(value) === false) return `Choose “${value}” from the list.`
  if (field.values && !field.values.includes(value))
    return `“${value}” is not a value of “${name}”. Values: ${field.values.join(', ')}.`
  const read = field.isTime ? readTimeFilter(value) : (field.encode?.(value) ?? value)
  if (read === null) return `“${value}” is not a time. Examples: 2h, yesterday, 2026-11-16, 2026-11-16T09:30`
  filters[field.parameter] = addValue(filters[field.parameter], field, { isExcluded, value: read })
  return null
}

/** Adds a value to those of a list, or replaces the only one. */
export function addValue(
  present: string | undefined,
  { isList }: ValueField,
  { isExcluded, value }: Omit<TypedValue, 'name'>,
): string {
  if (!isList) return value
  const item = (isExcluded ? '!' : '') + escapeFilterValue(value)
  return present === undefined || present.split(',').includes(item) ? (present ?? item) : `${present},${item}`
}

/** The values of a list. */
export function splitValues(text: string): string[] {
  return [...text.matchAll(/(?:[^\\,]|\\.)+/g)].map(([item]) => item.replace(/\\(.)/g, '$1'))
}

function addBound(
  filters: Record<string, string>,
  { bounds = [] }: FilterFields,
  { name, isLower, raw }: { name: string; isLower: boolean; raw: string },
): string | null {
  const field = bounds.find((known) => known.name === name.toLowerCase())
  if (!field) {
    const names = bounds.map((known) => known.name).join(' and ')
    return names === '' ? `“${name}” cannot be compared.` : `Only ${names} can be compared, not “${name}”.`
  }
  const value = field.read(raw)
  if (value === null) return `“${raw}” is not a value of ${name}. Example: ${field.example}`
  const parameter = isLower ? field.min : field.max
  if (parameter === undefined) return `“${name}” has no such bound. Example: ${field.example}`
  filters[parameter] = value
  return null
}

/** A filter that is set, removed as a whole. */
export interface Chip {
  parameter: string
  text: string
}

/** `nameOf` names the records of fields whose values are ids. */
export function listChips(
  filters: Filters,
  { values, bounds = [], text }: FilterFields,
  nameOf: (field: ValueField, id: string) => string = (_, id) => id,
): Chip[] {
  const show = (field: ValueField, value: string) => {
    if (field.isTime) return isTimeFilter(value) ? value : new Date(value).toLocaleString()
    return field.idPattern
      ? splitValues(value)
          .map((id) => (id.startsWith('!') ? `not ${nameOf(field, id.slice(1))}` : nameOf(field, id)))
          .join(', ')
      : value
  }
  const chips: (Chip | null)[] = [
    ...values.map((field) => {
      const value = filters[field.parameter]
      return value === undefined
        ? null
        : { parameter: field.parameter, text: `${field.name}:${show(field, value)}` }
    }),
    ...bounds.flatMap(({ name, min, max, unit }) =>
      [
        { parameter: min, sign: '≥' },
        { parameter: max, sign: '≤' },
      ].map(({ parameter, sign }) => {
        const value = parameter === undefined ? undefined : filters[parameter]
        const amount = unit === '$' ? `$${value}` : `${value}${unit}`
        return parameter === undefined || value === undefined
          ? null
          : { parameter, text: `${name}${sign}${amount}` }
      }),
    ),
    text === null || filters[text] === undefined ? null : { parameter: text, text: filters[text] },
  ]
  return chips.filter((chip) => chip !== null)
}

/** What is being typed at the end of a draft: the name of a field, or a value of one. */
export interface TypedEnd {
  /** The draft before it. */
  before: string
  isExcluded: boolean
  field: ValueField | null
  text: string
}

export function readTypedEnd(draft: string, { values }: FilterFields): TypedEnd {
  const match = /(^|\s)(-?)([a-z]+):("[^"]*|\S*)$/i.exec(draft)
  const field = values.find(({ name }) => name === match?.[3]?.toLowerCase())
  if (match && field) {
    const before = draft.slice(0, match.index + (match[1]?.length ?? 0))
    return { before, isExcluded: match[2] === '-', field, text: (match[4] ?? '').replace(/^"/, '') }
  }
  const [word = ''] = /\S*$/.exec(draft) ?? []
  const isExcluded = word.startsWith('-')
  const before = draft.slice(0, draft.length - word.length)
  return { before, isExcluded, field: null, text: isExcluded ? word.slice(1) : word }
}
