import { memberField, workspaceField } from '../../components/filter-fields.ts'
import type { CompletedField } from '../../components/filter-input.tsx'
import {
  type BoundField,
  type FilterFields,
  listChips as listFilterChips,
  type ParsedFilters,
  parseFilters,
} from '../../components/filter-query.ts'
import { type FilterName, isValidFilter, type RequestSearch, statuses } from './search.ts'

const formats = ['chat', 'responses', 'messages', 'completions', 'embeddings', 'gemini', 'images', 'rerank']

const memberList = { ...memberField, isList: true }
export const workspaceList = { ...workspaceField, isList: true }

const values: CompletedField[] = [
  {
    ...{ name: 'model', parameter: 'model', isList: true, source: 'model', hint: 'Requested or served' },
    encode: toModelPattern,
  },
  { name: 'provider', parameter: 'provider', isList: true, source: 'provider', hint: 'Slug or name' },
  {
    ...{ name: 'status', parameter: 'status', isList: true, hint: 'Outcome or HTTP status' },
    suggestions: ['error', ...statuses, '429', '500'],
  },
  { name: 'error', parameter: 'error_code', isList: true, hint: 'Reason of the error' },
  { name: 'key', parameter: 'key', isList: true, source: 'key', hint: 'Name of an API key' },
  { name: 'user', parameter: 'external_user', isList: true, source: 'end_user', hint: 'End user' },
  { name: 'tag', parameter: 'tag', isList: true, source: 'tag', hint: 'name=value, a name or a value' },
  { name: 'session', parameter: 'session_id', isList: true, hint: 'Conversation or agent run' },
  { name: 'app', parameter: 'app', isList: true, hint: 'Title or address of an app' },
  { name: 'format', parameter: 'format', isList: true, hint: 'API of the client', suggestions: formats },
  memberList,
  workspaceList,
  { name: 'after', parameter: 'from', isTime: true, source: 'time', hint: 'Start, such as 2h' },
  { name: 'before', parameter: 'to', isTime: true, source: 'time', hint: 'End, such as yesterday' },
  { name: 'id', parameter: 'id', hint: 'Generation ID' },
  { name: 'request', parameter: 'request_id', hint: 'X-Request-Id' },
  { name: 'upstream', parameter: 'upstream_id', hint: 'Id of the provider' },
]

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, min: 60_000 }

const bounds: BoundField[] = [
  {
    ...{ name: 'cost', min: 'min_cost', max: 'max_cost', unit: '$', example: 'cost>0.01' },
    read: (text) => /^\$?(\d{1,9}(?:\.\d{1,9})?)$/.exec(text)?.[1] ?? null,
  },
  {
    ...{ name: 'latency', min: 'min_latency', max: 'max_latency', unit: ' ms', example: 'latency>5s' },
    read: readDuration,
  },
]

export const requestFields = {
  values,
  bounds,
  text: 'text',
  findId: (word) => (/^gen-[\w-]{6,}$/.test(word) ? { parameter: 'id', value: word } : null),
} satisfies FilterFields

/** Reads what was typed; `problem` also names values that the API would refuse. */
export function parseQuery(text: string): ParsedFilters {
  const parsed = parseFilters(text, requestFields)
  return parsed.problem === null ? { ...parsed, problem: findProblem(parsed.filters) } : parsed
}

export function findProblem(filters: Readonly<Record<string, string>>): string | null {
  const invalid = Object.entries(filters).find(([name, value]) => !isValidFilter(name as FilterName, value))
  return invalid ? `“${invalid[1]}” cannot be searched for.` : null
}

/** A part of a name finds the model: only a whole id has a slash. */
function toModelPattern(value: string): string {
  return value.includes('/') || value.includes('*') ? value : `*${value}*`
}

function readDuration(text: string): string | null {
  const [, digits = '', unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|min|m)?$/i.exec(text) ?? []
  const factor = units[unit.toLowerCase()]
  return digits === '' || factor === undefined ? null : String(Math.round(Number(digits) * factor))
}

/** The chips of the filters that are set: each is removed as a whole. */
export function listChips({ period: _, ...filters }: RequestSearch) {
  return listFilterChips({ ...filters }, requestFields)
}
