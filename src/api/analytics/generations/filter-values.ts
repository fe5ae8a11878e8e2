import { z } from 'zod'
import type { Condition } from '../../../analytics/request-log/selection.ts'
import { isTagName, isTagValue } from '../../../governance/tags/tag.ts'
import { type ErrorCode, errorTable } from '../../../platform/errors/table.ts'

/** Values of which a request has one, and values that it does not have. */
export interface ValueFilter {
  included: string[]
  excluded: string[]
}

const maxValues = 20
const maxLength = 2048
const maxValueLength = 256

/** Values separated by commas; `!` excludes one. A backslash takes the meaning from a comma or a `!`. */
export function splitValues(text: string): ValueFilter {
  const filter: ValueFilter = { included: [], excluded: [] }
  for (const [item] of text.matchAll(/(?:\\.|[^,\\])+|\\$/g)) {
    const isExcluded = item.startsWith('!')
    const value = item.slice(isExcluded ? 1 : 0).replace(/\\(.)/g, '$1')
    filter[isExcluded ? 'excluded' : 'included'].push(value)
  }
  return filter
}

/** Several values in a query; `isValid` decides about each. */
export function valueFilter(rule = 'a value', isValid: (value: string) => boolean = () => true) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .transform((text, context) => {
      const filter = splitValues(text)
      const values = [...filter.included, ...filter.excluded]
      const isFilter =
        values.length > 0 &&
        values.length <= maxValues &&
        values.every((value) => value !== '' && value.length <= maxValueLength && isValid(value))
      if (isFilter) return filter
      const message = `must be ${rule}, or at most ${maxValues} separated by commas; "!" in front of one excludes it`
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    })
    .meta({ override: { type: 'string', minLength: 1, maxLength } })
}

/** Builds conditions on texts; `*` stands for any characters if patterns are allowed. */
export function matchValues(
  columns: readonly string[],
  filter: ValueFilter | undefined,
  { allowsPatterns = false } = {},
): Condition[] {
  if (!filter) return []
  const matchOne = (value: string): Condition =>
    allowsPatterns && value.includes('*') ? { columns, pattern: value } : { columns, values: [value] }
  return [
    ...(filter.included.length === 0 ? [] : [{ any: filter.included.map(matchOne) }]),
    ...filter.excluded.map((value) => ({ not: matchOne(value) })),
  ]
}

/** A tag: `name=value`, or one of both. */
export function isTagItem(item: string): boolean {
  const at = item.indexOf('=')
  if (at === -1) return isTagName(item) || isTagValue(item)
  return isTagName(item.slice(0, at)) && isTagValue(item.slice(at + 1))
}

/** Requests have all of these tags, and none of the excluded ones. */
export function matchTags(filter: ValueFilter | undefined): Condition[] {
  if (!filter) return []
  return [
    ...filter.included.map(matchTag),
    ...filter.excluded.map((item): Condition => ({ not: matchTag(item) })),
  ]
}

function matchTag(item: string): Condition {
  const column = 'tags'
  if (item.includes('=')) return { column, part: `\n${item}\n` }
  return {
    any: [
      { column, part: `\n${item}=` },
      { column, part: `=${item}\n` },
    ],
  }
}

export const logStatuses = ['completed', 'failed', 'cancelled', 'refused'] as const
export type LogStatus = (typeof logStatuses)[number]
export type EndedStatus = Exclude<LogStatus, 'refused'>

const httpStatus = /^[45]\d\d$/

export function isStatusItem(item: string): boolean {
  return item === 'error' || httpStatus.test(item) || logStatuses.some((status) => status === item)
}

/** The status filter, applied to requests with a record and to refused ones. */
export interface StatusConditions {
  /** Null: none. */
  generations: Condition[] | null
  refused: Condition[] | null
  /** Whether no request that completed can match. */
  isUnsuccessful: boolean
}

export function matchStatus(filter: ValueFilter | undefined): StatusConditions {
  if (!filter) return { generations: [], refused: [], isUnsuccessful: false }
  const included = filter.included.length === 0 ? null : readStatuses(filter.included)
  const excluded = readStatuses(filter.excluded)
  const chosen = (included?.statuses ?? logStatuses).filter((status) => !excluded.statuses.includes(status))
  const ended = chosen.filter((status): status is EndedStatus => status !== 'refused')
  const withoutCodes: Condition[] =
    excluded.codes.length === 0
      ? []
      : [{ not: { columns: ['error_code'], values: listErrors(excluded.codes) } }]
  const codes = included?.codes ?? []
  return {
    generations:
      ended.length === 0 && codes.length === 0
        ? null
        : [{ any: [...hasStatus(ended), ...hasError(codes)] }, ...withoutCodes, ...withoutStatus(excluded)],
    refused:
      !chosen.includes('refused') && codes.length === 0
        ? null
        : [
            ...(chosen.includes('refused') ? [] : [{ columns: ['http_status'], values: codes }]),
            ...withoutRefused(excluded),
          ],
    isUnsuccessful: !ended.includes('completed'),
  }
}

interface StatusItems {
  statuses: LogStatus[]
  codes: number[]
}

function readStatuses(items: readonly string[]): StatusItems {
  const words = items.flatMap((item) => (item === 'error' ? ['failed', 'refused'] : [item]))
  return {
    statuses: logStatuses.filter((status) => words.includes(status)),
    codes: words.filter((word) => httpStatus.test(word)).map(Number),
  }
}

function hasStatus(statuses: readonly EndedStatus[]): Condition[] {
  return statuses.length === 0 ? [] : [{ columns: ['status'], values: statuses }]
}

function withoutStatus({ statuses }: StatusItems): Condition[] {
  return statuses.length === 0 ? [] : [{ not: { columns: ['status'], values: statuses } }]
}

function hasError(codes: readonly number[]): Condition[] {
  return codes.length === 0 ? [] : [{ columns: ['error_code'], values: listErrors(codes) }]
}

function withoutRefused({ statuses, codes }: StatusItems): Condition[] {
  if (statuses.includes('refused')) return [{ any: [] }]
  return codes.length === 0 ? [] : [{ not: { columns: ['http_status'], values: codes } }]
}

/** The codes of errors with one of these HTTP statuses. */
function listErrors(statuses: readonly number[]): ErrorCode[] {
  return (Object.keys(errorTable) as ErrorCode[]).filter((code) => statuses.includes(errorTable[code].status))
}
