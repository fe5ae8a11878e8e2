import type { Group } from '../../../analytics/rollups/aggregator.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { emailOf, findMembers } from '../../../identity/members.ts'
import { findKeys, listWorkspaceNames } from '../../../identity/record-names.ts'

interface DisplayName {
  name: string
  /** Id that filters accept in place of the stored one, where they differ. */
  id?: string
  email?: string | null
}

/** The display names of ids. An id without a record is its own name. */
export type DisplayNames = ReadonlyMap<string, DisplayName>

/** Titles of apps, by URL. */
export type AppTitles = ReadonlyMap<string, string>

/** The field beside a name that has the value to filter by. */
export const idFields: Readonly<Record<string, string>> = {
  api_key_id: 'api_key_hash',
  user: 'user_id',
  workspace: 'workspace_id',
  app: 'app_url',
}

type FindNames = (
  gateway: Gateway,
  organizationId: string,
  ids: string[],
  titles: AppTitles,
) => Promise<DisplayNames>

const nameFinders: Record<string, FindNames> = {
  api_key_id: async ({ db }, organizationId, ids) => {
    const keys = await findKeys(db, organizationId, { ids: ids.map(Number) })
    return new Map(keys.map(({ id, name, hash }) => [String(id), { name, id: hash }]))
  },
  workspace: async ({ db }, organizationId, ids) => {
    const workspaces = await listWorkspaceNames(db, organizationId, ids)
    return new Map(workspaces.map(({ id, name }) => [id, { name }]))
  },
  user: async ({ db }, organizationId, ids) => {
    const members = ids.length === 0 ? [] : await findMembers(db, organizationId, ids)
    return new Map(
      members.map((member) => {
        const { id, first_name, last_name } = member
        const email = emailOf(member)
        return [id, { name: [first_name, last_name].filter(Boolean).join(' ') || (email ?? id), email }]
      }),
    )
  },
  app: async (_gateway, _organizationId, ids, titles) =>
    new Map(ids.map((url) => [url, { name: titles.get(url) || url }])),
}

/** Loads the names of the values in the result, for each dimension. */
export async function loadDisplayNames(
  gateway: Gateway,
  organizationId: string,
  dimensions: readonly string[],
  groups: readonly Group[],
  titles: AppTitles,
): Promise<DisplayNames[]> {
  const names: DisplayNames[] = []
  for (const [index, dimension] of dimensions.entries()) {
    const ids = [...new Set(groups.flatMap(({ values }) => values[index] ?? []))]
    names.push((await nameFinders[dimension]?.(gateway, organizationId, ids, titles)) ?? new Map())
  }
  return names
}
