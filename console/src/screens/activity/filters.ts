import type { Schemas } from '../../api/client.ts'
import { memberField, workspaceField } from '../../components/filter-fields.ts'
import type { CompletedField } from '../../components/filter-input.tsx'
import type { FilterFields } from '../../components/filter-query.ts'
import { escapeFilterValue } from '../../components/filter-value.ts'
import {
  type ActivityGroup,
  type Dimension,
  type FilterName,
  filterFields,
  filterNames,
} from './dimensions.ts'

type Filter = NonNullable<Schemas['AnalyticsQueryRequest']['filters']>[number]

/** Values of filters by their names, as the address and the request log have them. */
export type ActivityFilters = Partial<Record<FilterName, string>>

const tagItem = /^[a-z0-9_.-]{1,64}=./

/** Values that sums are stored by: each is chosen from a list, as parts of names find nothing. */
const values: CompletedField[] = [
  {
    ...{ name: 'model', parameter: 'model', isList: true, source: 'model', hint: 'Model that replied' },
    idPattern: /\//,
  },
  { name: 'provider', parameter: 'provider', isList: true, source: 'provider', hint: 'Slug or name' },
  {
    ...{ name: 'key', parameter: 'key', isList: true, source: 'key_hash', hint: 'API key' },
    idPattern: /^[0-9a-f]{64}$/,
  },
  workspaceField,
  { ...memberField, isList: true },
  { name: 'user', parameter: 'external_user', isList: true, source: 'end_user', hint: 'End user' },
  {
    ...{ name: 'tag', parameter: 'tag', isList: true, source: 'tag', hint: 'name=value' },
    idPattern: tagItem,
  },
  { name: 'app', parameter: 'app', isList: true, hint: 'Address of an app' },
]

export const activityFields = { values, text: null } satisfies FilterFields<CompletedField>

const maxLength = 256
/** Conditions of a query. */
const maxConditions = 20

/** What is no filter is dropped: anybody can write an address. */
export function isFilter(name: FilterName, text: string): boolean {
  if (text.length > maxLength || listItems(text).length === 0) return false
  return name !== 'tag' || listItems(text).every(({ value }) => tagItem.test(value))
}

interface FilterItem {
  isExcluded: boolean
  value: string
}

/** The values of a filter: commas separate them, and `!` excludes one. */
function listItems(text: string): FilterItem[] {
  return [...text.matchAll(/(?:[^\\,]|\\.)+/g)].map(([item]) => ({
    isExcluded: item.startsWith('!'),
    value: item.replace(/^!/, '').replace(/\\(.)/g, '$1'),
  }))
}

/** The conditions of a query of the API. */
export function conditionsOf(filters: ActivityFilters): Filter[] {
  return filterNames
    .flatMap((name): Filter[] => {
      const items = listItems(filters[name] ?? '')
      return name === 'tag' ? items.map(conditionOfTag) : listConditions(filterFields[name], items)
    })
    .slice(0, maxConditions)
}

/** Requests have one of the included values, and none of the excluded ones. */
function listConditions(field: Filter['field'], items: readonly FilterItem[]): Filter[] {
  const [included, excluded] = [false, true].map((isExcluded) =>
    items.filter((item) => item.isExcluded === isExcluded).map(({ value }) => value),
  )
  return [
    ...(included?.length ? [{ field, operator: 'in' as const, value: included }] : []),
    ...(excluded?.length
      ? [{ field, operator: 'not_in' as const, value: excluded, include_unset: true }]
      : []),
  ]
}

/** Requests have all of several tags, as in the request log. */
function conditionOfTag({ isExcluded, value: item }: FilterItem): Filter {
  const at = item.indexOf('=')
  const field: Filter['field'] = `tag:${item.slice(0, at)}`
  const value = [item.slice(at + 1)]
  return isExcluded
    ? { field, operator: 'not_in', value, include_unset: true }
    : { field, operator: 'in', value }
}

/** The filters that select only a group; undefined if there is no filter for it. */
export function narrow(
  filters: ActivityFilters,
  { filter, filterPrefix = '' }: Dimension,
  { id }: ActivityGroup,
): ActivityFilters | undefined {
  if (!filter || id === null) return undefined
  const item = escapeFilterValue(filterPrefix + id)
  const present = filters[filter]
  // A request has several tags, but one value of anything else.
  if (filter !== 'tag' || present === undefined) return { ...filters, [filter]: item }
  return present.split(',').includes(item) ? filters : { ...filters, tag: `${present},${item}` }
}
