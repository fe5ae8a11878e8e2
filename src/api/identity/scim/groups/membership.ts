import { applyGrants } from '../../../../identity/scim-grants.ts'
import type { Db } from '../../../../platform/db/db.ts'
import type { Clock } from '../../../../platform/time/clock.ts'
import { ScimError } from '../protocol.ts'
import type { MemberChange } from './patch.ts'
import {
  addToGroup,
  deleteGroup,
  filterGroupMembers,
  findMemberIds,
  type GroupRow,
  listMappedWorkspaces,
  listScimUserIds,
  removeFromGroup,
} from './store.ts'

/** The ids of the members who joined and left a group. */
export interface MembershipChange {
  joined: string[]
  left: string[]
}

/** Changes the members of a group, and with them the members of its mapped workspaces. */
export async function changeMembers(
  tx: Db,
  clock: Clock,
  group: GroupRow,
  change: MemberChange,
): Promise<MembershipChange> {
  const added = [...change.add]
  const joining = await findMemberIds(tx, group.organization_id, added)
  rejectUnknownUsers(added.filter((id) => !joining.has(id)))
  const leavers = change.reset
    ? (await listScimUserIds(tx, group.id)).filter((id) => !change.add.has(id))
    : [...change.remove]
  const leaving = await findMemberIds(tx, group.organization_id, leavers)
  const before = await filterGroupMembers(tx, group.id, [...joining.keys(), ...leaving.keys()])
  await removeFromGroup(tx, group.id, leavers)
  await addToGroup(tx, group.id, added)
  await applyGrants(tx, clock, {
    organizationId: group.organization_id,
    workspaceIds: await listMappedWorkspaces(tx, group.id),
    userIds: [...joining.values(), ...leaving.values()],
  })
  return {
    joined: [...joining].filter(([id]) => !before.has(id)).map(([, memberId]) => memberId),
    left: [...leaving].filter(([id]) => before.has(id)).map(([, memberId]) => memberId),
  }
}

/** Deletes the group with its mappings and the memberships that only they granted. */
export async function removeGroup(tx: Db, clock: Clock, group: GroupRow): Promise<void> {
  const workspaceIds = await listMappedWorkspaces(tx, group.id)
  const people = await findMemberIds(tx, group.organization_id, await listScimUserIds(tx, group.id))
  await deleteGroup(tx, group.id)
  await applyGrants(tx, clock, {
    organizationId: group.organization_id,
    workspaceIds,
    userIds: [...people.values()],
  })
}

function rejectUnknownUsers(ids: string[]): void {
  if (ids.length === 0) return
  const shownIds = ids.slice(0, 5).join(', ').slice(0, 300)
  throw new ScimError(
    400,
    'invalidValue',
    `members: not users of this organization: ${shownIds}${ids.length > 5 ? ', ...' : ''}.`,
  )
}
