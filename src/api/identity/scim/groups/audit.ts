import type { RecordEvent } from '../../../../governance/audit/transaction.ts'
import { splitIntoChunks } from '../../../../identity/scim-grants.ts'
import type { MembershipChange } from './membership.ts'
import type { GroupRow } from './store.ts'

/** Number of ids that fit into a value of the audit log. */
const idsPerEvent = 40
/** Members who joined or left in one request and are recorded by id; further ones are only counted. */
const maxNamedMembers = 1000

export function describeGroup({ id, display_name: name }: GroupRow) {
  return { target: { type: 'scim_group', id, name } }
}

/** The members who joined and left, by their ids. */
export function recordMembership(record: RecordEvent, group: GroupRow, change: MembershipChange): void {
  const verbs = { add_members: change.joined, remove_members: change.left }
  for (const [verb, ids] of Object.entries(verbs)) {
    for (const members of splitIntoChunks(ids.slice(0, maxNamedMembers), idsPerEvent))
      record({
        action: `scim_group.${verb}`,
        ...describeGroup(group),
        details: { total: ids.length, members },
      })
  }
}
