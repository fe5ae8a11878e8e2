import type { Schemas } from '../../api/client.ts'

type ApiDimension = NonNullable<Schemas['AnalyticsQueryRequest']['dimensions']>[number]

/** Filters have the names that the request log gives them. */
export const filterNames = ['model', 'provider', 'key', 'user_id', 'workspace_id', 'app'] as const
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
}

export const dimensions = {
  model: { label: 'Model', field: 'model', unset: 'Unknown model', filter: 'model' },
  provider: {
    label: 'Provider',
    field: 'provider',
    unset: 'No provider',
    isShort: true,
    filter: 'provider',
  },
  key: {
    label: 'API key',
    field: 'api_key_id',
    idField: 'api_key_hash',
    unset: 'No key',
    filter: 'key',
  },
  member: { label: 'Member', field: 'user', idField: 'user_id', unset: 'No member', filter: 'user_id' },
  workspace: {
    label: 'Workspace',
    field: 'workspace',
    idField: 'workspace_id',
    unset: 'No workspace',
    filter: 'workspace_id',
  },
  app: { label: 'App', field: 'app', idField: 'app_url', unset: 'No app named', filter: 'app' },
  end_user: { label: 'End user', field: 'external_user', unset: 'No end user named', isShort: true },
  finish_reason: {
    label: 'Finish reason',
    field: 'finish_reason',
    unset: 'Failed or canceled',
    isShort: true,
  },
} satisfies Record<string, Dimension>

export type DimensionName = keyof typeof dimensions

export const dimensionNames = Object.keys(dimensions) as DimensionName[]

export function dimensionOf(name: DimensionName): Dimension {
  return dimensions[name]
}

/** The label within a sentence: `model`, `API key`. */
export function nounOf({ label }: Dimension): string {
  return /^[A-Z][a-z]/.test(label) ? label.toLowerCase() : label
}

/** The dimension of each filter. */
export const filterDimensions: Record<FilterName, DimensionName> = {
  model: 'model',
  provider: 'provider',
  key: 'key',
  user_id: 'member',
  workspace_id: 'workspace',
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
