import type { Schemas } from '../../api/client.ts'

type ApiDimension = NonNullable<Schemas['AnalyticsQueryRequest']['dimensions']>[number]

/** Filters have the names that the request log gives them. */
export const filterNames = [
  'model',
  'provider',
  'key',
  'user_id',
  'workspace_id',
  'external_user',
  'tag',
  'app',
] as const
export type FilterName = (typeof filterNames)[number]

export interface Dimension {
  label: string
  field: ApiDimension
  /** The column that identifies a group, if it is not the one with its name. */
  idField?: string
  /** The name of requests without a value. */
  unset: string
  /** Only for ranges of at most 31 days. */
  isShort?: true
  /** The filter that selects a group. */
  filter?: FilterName
  /** What a filter has before the id of a group. */
  filterPrefix?: string
}

export const dimensions = {
  model: { label: 'Model', field: 'model', unset: 'Unknown model', filter: 'model' },
  key: {
    label: 'API key',
    field: 'api_key_id',
    idField: 'api_key_hash',
    unset: 'No key',
    filter: 'key',
  },
  workspace: {
    label: 'Workspace',
    field: 'workspace',
    idField: 'workspace_id',
    unset: 'No workspace',
    filter: 'workspace_id',
  },
  member: { label: 'Member', field: 'user', idField: 'user_id', unset: 'No member', filter: 'user_id' },
  end_user: {
    label: 'End user',
    field: 'external_user',
    unset: 'No end user named',
    isShort: true,
    filter: 'external_user',
  },
  provider: {
    label: 'Provider',
    field: 'provider',
    unset: 'No provider',
    isShort: true,
    filter: 'provider',
  },
  app: { label: 'App', field: 'app', idField: 'app_url', unset: 'No app named', filter: 'app' },
  finish_reason: {
    label: 'Finish reason',
    field: 'finish_reason',
    unset: 'Failed or canceled',
    isShort: true,
  },
} satisfies Record<string, Dimension>

/** The values of one tag. */
type TagDimension = `tag:${string}`
export type DimensionName = keyof typeof dimensions | TagDimension

export const dimensionNames = Object.keys(dimensions) as (keyof typeof dimensions)[]

const tagPattern = /^tag:([a-z0-9_.-]{1,64})$/

export function isDimension(name: string): name is DimensionName {
  return Object.hasOwn(dimensions, name) || tagPattern.test(name)
}

export function dimensionOf(name: DimensionName): Dimension {
  if (!isTag(name)) return dimensions[name]
  const tag = name.slice('tag:'.length)
  return {
    ...{ label: `Tag ${tag}`, field: name, unset: `Without ${tag}`, isShort: true },
    ...{ filter: 'tag', filterPrefix: `${tag}=` },
  }
}

function isTag(name: DimensionName): name is TagDimension {
  return tagPattern.test(name)
}

/** The label within a sentence: `model`, `API key`. */
export function nounOf({ label }: Dimension): string {
  return /^[A-Z][a-z]/.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label
}

/** The dimension that a filter selects by; that of a tag is in its value. */
export const filterFields: Record<Exclude<FilterName, 'tag'>, ApiDimension> = {
  model: 'model',
  provider: 'provider',
  key: 'api_key_id',
  user_id: 'user',
  workspace_id: 'workspace',
  external_user: 'external_user',
  app: 'app',
}

export interface ActivityGroup {
  /** Null for the requests without a value. */
  id: string | null
  label: string
}

export function groupOf(row: Record<string, string | number | null>, dimension: Dimension): ActivityGroup {
  const id = row[dimension.idField ?? dimension.field] ?? null
  const name = row[dimension.field] ?? null
  return { id: id === null ? null : String(id), label: name === null ? dimension.unset : String(name) }
}
