import { transactAs } from '../../../../governance/audit/transaction.ts'
import { assertWithinCeiling } from '../../../../identity/ceilings.ts'
import { lockOrganization } from '../../../../identity/organizations.ts'
import type { Db } from '../../../../platform/db/db.ts'
import { planFilter } from '../filter.ts'
import { AttributeSelection, createListHandler, type FindResources } from '../listing.ts'
import { fieldOf } from '../patch.ts'
import {
  createScimRoutes,
  type Json,
  noContentResponse,
  notFoundError,
  readObject,
  type ScimContext,
  ScimError,
  type ScimHandler,
  scimResponse,
} from '../protocol.ts'
import { describeGroup, recordMembership } from './audit.ts'
import { changeMembers, removeGroup } from './membership.ts'
import {
  type GroupChange,
  parseDisplayName,
  parseExternalId,
  parseGroupPatch,
  parseMemberIds,
} from './patch.ts'
import {
  countMembers,
  findGroup,
  findGroupByName,
  type GroupMember,
  type GroupRow,
  groupFields,
  insertGroup,
  listFirstGroups,
  listGroups,
  listMembersByGroup,
  updateGroup,
} from './store.ts'

/** The maximum number of groups scanned for a filter that SQL cannot express. */
const maxScanned = 2000
/** Members in a response: more would make it many megabytes long. */
const maxMembersShown = 100_000

export const findGroups: FindResources = async (context, page) => {
  const plan = planFilter(context.query.get('filter'), groupFields)
  const { db } = context.gateway
  if (plan.isExact) {
    const { rows, total } = await listGroups(db, context.organizationId, plan.branches, page)
    return { resources: await buildResources(context, rows), total }
  }
  if ([...plan.paths].some((path) => path.startsWith('members'))) {
    throw new ScimError(400, 'invalidFilter', 'Only "members.value eq" can filter by members.')
  }
  const rows = await listFirstGroups(db, context.organizationId, plan.branches, maxScanned + 1)
  if (rows.length > maxScanned) {
    throw new ScimError(400, 'tooMany', 'There are too many groups for this filter; use eq on displayName.')
  }
  const matching = rows.filter((row) => plan.matches(toGroupResource(row, undefined, context.base)))
  const shown = matching.slice(page.offset, page.offset + page.limit)
  return { resources: await buildResources(context, shown), total: matching.length }
}

const getGroup: ScimHandler = async (context) => {
  const row = await requireGroup(context.gateway.db, context.organizationId, context.id)
  return scimResponse(await buildResource(context, row))
}

const createGroup: ScimHandler = async (context) => {
  const input = parseGroup(await readObject(context))
  const { gateway, organizationId, origin } = context
  const row = await transactAs(gateway, origin, async (tx, record) => {
    await lockOrganization(tx, organizationId)
    await rejectTakenName(tx, organizationId, input.displayName)
    const group = await insertGroup(tx, gateway.clock, {
      organization_id: organizationId,
      display_name: input.displayName,
      external_id: input.externalId,
    })
    await assertWithinCeiling(tx, gateway.settings.ceilings, 'scim_groups', organizationId)
    record({ action: 'scim_group.create', ...describeGroup(group), after: group })
    recordMembership(record, group, await changeMembers(tx, gateway.clock, group, input.members))
    return group
  })
  return scimResponse(await buildResource(context, row), 201, {
    location: `${context.base}/Groups/${row.id}`,
  })
}

const replaceGroup: ScimHandler = async (context) => {
  const row = await changeGroup(context, parseGroup(await readObject(context)))
  return scimResponse(await buildResource(context, row))
}

/** Returns no body, which would list every member, unless the client requests attributes. */
const patchGroup: ScimHandler = async (context) => {
  const row = await changeGroup(context, parseGroupPatch(await readObject(context)))
  return new AttributeSelection(context.query).isExplicit
    ? scimResponse(await buildResource(context, row))
    : noContentResponse()
}

