import { z } from 'zod'
import { refuseBeyond } from '../../account/ceilings.ts'
import { knownHashes } from '../../account/keys.ts'
import { findMembers } from '../../account/members.ts'
import { enterWorkspace, lockWorkspace } from '../../account/workspaces.ts'
import { isKeyless } from '../../catalog/model.ts'
import { readModelRule } from '../../catalog/model-rule.ts'
import { originOf } from '../../catalog/provider-settings.ts'
import type { Db } from '../../db/db.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { newUuid } from '../../lib/ids.ts'
import { pageQuery } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import { labelOf } from './credential.ts'
import { neutralNames, otherForms, otherProviders } from './providers.ts'
import { byokRecord, createBody, recordOf, type Settings, settingsOf, updateBody } from './record.ts'
import {
  findCredential,
  insertCredential,
  listCredentials,
  lockCredential,
  placeFor,
  removeCredential,
  updateCredential,
} from './store.ts'

const tag = 'BYOK'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const answer = z.strictObject({ data: byokRecord })

const listAll = operation({
  id: 'listByokKeys',
  method: 'GET',
  path: '/byok',
  tag,
  summary: 'List the provider credentials of a workspace, in the order they are tried',
  access: 'management',
  query: pageQuery.extend({
    workspace_id: z.uuid().optional().describe('Default: the default workspace'),
    provider: z.string().min(1).max(100).optional(),
  }),
  response: z.strictObject({ data: z.array(byokRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const provider = query.provider === undefined ? undefined : providerSlug(gateway, query.provider)
    const workspace = await enterWorkspace(gateway.db, caller.organizationId, query.workspace_id)
    const { rows, total } = await listCredentials(gateway.db, { workspaceId: workspace.id, provider }, query)
    return { data: rows.map(recordOf), total_count: total }
  },
})

const create = operation({
  id: 'createByokKey',
  method: 'POST',
  path: '/byok',
  tag,
  summary: 'Bring your own credential for a provider',
  access: 'management',
  body: createBody,
  status: 201,
  errors: [409],
  response: answer,
  handle: async ({ gateway, caller, body }) => {
    const { organizationId } = caller
    const provider = providerSlug(gateway, body.provider)
    refuseKeyless(gateway, provider)
    const label = labelFor(gateway, provider, body.key)
    const settings = settingsOf(await checkedSettings(gateway, gateway.db, organizationId, body))
    refuseCombination({ ...startSettings, ...settings })
    const { id: workspaceId } = await enterWorkspace(gateway.db, organizationId, body.workspace_id)
    const id = newUuid()
    const row = await gateway.db.transaction().execute(async (tx) => {
      await lockWorkspace(tx, organizationId, workspaceId)
      const { count, sortOrder } = await placeFor(tx, workspaceId, provider)
      if (count >= mostCredentials)
        throw fail('conflict', `The workspace has ${mostCredentials} credentials for ${provider} already.`)
      const made = await insertCredential(tx, gateway.clock, {
        ...startSettings,
        ...settings,
        id,
        organization_id: organizationId,
        workspace_id: workspaceId,
        provider,
        label,
        sealed_key: sealed(gateway, id, body.key),
        origin: originNow(gateway, provider),
        sort_order: sortOrder,
      })
      await refuseBeyond(tx, gateway.settings.ceilings, 'byok_keys', workspaceId)
      return made
    })
    return { data: recordOf(row) }
  },
})

const get = operation({
  id: 'getByokKey',
  method: 'GET',
  path: '/byok/{id}',
  tag,
  summary: 'Read a provider credential, without the credential itself',
  access: 'management',
  params: idParam,
  errors: [404],
  response: answer,
  handle: async ({ gateway, caller, params }) => {
    const row = await findCredential(gateway.db, caller.organizationId, params.id)
    if (!row) throw missing()
    return { data: recordOf(row) }
  },
})

const update = operation({
  id: 'updateByokKey',
  method: 'PATCH',
  path: '/byok/{id}',
  tag,
  summary: 'Change a provider credential; only the fields sent change, and `key` replaces it in place',
  access: 'management',
  params: idParam,
  body: updateBody,
  errors: [404],
  response: answer,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const row = await lockCredential(tx, caller.organizationId, params.id)
      if (!row) throw missing()
      const changes = {
        ...settingsOf(await checkedSettings(gateway, tx, caller.organizationId, body)),
        ...(body.key !== undefined && {
          label: labelFor(gateway, row.provider, body.key),
          sealed_key: sealed(gateway, row.id, body.key),
          origin: originNow(gateway, row.provider),
        }),
      }
      refuseCombination({ ...row, ...changes })
      if (Object.keys(changes).length === 0) return { data: recordOf(row) }
      return { data: recordOf(await updateCredential(tx, gateway.clock, row.id, changes)) }
    }),
})

