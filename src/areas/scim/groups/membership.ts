import { applyGrants } from '../../../account/scim-grants.ts'
import type { Db } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ScimError } from '../protocol.ts'
import type { MemberChange } from './patch.ts'
import {
  addToGroup,
  deleteGroup,
  type GroupRow,
  mappedWorkspaces,
  memberIdsIn,
  peopleOf,
  removeFromGroup,
} from './store.ts'

/** Changes who is in a group, and with it who is in the workspaces it is mapped to. */
export async function changeMembers(
  tx: Db,
  clock: Clock,
  group: GroupRow,
  change: MemberChange,
): Promise<void> {
  const added = [...change.add]
  const joining = await peopleOf(tx, group.organization_id, added)
  refuseUnknown(added.filter((id) => !joining.has(id)))
  const leavers = change.reset
    ? (await memberIdsIn(tx, group.id)).filter((id) => !change.add.has(id))
    : [...change.remove]
  const leaving = await peopleOf(tx, group.organization_id, leavers)
  await removeFromGroup(tx, group.id, leavers)
  await addToGroup(tx, group.id, added)
  await applyGrants(tx, clock, {
    organizationId: group.organization_id,
    workspaceIds: await mappedWorkspaces(tx, group.id),
    userIds: [...joining.values(), ...leaving.values()],
  })
}

/** Mappings of a group end with it, and so does what they alone granted. */
export async function removeGroup(tx: Db, clock: Clock, group: GroupRow): Promise<void> {
  const workspaceIds = await mappedWorkspaces(tx, group.id)
  const people = await peopleOf(tx, group.organization_id, await memberIdsIn(tx, group.id))
  await deleteGroup(tx, group.id)
  await applyGrants(tx, clock, {
    organizationId: group.organization_id,
    workspaceIds,
    userIds: [...people.values()],
  })
}

function refuseUnknown(ids: string[]): void {
  if (ids.length === 0) return
  const some = ids.slice(0, 5).join(', ').slice(0, 300)
  throw new ScimError(
    400,
    'invalidValue',
    `members: not users of this organization: ${some}${ids.length > 5 ? ', ...' : ''}.`,
  )
}
