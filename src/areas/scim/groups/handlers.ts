import { refuseBeyond } from '../../../account/ceilings.ts'
import { lockOrganization } from '../../../account/organizations.ts'
import type { Db } from '../../../db/db.ts'
import { searchOf } from '../filter.ts'
import { type FindResources, listHandler, Selection } from '../listing.ts'
import { fieldOf } from '../patch.ts'
import {
  type Json,
  missing,
  noContent,
  readObject,
  ScimError,
  type ScimHandler,
  type ScimRequest,
  scimPages,
  scimResponse,
} from '../protocol.ts'
import { changeMembers, removeGroup } from './membership.ts'
import { externalIdOf, type GroupChange, groupChangeOf, memberIdsOf, nameOf } from './patch.ts'
import {
  countMembers,
  findGroup,
  findGroupByName,
  firstGroups,
  type GroupMember,
  type GroupRow,
  groupFields,
  insertGroup,
  listGroups,
  membersOfGroups,
  updateGroup,
} from './store.ts'

/** How many groups a filter the database does not know is tried on. */
const maxScanned = 2000
/** More would make one answer of many megabytes. */
const maxMembersShown = 100_000

export const findGroups: FindResources = async (ask, page) => {
  const search = searchOf(ask.query.get('filter'), groupFields)
  const { db } = ask.gateway
  if (search.exact) {
    const { rows, total } = await listGroups(db, ask.organizationId, search.branches, page)
    return { resources: await resourcesOf(ask, rows), total }
  }
  if ([...search.paths].some((path) => path.startsWith('members'))) {
    throw new ScimError(400, 'invalidFilter', 'Of members, only "members.value eq" can be looked for.')
  }
  const rows = await firstGroups(db, ask.organizationId, search.branches, maxScanned + 1)
  if (rows.length > maxScanned) {
    throw new ScimError(400, 'tooMany', 'There are too many groups for this filter; use eq on displayName.')
  }
  const found = rows.filter((row) => search.matches(groupResource(row, undefined, ask.base)))
  const shown = found.slice(page.offset, page.offset + page.limit)
  return { resources: await resourcesOf(ask, shown), total: found.length }
}

const get: ScimHandler = async (ask) => {
  const row = await requireGroup(ask.gateway.db, ask.organizationId, ask.id)
  return scimResponse(await resourceOf(ask, row))
}

const create: ScimHandler = async (ask) => {
  const wanted = wantedGroup(await readObject(ask))
  const { gateway, organizationId } = ask
  const row = await gateway.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, organizationId)
    await refuseTakenName(tx, organizationId, wanted.displayName)
    const group = await insertGroup(tx, gateway.clock, {
      organization_id: organizationId,
      display_name: wanted.displayName,
      external_id: wanted.externalId,
    })
    await refuseBeyond(tx, gateway.settings.ceilings, 'scim_groups', organizationId)
    await changeMembers(tx, gateway.clock, group, wanted.members)
    return group
  })
  return scimResponse(await resourceOf(ask, row), 201, { location: `${ask.base}/Groups/${row.id}` })
}

const replace: ScimHandler = async (ask) => {
  const row = await change(ask, wantedGroup(await readObject(ask)))
  return scimResponse(await resourceOf(ask, row))
}

/** Without a body, because that would be every member; a client that wants some attributes says which. */
const patch: ScimHandler = async (ask) => {
  const row = await change(ask, groupChangeOf(await readObject(ask)))
  return new Selection(ask.query).isExplicit ? scimResponse(await resourceOf(ask, row)) : noContent()
}

const remove: ScimHandler = async ({ gateway, organizationId, id }) => {
  await gateway.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, organizationId)
    await removeGroup(tx, gateway.clock, await requireGroup(tx, organizationId, id))
  })
  return noContent()
}

export const groupPages = [
  ...scimPages('/Groups', { GET: listHandler(findGroups), POST: create }),
  ...scimPages('/Groups/:id', { GET: get, PUT: replace, PATCH: patch, DELETE: remove }),
]

function wantedGroup(body: Json): Required<GroupChange> {
  return {
    displayName: nameOf(fieldOf(body, 'displayname')),
    externalId: externalIdOf(fieldOf(body, 'externalid')),
    members: { reset: true, add: new Set(memberIdsOf(fieldOf(body, 'members'))), remove: new Set() },
  }
}

async function change(ask: ScimRequest, wanted: GroupChange): Promise<GroupRow> {
  const { gateway, organizationId, id } = ask
  return gateway.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, organizationId)
    const group = await requireGroup(tx, organizationId, id)
    if (wanted.displayName !== undefined) {
      await refuseTakenName(tx, organizationId, wanted.displayName, group.id)
    }
    await changeMembers(tx, gateway.clock, group, wanted.members)
    return updateGroup(tx, gateway.clock, group.id, {
      ...(wanted.displayName !== undefined && { display_name: wanted.displayName }),
      ...(wanted.externalId !== undefined && { external_id: wanted.externalId }),
    })
  })
}

async function requireGroup(db: Db, organizationId: string, id: string): Promise<GroupRow> {
  const row = await findGroup(db, organizationId, id)
  if (!row) throw missing('Group')
  return row
}

/** Providers find a group again by its name, so that two of one name would be mistaken for each other. */
async function refuseTakenName(tx: Db, organizationId: string, name: string, own?: string): Promise<void> {
  const other = await findGroupByName(tx, organizationId, name)
  if (other && other.id !== own) {
    throw new ScimError(409, 'uniqueness', 'Another group has this displayName.')
  }
}

async function resourceOf(ask: ScimRequest, row: GroupRow): Promise<Json> {
  const [resource] = await resourcesOf(ask, [row])
  return resource ?? {}
}

async function resourcesOf(ask: ScimRequest, rows: GroupRow[]): Promise<Json[]> {
  const selection = new Selection(ask.query)
  if (!selection.shows('members')) {
    return rows.map((row) => selection.of(groupResource(row, undefined, ask.base)))
  }
  const ids = rows.map((row) => row.id)
  if ((await countMembers(ask.gateway.db, ids)) > maxMembersShown) {
    throw new ScimError(400, 'tooMany', 'There are too many members to show: add excludedAttributes=members.')
  }
  const members = await membersOfGroups(ask.gateway.db, ids)
  const describe = selection.names('members.display') ? describeMember : referenceMember
  return rows.map((row) => {
    const shown = (members.get(row.id) ?? []).map((member) => describe(member, ask.base))
    return selection.of(groupResource(row, shown, ask.base))
  })
}

function referenceMember(member: GroupMember, base: string): Json {
  return { value: member.scim_user_id, type: 'User', $ref: `${base}/Users/${member.scim_user_id}` }
}

function describeMember(member: GroupMember, base: string): Json {
  return { ...referenceMember(member, base), display: member.user_name }
}

function groupResource(row: GroupRow, members: Json[] | undefined, base: string): Json {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
    id: row.id,
    ...(row.external_id !== null && { externalId: row.external_id }),
    displayName: row.display_name,
    ...(members && { members }),
    meta: {
      resourceType: 'Group',
      created: row.created_at,
      lastModified: row.updated_at,
      location: `${base}/Groups/${row.id}`,
    },
  }
}
