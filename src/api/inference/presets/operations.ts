import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { createOperations } from './create.ts'
import {
  fullRecord,
  presetRecord,
  presetStatus,
  toFullRecord,
  toPresetRecord,
  toVersionRecord,
  versionRecord,
} from './record.ts'
import { slugParam } from './slug.ts'
import {
  deletePreset,
  describePreset,
  findDesignatedVersion,
  findVersion,
  listPresets,
  listVersions,
  lockPreset,
  type Preset,
  type PresetChanges,
  requirePreset,
  updatePreset,
} from './store.ts'

const tag = 'Presets'
const presetResponse = z.strictObject({ data: fullRecord })

/** The column is a 32-bit integer: no version has a larger number. */
const maxVersion = 2 ** 31 - 1

const listPresetsOperation = defineOperation({
  id: 'listPresets',
  method: 'GET',
  path: '/presets',
  tag,
  summary: 'Lists the presets of the organization, most recently updated first.',
  description: 'A caller with the permission in some workspaces only sees the presets of these.',
  permission: 'presets:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(presetRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, scope, query }) => {
    const workspaceIds = scope.everywhere ? null : [...scope.workspaceIds]
    const { rows, total } = await listPresets(gateway.db, caller.organizationId, workspaceIds, query)
    return { data: rows.map(toPresetRecord), total_count: total }
  },
})

const getPresetOperation = defineOperation({
  id: 'getPreset',
  method: 'GET',
  path: '/presets/{slug}',
  tag,
  summary: 'Retrieves a preset and its designated version.',
  permission: 'presets:read',
  params: slugParam,
  errors: [404],
  response: presetResponse,
  handle: async (context) => {
    const preset = await requireReachablePreset(context)
    return { data: toFullRecord(preset, await findDesignatedVersion(context.gateway.db, preset)) }
  },
})

const listPresetVersions = defineOperation({
  id: 'listPresetVersions',
  method: 'GET',
  path: '/presets/{slug}/versions',
  tag,
  summary: 'Lists the versions of a preset, oldest first.',
  permission: 'presets:read',
  params: slugParam,
  query: pageQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(versionRecord), total_count: z.int() }),
  handle: async (context) => {
    const preset = await requireReachablePreset(context)
    const { rows, total } = await listVersions(context.gateway.db, preset.id, context.query)
    return { data: rows.map(toVersionRecord), total_count: total }
  },
})

const getPresetVersion = defineOperation({
  id: 'getPresetVersion',
  method: 'GET',
  path: '/presets/{slug}/versions/{version}',
  tag,
  summary: 'Retrieves a version of a preset.',
  permission: 'presets:read',
  params: slugParam.extend({
    version: z
      .string()
      .regex(/^\d{1,20}$/, 'must be a whole number')
      .describe('The version number, starting at 1.'),
  }),
  errors: [404],
  response: z.strictObject({ data: versionRecord }),
  handle: async (context) => {
    const { gateway, params } = context
    const preset = await requireReachablePreset(context)
    const number = Number(params.version)
    const version = number <= maxVersion && (await findVersion(gateway.db, preset.id, number))
    if (!version) throw gatewayError('not_found', `The preset has no version ${params.version}.`)
    return { data: toVersionRecord(version) }
  },
})

const updateBody = z.strictObject({
  name: nameField(200).optional(),
  description: z.string().max(1000).nullish(),
  status: presetStatus.optional(),
  designated_version: z
    .int()
    .min(1)
    .max(maxVersion)
    .optional()
    .describe('The number of the version that requests use.'),
})

const updatePresetOperation = defineOperation({
  id: 'updatePreset',
  method: 'PATCH',
  path: '/presets/{slug}',
  tag: 'Presets',
  summary:
    'Updates the name, status or designated version of a preset. Fields that are not sent stay unchanged.',
  permission: 'presets:write',
  params: slugParam,
  body: updateBody,
  errors: [404],
  response: presetResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, body } = context
      const before = await lockReachablePreset(tx, context)
      const changes = await toChanges(tx, before, body, isoNow(gateway.clock))
      const changed = Object.keys(changes).length > 0
      const preset = changed ? await updatePreset(tx, gateway.clock, before.id, changes) : before
      if (changed) record({ action: 'preset.update', ...describePreset(preset), before, after: preset })
      return { data: toFullRecord(preset, await findDesignatedVersion(tx, preset)) }
    }),
})

const deletePresetOperation = defineOperation({
  id: 'deletePreset',
  method: 'DELETE',
  path: '/presets/{slug}',
  tag: 'Presets',
  summary: 'Deletes a preset and all its versions.',
  permission: 'presets:write',
  params: slugParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const preset = await lockReachablePreset(tx, context)
      await deletePreset(tx, preset.id)
      record({ action: 'preset.delete', ...describePreset(preset), before: preset })
      return { deleted: true as const }
    }),
})

export const presetOperations = [
  listPresetsOperation,
  getPresetOperation,
  listPresetVersions,
  getPresetVersion,
  ...createOperations,
  updatePresetOperation,
  deletePresetOperation,
]

interface PresetRequest {
  caller: Caller
  scope: Scope
  params: { slug: string }
}

async function requireReachablePreset({
  gateway,
  caller,
  scope,
  params,
}: PresetRequest & { gateway: Gateway }): Promise<Preset> {
  const preset = await requirePreset(gateway.db, caller.organizationId, params.slug)
  assertWithinScope(scope, { workspaceId: preset.workspace_id })
  return preset
}

async function lockReachablePreset(tx: Db, { caller, scope, params }: PresetRequest): Promise<Preset> {
  const preset = await lockPreset(tx, caller.organizationId, params.slug)
  assertWithinScope(scope, { workspaceId: preset.workspace_id })
  return preset
}

/** Converts only the fields that were sent. */
async function toChanges(
  tx: Db,
  preset: Preset,
  body: z.output<typeof updateBody>,
  now: string,
): Promise<PresetChanges> {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.description !== undefined && { description: body.description }),
    ...(body.status !== undefined && { status: body.status }),
    ...(body.status !== undefined && body.status !== preset.status && { status_updated_at: now }),
    ...(body.designated_version !== undefined && {
      designated_version_id: await requireVersionId(tx, preset, body.designated_version),
    }),
  }
}

async function requireVersionId(tx: Db, preset: Preset, number: number): Promise<string> {
  const version = await findVersion(tx, preset.id, number)
  if (!version) throw invalidFieldError('designated_version', `the preset has no version ${number}`)
  return version.id
}
