import { addressOf, findMembers } from '../../account/members.ts'
import type { Gateway } from '../../gateway.ts'
import type { Group } from '../../ledger/rollups/tally.ts'
import { keysOf, workspaceNames } from './store.ts'

interface Name {
  name: string
  email?: string | null
}

/** What ids are shown as. One whose record is gone stands for itself. */
export type Names = ReadonlyMap<string, Name>

/** Titles of apps, by address. */
export type Titles = ReadonlyMap<string, string>

type Find = (gateway: Gateway, organizationId: string, ids: string[], titles: Titles) => Promise<Names>

const finders: Record<string, Find> = {
  api_key_id: async ({ db }, organizationId, ids) => {
    const keys = await keysOf(db, organizationId, { ids: ids.map(Number) })
    return new Map(keys.map(({ id, name }) => [String(id), { name }]))
  },
  workspace: async ({ db }, organizationId, ids) => {
    const found = await workspaceNames(db, organizationId, ids)
    return new Map(found.map(({ id, name }) => [id, { name }]))
  },
  user: async ({ db }, organizationId, ids) => {
    const members = ids.length === 0 ? [] : await findMembers(db, organizationId, ids)
    return new Map(
      members.map((member) => {
        const { id, first_name, last_name } = member
        const email = addressOf(member)
        return [id, { name: [first_name, last_name].filter(Boolean).join(' ') || (email ?? id), email }]
      }),
    )
  },
  app: async (_gateway, _organizationId, ids, titles) =>
    new Map(ids.map((url) => [url, { name: titles.get(url) || url }])),
}

/** For each dimension, the names of what is shown. */
export async function namesOf(
  gateway: Gateway,
  organizationId: string,
  dimensions: readonly string[],
  groups: readonly Group[],
  titles: Titles,
): Promise<Names[]> {
  const found: Names[] = []
  for (const [place, dimension] of dimensions.entries()) {
    const ids = [...new Set(groups.flatMap(({ values }) => values[place] ?? []))]
    found.push((await finders[dimension]?.(gateway, organizationId, ids, titles)) ?? new Map())
  }
  return found
}
