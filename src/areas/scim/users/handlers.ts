import { isDeepStrictEqual } from 'node:util'
import { refuseBeyond } from '../../../account/ceilings.ts'
import { createMember, findMemberByEmail, type Member } from '../../../account/members.ts'
import { lockOrganization, removeMember, setMemberActive } from '../../../account/organizations.ts'
import type { Db } from '../../../db/db.ts'
import type { Gateway } from '../../../gateway.ts'
import { searchOf } from '../filter.ts'
import { type FindResources, listHandler, Selection } from '../listing.ts'
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
import { wantedFromPatch } from './patch.ts'
import { userResource, wantedFromBody } from './record.ts'
import {
  findUser,
  findUserByName,
  firstUsers,
  groupsOfUsers,
  insertUser,
  isLinked,
  listUsers,
  type UserRow,
  updatePerson,
  updateUser,
  userFields,
  type WantedUser,
} from './store.ts'

/** How many users a filter the database does not know is tried on. */
const maxScanned = 2000

export const findUsers: FindResources = async (ask, page) => {
  const search = searchOf(ask.query.get('filter'), userFields)
  const { db } = ask.gateway
  if (search.exact) {
    const { rows, total } = await listUsers(db, ask.organizationId, search.branches, page)
    return { resources: await resourcesOf(ask, rows), total }
  }
  const rows = await firstUsers(db, ask.organizationId, search.branches, maxScanned + 1)
  if (rows.length > maxScanned) {
    throw new ScimError(400, 'tooMany', 'There are too many users for this filter; use eq on userName.')
  }
  const found = (await wholeResourcesOf(ask, rows)).filter((resource) => search.matches(resource))
  const shown = found.slice(page.offset, page.offset + page.limit)
  const selection = new Selection(ask.query)
  return { resources: shown.map((resource) => selection.of(resource)), total: found.length }
}

const get: ScimHandler = async (ask) => {
  const row = await findUser(ask.gateway.db, ask.organizationId, ask.id)
  if (!row) throw missing('User')
  return scimResponse(await resourceOf(ask, row))
}

const create: ScimHandler = async (ask) => {
  const wanted = wantedFromBody(await readObject(ask))
  const { organizationId, gateway } = ask
  const row = await gateway.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, organizationId)
    await refuseTakenName(tx, organizationId, wanted.userName)
    const member = await memberFor(tx, gateway, organizationId, wanted)
    await setMemberActive(tx, gateway.clock, organizationId, member.id, wanted.active ?? true)
    await updatePerson(tx, member.id, {
      email: member.email,
      first_name: wanted.firstName ?? member.first_name,
      last_name: wanted.lastName ?? member.last_name,
    })
    const id = await insertUser(tx, gateway.clock, organizationId, member.id, wanted)
    return requireUser(tx, organizationId, id)
  })
  return scimResponse(await resourceOf(ask, row), 201, { location: `${ask.base}/Users/${row.id}` })
}

const replace: ScimHandler = async (ask) => {
  const wanted = wantedFromBody(await readObject(ask))
  const row = await change(ask, async () => wanted)
  return scimResponse(await resourceOf(ask, row))
}

const patch: ScimHandler = async (ask) => {
  const body = await readObject(ask)
  const before = await requireUser(ask.gateway.db, ask.organizationId, ask.id)
  // Worked out before the organization is locked, and again only if somebody else was faster.
  const wanted = await wantedFromPatch(before, body)
  const row = await change(ask, async (current) =>
    isDeepStrictEqual(current, before) ? wanted : wantedFromPatch(current, body),
  )
  return scimResponse(await resourceOf(ask, row))
}

const remove: ScimHandler = async ({ gateway, organizationId, id }) => {
  await gateway.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, organizationId)
    const row = await requireUser(tx, organizationId, id)
    await removeMember(tx, gateway.clock, organizationId, row.user_id)
  })
  return noContent()
}

export const userPages = [
  ...scimPages('/Users', { GET: listHandler(findUsers), POST: create }),
  ...scimPages('/Users/:id', { GET: get, PUT: replace, PATCH: patch, DELETE: remove }),
]

async function requireUser(db: Db, organizationId: string, id: string): Promise<UserRow> {
  const row = await findUser(db, organizationId, id)
  if (!row) throw missing('User')
  return row
}

async function change(ask: ScimRequest, wish: (current: UserRow) => Promise<WantedUser>): Promise<UserRow> {
  const { gateway, organizationId, id } = ask
  return gateway.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, organizationId)
    const row = await requireUser(tx, organizationId, id)
    const wanted = await wish(row)
    await save(tx, gateway, organizationId, row, wanted)
    return requireUser(tx, organizationId, id)
  })
}

async function save(
  tx: Db,
  gateway: Gateway,
  organizationId: string,
  row: UserRow,
  wanted: WantedUser,
): Promise<void> {
  const email = wanted.email ?? row.email
  if (wanted.userName.toLowerCase() !== row.user_name) {
    await refuseTakenName(tx, organizationId, wanted.userName)
  }
  if (email !== row.email && (await findMemberByEmail(tx, organizationId, email))) throw emailTaken()
  // First, because it locks what a member signs in with, and that is locked before the member.
  await setMemberActive(tx, gateway.clock, organizationId, row.user_id, wanted.active ?? row.active === 1)
  await updatePerson(tx, row.user_id, { email, first_name: wanted.firstName, last_name: wanted.lastName })
  await updateUser(tx, gateway.clock, row.id, wanted)
}

async function refuseTakenName(tx: Db, organizationId: string, userName: string): Promise<void> {
  if (await findUserByName(tx, organizationId, userName)) {
    throw new ScimError(409, 'uniqueness', 'Another user has this userName.')
  }
}

function emailTaken(): ScimError {
  return new ScimError(409, 'uniqueness', 'Another member of the organization has this e-mail address.')
}

/** Somebody who was a member before stays what they were: only the names follow the identity provider. */
async function memberFor(
  tx: Db,
  gateway: Gateway,
  organizationId: string,
  wanted: WantedUser,
): Promise<Member> {
  const { email = null, firstName, lastName } = wanted
  const known = email === null ? undefined : await findMemberByEmail(tx, organizationId, email)
  if (!known) {
    const person = { organizationId, email, firstName, lastName, role: 'org:member' as const }
    const made = await createMember(tx, gateway.clock, person)
    await refuseBeyond(tx, gateway.settings.ceilings, 'members', organizationId)
    return made
  }
  if (await isLinked(tx, known.id)) throw emailTaken()
  return known
}

async function resourceOf(ask: ScimRequest, row: UserRow): Promise<Json> {
  const [resource] = await resourcesOf(ask, [row])
  return resource ?? {}
}

async function resourcesOf(ask: ScimRequest, rows: UserRow[]): Promise<Json[]> {
  const selection = new Selection(ask.query)
  const resources = selection.shows('groups')
    ? await wholeResourcesOf(ask, rows)
    : rows.map((row) => userResource(row, [], ask.base))
  return resources.map((resource) => selection.of(resource))
}

async function wholeResourcesOf(ask: ScimRequest, rows: UserRow[]): Promise<Json[]> {
  const groups = await groupsOfUsers(
    ask.gateway.db,
    rows.map((row) => row.id),
  )
  return rows.map((row) => userResource(row, groups.get(row.id) ?? [], ask.base))
}