const remove = operation({
  id: 'deleteByokKey',
  method: 'DELETE',
  path: '/byok/{id}',
  tag,
  summary: 'Delete a provider credential; its key material is wiped',
  access: 'management',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async ({ gateway, caller, params }) => {
    if (!(await removeCredential(gateway.db, gateway.clock, caller.organizationId, params.id)))
      throw missing()
    return { deleted: true as const }
  },
})

/** One request may try each of them. */
const mostCredentials = 50

export const byokOperations = [listAll, create, get, update, remove]

const startSettings = {
  name: null,
  disabled: 0,
  is_fallback: 0,
  is_byok_only: 0,
  is_required: 0,
  declared_zdr: null,
  allowed_models: null,
  allowed_api_key_hashes: null,
  allowed_user_ids: null,
} as const

/** The slug of the catalogue, for every name a provider goes by. */
function providerSlug(gateway: Gateway, name: string): string {
  const wanted = neutralNames.get(name) ?? name
  const known = gateway.catalog.providerByName.get(wanted)
  // The catalogue knows display names too, which are no slugs.
  if (known && (known.slug === wanted || known.vendor === wanted)) return known.slug
  if (otherProviders.has(name)) return name
  throw badField('provider', 'is not a provider that is known here')
}

/** Requests there would cost the fee alone, while the installation pays for what answers them. */
function refuseKeyless({ catalog }: Gateway, slug: string): void {
  const known = catalog.providerByName.get(slug)
  if (known && isKeyless(known)) throw badField('provider', 'is called without a key here')
}

function labelFor({ catalog, settings }: Gateway, provider: string, key: string): string {
  const form = catalog.providerByName.get(provider)?.credentialForm ?? otherForms.get(provider)
  return labelOf(key, form, settings.egress.allow_private)
}

/** A key goes there and nowhere else, wherever the provider is moved to. */
function originNow({ catalog }: Gateway, provider: string): string | null {
  const known = catalog.providerByName.get(provider)
  return known ? originOf(known) : null
}

function sealed(gateway: Gateway, id: string, key: string): string {
  return gateway.vault.seal(key, `byok/${id}`)
}

/** Models by their canonical slugs; every key and member is one of the organization. */
async function checkedSettings(
  gateway: Gateway,
  db: Db,
  organizationId: string,
  body: Settings,
): Promise<Settings> {
  const { allowed_models: models, allowed_api_key_hashes: hashes, allowed_user_ids: users } = body
  if (hashes?.length) {
    const known = await knownHashes(db, organizationId, hashes)
    refuseUnknown('allowed_api_key_hashes', hashes, known, 'is not a key of the organization')
  }
  if (users?.length) {
    const known = new Set((await findMembers(db, organizationId, users)).map((member) => member.id))
    refuseUnknown('allowed_user_ids', users, known, 'is not a member of the organization')
  }
  return models
    ? {
        ...body,
        allowed_models: models.map((slug, at) =>
          readModelRule(gateway.catalog, slug, `allowed_models.${at}`),
        ),
      }
    : body
}

function refuseUnknown(field: string, given: string[], known: ReadonlySet<string>, problem: string): void {
  const unknown = given.findIndex((value) => !known.has(value))
  if (unknown >= 0) throw badField(`${field}.${unknown}`, `${given[unknown]} ${problem}`)
}

/** One leaves the provider out when own keys fail; the other is there for when the rest fails. */
function refuseCombination(settings: { is_fallback: number; is_byok_only: number }): void {
  if (settings.is_fallback === 1 && settings.is_byok_only === 1)
    throw badField('is_byok_only', 'cannot be combined with is_fallback')
}

function missing() {
  return fail('not_found', 'The credential does not exist.')
}
