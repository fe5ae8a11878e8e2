import { isDeepStrictEqual } from 'node:util'
import type { Gateway } from '../../../../gateway/gateway.ts'
import { type RecordEvent, transactAs } from '../../../../governance/audit/transaction.ts'
import { assertWithinCeiling } from '../../../../identity/ceilings.ts'
import { createMember, findMemberByEmail, type Member } from '../../../../identity/members.ts'
import { lockOrganization, removeMember, setMemberActive } from '../../../../identity/organizations.ts'
import { deleteMailedLinks } from '../../../../identity/sessions.ts'
import type { Db } from '../../../../platform/db/db.ts'
import { planFilter } from '../filter.ts'
import { AttributeSelection, createListHandler, type FindResources } from '../listing.ts'
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
import { describeUserChange } from './audit.ts'
import { computePatchedUser } from './patch.ts'
import { parseUserInput, toUserResource } from './record.ts'
import {
  findUser,
  findUserByName,
  insertUser,
  isLinked,
  listFirstUsers,
  listGroupsByUser,
  listUsers,
  type UserInput,
  type UserRow,
  updateMemberProfile,
  updateUser,
  userFields,
} from './store.ts'

/** The maximum number of users scanned for a filter that SQL cannot express. */
const maxScanned = 2000

export const findUsers: FindResources = async (context, page) => {
  const plan = planFilter(context.query.get('filter'), userFields)
  const { db } = context.gateway
  if (plan.isExact) {
    const { rows, total } = await listUsers(db, context.organizationId, plan.branches, page)
    return { resources: await buildResources(context, rows), total }
  }
  const rows = await listFirstUsers(db, context.organizationId, plan.branches, maxScanned + 1)
  if (rows.length > maxScanned) {
    throw new ScimError(400, 'tooMany', 'There are too many users for this filter; use eq on userName.')
  }
  const matching = (await buildFullResources(context, rows)).filter((resource) => plan.matches(resource))
  const shown = matching.slice(page.offset, page.offset + page.limit)
  const selection = new AttributeSelection(context.query)
  return { resources: shown.map((resource) => selection.apply(resource)), total: matching.length }
}

const getUser: ScimHandler = async (context) => {
  const row = await findUser(context.gateway.db, context.organizationId, context.id)
  if (!row) throw notFoundError('User')
  return scimResponse(await buildResource(context, row))
}

const createUser: ScimHandler = async (context) => {
  const input = parseUserInput(await readObject(context))
  const { organizationId, gateway, origin } = context
  const row = await transactAs(gateway, origin, async (tx, record) => {
    await lockOrganization(tx, organizationId)
    await rejectTakenName(tx, organizationId, input.userName)
    const { member, isNew } = await findOrCreateMember(tx, gateway, organizationId, input)
    await applyActive(tx, gateway, member, input.active ?? true)
    await updateMemberProfile(tx, member.id, {
      email: member.email,
      first_name: input.firstName ?? member.first_name,
      last_name: input.lastName ?? member.last_name,
    })
    const id = await insertUser(tx, gateway.clock, organizationId, member.id, input)
    const created = await requireUser(tx, organizationId, id)
    recordChange(record, null, created, isNew ? undefined : 'link')
    return created
  })
  return scimResponse(await buildResource(context, row), 201, { location: `${context.base}/Users/${row.id}` })
}

const replaceUser: ScimHandler = async (context) => {
  const input = parseUserInput(await readObject(context))
  const row = await changeUser(context, async () => input)
  return scimResponse(await buildResource(context, row))
}

const patchUser: ScimHandler = async (context) => {
  const body = await readObject(context)
  const before = await requireUser(context.gateway.db, context.organizationId, context.id)
  // Computed before the organization is locked, and again only if the user changed in between.
  const input = await computePatchedUser(before, body)
  const row = await changeUser(context, async (current) =>
    isDeepStrictEqual(current, before) ? input : computePatchedUser(current, body),
  )
  return scimResponse(await buildResource(context, row))
}

const deleteUser: ScimHandler = async ({ gateway, organizationId, origin, id }) => {
  await transactAs(gateway, origin, async (tx, record) => {
    await lockOrganization(tx, organizationId)
    const row = await requireUser(tx, organizationId, id)
    await removeMember(tx, gateway.clock, organizationId, row.user_id)
    recordChange(record, row, null)
  })
  return noContentResponse()
}

