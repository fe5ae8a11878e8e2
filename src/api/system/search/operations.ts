import { z } from 'zod'
import { scopeOf } from '../../../access/authorize.ts'
import { defineOperation } from '../../../http/operation.ts'
import { maxExaminedKeys } from '../../../identity/key-search.ts'
import type { Scope } from '../../../identity/permissions/grant.ts'
import type { Permission } from '../../../identity/permissions/permissions.ts'
import { listReachableModels, type ModelViewer } from '../../../inference/plan/model-access.ts'
import { queryInteger, searchText } from '../../../platform/validation/query-params.ts'
import { findKeys } from './keys.ts'
import { type FoundRow, namedTables, searchTable, type TextSearch } from './tables.ts'

type TableKind = keyof typeof namedTables

/** Permissions that a caller needs to search each table. */
const tablePermissions: Record<TableKind, Permission> = {
  workspace: 'workspaces:read',
  member: 'members:read',
  guardrail: 'guardrails:read',
  preset: 'presets:read',
  destination: 'destinations:read',
  byok_key: 'byok:read',
}

const kinds = [
  'key',
  'workspace',
  'member',
  'guardrail',
  'preset',
  'destination',
  'byok_key',
  'model',
] as const

const searchResult = z
  .strictObject({
    kind: z.enum(kinds),
    id: z.string().describe('As in the paths of the API: the hash of a key, the slug of a preset.'),
    name: z.string(),
    description: z.string().nullable(),
    workspace_id: z.string().nullable().describe('null for what belongs to the whole organization.'),
  })
  .meta({ id: 'SearchResult' })

type SearchResult = z.input<typeof searchResult>

const searchObjects = defineOperation({
  id: 'searchObjects',
  method: 'GET',
  path: '/search',
  tag: 'System',
  summary: 'Finds keys, workspaces, members, guardrails, presets, destinations, BYOK keys and models.',
  description: `An extension. The text may be anywhere in a name, an address, a label, a slug or an id; of the hash of a key it must be the beginning. Case is ignored, on SQLite only that of the letters A to Z. Results are those that the caller may read in the lists of these objects. The newest ${maxExaminedKeys.toLocaleString('en')} keys are examined.`,
  permission: 'identity:read',
  query: z.object({
    q: searchText.describe('The text to find.'),
    limit: queryInteger({ min: 1, max: 50, fallback: 5 }).describe('Results of each kind.'),
  }),
  response: z.strictObject({
    data: z.array(searchResult),
    complete: z.boolean().describe('false if there are older keys that were not examined.'),
  }),
  handle: async (context) => {
    const { gateway, caller, query } = context
    const search = { organizationId: caller.organizationId, text: query.q, limit: query.limit }
    const keys = await findKeys(gateway.db, { ...search, scope: scopeOf(caller, 'keys:read') })
    const data: SearchResult[] = keys.rows.map((row) => ({ kind: 'key', ...row }))
    for (const kind of Object.keys(namedTables) as TableKind[]) {
      const scope = scopeOf(caller, tablePermissions[kind])
      if (isEmpty(scope)) continue
      const rows = await searchTable(gateway.db, namedTables[kind], { ...search, scope })
      data.push(...rows.map((row) => toResult(kind, row)))
    }
    if (!isEmpty(scopeOf(caller, 'models:read'))) data.push(...(await findModels(context, search)))
    return { data, complete: keys.isComplete }
  },
})

export const searchOperations = [searchObjects]

function isEmpty({ everywhere, workspaceIds }: Scope): boolean {
  return !everywhere && workspaceIds.size === 0
}

/** A member who has no name is called by the address. */
function toResult(kind: TableKind, { id, name, description, workspace_id }: FoundRow): SearchResult {
  return { kind, id, name: name || description || id, description, workspace_id }
}

/** Finds models that the caller may view, including those that are unavailable now. */
async function findModels(viewer: ModelViewer, { text, limit }: Pick<TextSearch, 'text' | 'limit'>) {
  const lowered = text.toLowerCase()
  const models = await listReachableModels(viewer, { include_unavailable: true })
  return models
    .filter(({ id, name }) => id.toLowerCase().includes(lowered) || name.toLowerCase().includes(lowered))
    .slice(0, limit)
    .map(({ id, name }): SearchResult => ({ kind: 'model', id, name, description: id, workspace_id: null }))
}