const deleteGroup: ScimHandler = async ({ gateway, organizationId, origin, id }) => {
  await transactAs(gateway, origin, async (tx, record) => {
    await lockOrganization(tx, organizationId)
    const group = await requireGroup(tx, organizationId, id)
    await removeGroup(tx, gateway.clock, group)
    record({ action: 'scim_group.delete', ...describeGroup(group), before: group })
  })
  return noContentResponse()
}

export const groupPages = [
  ...createScimRoutes('/Groups', { GET: createListHandler(findGroups), POST: createGroup }),
  ...createScimRoutes('/Groups/:id', {
    GET: getGroup,
    PUT: replaceGroup,
    PATCH: patchGroup,
    DELETE: deleteGroup,
  }),
]

function parseGroup(body: Json): Required<GroupChange> {
  return {
    displayName: parseDisplayName(fieldOf(body, 'displayname')),
    externalId: parseExternalId(fieldOf(body, 'externalid')),
    members: { reset: true, add: new Set(parseMemberIds(fieldOf(body, 'members'))), remove: new Set() },
  }
}

async function changeGroup(context: ScimContext, input: GroupChange): Promise<GroupRow> {
  const { gateway, organizationId, origin, id } = context
  return transactAs(gateway, origin, async (tx, record) => {
    await lockOrganization(tx, organizationId)
    const group = await requireGroup(tx, organizationId, id)
    if (input.displayName !== undefined) {
      await rejectTakenName(tx, organizationId, input.displayName, group.id)
    }
    recordMembership(record, group, await changeMembers(tx, gateway.clock, group, input.members))
    const changed = await updateGroup(tx, gateway.clock, group.id, {
      ...(input.displayName !== undefined && { display_name: input.displayName }),
      ...(input.externalId !== undefined && { external_id: input.externalId }),
    })
    if (changed.display_name !== group.display_name || changed.external_id !== group.external_id)
      record({ action: 'scim_group.update', ...describeGroup(changed), before: group, after: changed })
    return changed
  })
}

async function requireGroup(db: Db, organizationId: string, id: string): Promise<GroupRow> {
  const row = await findGroup(db, organizationId, id)
  if (!row) throw notFoundError('Group')
  return row
}

/** Providers look a group up by name, so two groups must not share one. */
async function rejectTakenName(tx: Db, organizationId: string, name: string, ownId?: string): Promise<void> {
  const other = await findGroupByName(tx, organizationId, name)
  if (other && other.id !== ownId) {
    throw new ScimError(409, 'uniqueness', 'Another group has this displayName.')
  }
}

async function buildResource(context: ScimContext, row: GroupRow): Promise<Json> {
  const [resource] = await buildResources(context, [row])
  return resource ?? {}
}

async function buildResources(context: ScimContext, rows: GroupRow[]): Promise<Json[]> {
  const selection = new AttributeSelection(context.query)
  if (!selection.isIncluded('members')) {
    return rows.map((row) => selection.apply(toGroupResource(row, undefined, context.base)))
  }
  const ids = rows.map((row) => row.id)
  if ((await countMembers(context.gateway.db, ids)) > maxMembersShown) {
    throw new ScimError(
      400,
      'tooMany',
      'There are too many members to return: add excludedAttributes=members.',
    )
  }
  const members = await listMembersByGroup(context.gateway.db, ids)
  const describe = selection.isRequested('members.display') ? toMemberWithDisplay : toMemberReference
  return rows.map((row) => {
    const shown = (members.get(row.id) ?? []).map((member) => describe(member, context.base))
    return selection.apply(toGroupResource(row, shown, context.base))
  })
}

function toMemberReference(member: GroupMember, base: string): Json {
  return { value: member.scim_user_id, type: 'User', $ref: `${base}/Users/${member.scim_user_id}` }
}

function toMemberWithDisplay(member: GroupMember, base: string): Json {
  return { ...toMemberReference(member, base), display: member.user_name }
}

function toGroupResource(row: GroupRow, members: Json[] | undefined, base: string): Json {
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