export const userPages = [
  ...createScimRoutes('/Users', { GET: createListHandler(findUsers), POST: createUser }),
  ...createScimRoutes('/Users/:id', { GET: getUser, PUT: replaceUser, PATCH: patchUser, DELETE: deleteUser }),
]

async function requireUser(db: Db, organizationId: string, id: string): Promise<UserRow> {
  const row = await findUser(db, organizationId, id)
  if (!row) throw notFoundError('User')
  return row
}

async function changeUser(
  context: ScimContext,
  resolveInput: (current: UserRow) => Promise<UserInput>,
): Promise<UserRow> {
  const { gateway, organizationId, origin, id } = context
  return transactAs(gateway, origin, async (tx, record) => {
    await lockOrganization(tx, organizationId)
    const row = await requireUser(tx, organizationId, id)
    const input = await resolveInput(row)
    await saveUser(tx, gateway, organizationId, row, input)
    const changed = await requireUser(tx, organizationId, id)
    recordChange(record, row, changed)
    return changed
  })
}

function recordChange(
  record: RecordEvent,
  before: UserRow | null,
  after: UserRow | null,
  verb?: 'link',
): void {
  const event = describeUserChange(before, after, verb)
  if (event) record(event)
}

async function saveUser(
  tx: Db,
  gateway: Gateway,
  organizationId: string,
  row: UserRow,
  input: UserInput,
): Promise<void> {
  const email = input.email ?? row.email
  if (input.userName.toLowerCase() !== row.user_name) {
    await rejectTakenName(tx, organizationId, input.userName)
  }
  const holder = email === row.email ? undefined : await findMemberByEmail(tx, organizationId, email)
  if (holder && holder.id !== row.user_id) throw emailTakenError()
  // First, because these lock the member's credentials, which are locked before the member.
  if (email !== row.email) await deleteMailedLinks(tx, row.user_id)
  const member = { id: row.user_id, organization_id: organizationId }
  await applyActive(tx, gateway, member, input.active ?? row.active === 1)
  await updateMemberProfile(tx, row.user_id, {
    email,
    first_name: input.firstName,
    last_name: input.lastName,
  })
  await updateUser(tx, gateway.clock, row.id, input)
}

async function applyActive(
  tx: Db,
  { clock, settings }: Gateway,
  { id, organization_id }: Pick<Member, 'id' | 'organization_id'>,
  active: boolean,
): Promise<void> {
  const restoreKeys = settings.scim.restore_keys_on_reactivation
  await setMemberActive(tx, clock, organization_id, id, active, { restoreKeys })
}

async function rejectTakenName(tx: Db, organizationId: string, userName: string): Promise<void> {
  if (await findUserByName(tx, organizationId, userName)) {
    throw new ScimError(409, 'uniqueness', 'Another user has this userName.')
  }
}

function emailTakenError(): ScimError {
  return new ScimError(409, 'uniqueness', 'Another member of the organization has this e-mail address.')
}

/** An existing member keeps their role and memberships: only the names come from the identity provider. */
async function findOrCreateMember(
  tx: Db,
  gateway: Gateway,
  organizationId: string,
  input: UserInput,
): Promise<{ member: Member; isNew: boolean }> {
  const { email = null, firstName, lastName } = input
  const known = email === null ? undefined : await findMemberByEmail(tx, organizationId, email)
  if (!known) {
    const person = { organizationId, email, firstName, lastName, role: 'org:member' as const }
    const member = await createMember(tx, gateway.clock, person)
    await assertWithinCeiling(tx, gateway.settings.ceilings, 'members', organizationId)
    return { member, isNew: true }
  }
  if (await isLinked(tx, known.id)) throw emailTakenError()
  return { member: known, isNew: false }
}

async function buildResource(context: ScimContext, row: UserRow): Promise<Json> {
  const [resource] = await buildResources(context, [row])
  return resource ?? {}
}

async function buildResources(context: ScimContext, rows: UserRow[]): Promise<Json[]> {
  const selection = new AttributeSelection(context.query)
  const resources = selection.isIncluded('groups')
    ? await buildFullResources(context, rows)
    : rows.map((row) => toUserResource(row, [], context.base))
  return resources.map((resource) => selection.apply(resource))
}

async function buildFullResources(context: ScimContext, rows: UserRow[]): Promise<Json[]> {
  const groups = await listGroupsByUser(
    context.gateway.db,
    rows.map((row) => row.id),
  )
  return rows.map((row) => toUserResource(row, groups.get(row.id) ?? [], context.base))
}
