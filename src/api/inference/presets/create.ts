import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { resolveReachableWorkspace, type ScopedRequest } from '../../../access/reachable-workspace.ts'
import { type AuditedRequest, transact } from '../../../access/transact.ts'
import { chatBody } from '../../../formats/chat/schema.ts'
import { messagesBody } from '../../../formats/messages/schema.ts'
import { responsesBody } from '../../../formats/responses/schema.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import { findDefaultWorkspace } from '../../../identity/workspaces.ts'
import { validateServerTools } from '../../../inference/tools/validate.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { PresetFormat } from '../../../platform/db/schema.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { extractConfig, type PresetConfig, type RequestFields } from './config.ts'
import { fullRecord, toFullRecord } from './record.ts'
import { slugParam } from './slug.ts'
import {
  addVersion,
  describePreset,
  lockOrCreatePreset,
  type Preset,
  type PresetVersion,
  updatePreset,
} from './store.ts'
import { extractChatPrompt, extractMessagesPrompt, extractResponsesPrompt } from './system-prompt.ts'

const presetResponse = z.strictObject({ data: fullRecord })
const description =
  'Only the configuration and the system prompt are stored; everything else in the body is validated and ignored. An archived preset accepts no new version.'

interface PresetSource<Body> {
  id: string
  path: string
  format: PresetFormat
  formatName: string
  body: z.ZodType<Body>
  extractPrompt(body: Body): string | null
}

function defineCreateOperation<Body extends RequestFields>(source: PresetSource<Body>) {
  const { id, path, format, formatName, extractPrompt } = source
  return defineOperation({
    id,
    method: 'POST',
    path,
    tag: 'Presets',
    summary: `Creates a preset, or a new version of it, from a ${formatName} request.`,
    description,
    permission: 'presets:write',
    params: slugParam,
    body: source.body,
    errors: [404, 409],
    response: presetResponse,
    handle: (context) => {
      const { params, body } = context
      validateServerTools(body.tools)
      const version = { format, config: extractConfig(body), prompt: extractPrompt(body) }
      return saveVersion(context, params.slug, version)
    },
  })
}

export const createOperations = [
  defineCreateOperation({
    id: 'createPresetFromChat',
    path: '/presets/{slug}/chat/completions',
    format: 'chat',
    formatName: 'chat',
    body: chatBody,
    extractPrompt: extractChatPrompt,
  }),
  defineCreateOperation({
    id: 'createPresetFromMessages',
    path: '/presets/{slug}/messages',
    format: 'messages',
    formatName: 'Messages',
    body: messagesBody,
    extractPrompt: extractMessagesPrompt,
  }),
  defineCreateOperation({
    id: 'createPresetFromResponses',
    path: '/presets/{slug}/responses',
    format: 'responses',
    formatName: 'Responses',
    body: responsesBody,
    extractPrompt: extractResponsesPrompt,
  }),
]

export interface PresetContent {
  format: PresetFormat
  config: PresetConfig
  prompt: string | null
}

async function saveVersion(
  request: AuditedRequest & ScopedRequest,
  slug: string,
  content: PresetContent,
): Promise<z.input<typeof presetResponse>> {
  const { caller, scope } = request
  const { clock, settings } = request.gateway
  return transact(request, async (tx, record) => {
    const { organizationId, userId: creatorUserId } = caller
    const newPreset = { organizationId, workspaceId: await resolveHome(tx, request), slug, creatorUserId }
    const preset = await lockOrCreatePreset(tx, clock, newPreset)
    assertWithinScope(scope, { workspaceId: preset.workspace_id })
    await assertWithinCeiling(tx, settings.ceilings, 'presets', caller.organizationId)
    if (preset.status === 'archived') {
      throw gatewayError('conflict', 'The preset is archived: set its status to active or disabled first.')
    }
    const { designated, version } = await designateVersion({ gateway: request.gateway, tx, record }, preset, {
      ...content,
      creatorId: resolveCreatorId(caller),
    })
    return { data: toFullRecord(designated, version) }
  })
}

/** Adds a version to a locked preset, which requests use from then on. */
export async function designateVersion(
  { gateway: { clock, settings }, tx, record }: { gateway: Gateway; tx: Db; record: RecordEvent },
  preset: Preset,
  { format, prompt, config, creatorId }: PresetContent & { creatorId: string },
): Promise<{ designated: Preset; version: PresetVersion }> {
  const version = await addVersion(tx, clock, preset.id, {
    ...{ format, system_prompt: prompt, config: JSON.stringify(config), creator_id: creatorId },
  })
  await assertWithinCeiling(tx, settings.ceilings, 'preset_versions', preset.id)
  const designated = await updatePreset(tx, clock, preset.id, { designated_version_id: version.id })
  const isNew = preset.designated_version_id === null
  record({
    action: isNew ? 'preset.create' : 'preset.update',
    ...describePreset(designated),
    before: isNew ? null : preset,
    after: designated,
    details: { version: version.version, format: version.format },
  })
  return { designated, version }
}

/** The workspace in which a new preset can be changed; null if only the whole organization may. */
async function resolveHome(tx: Db, request: ScopedRequest): Promise<string | null> {
  const { caller, scope } = request
  if (!scope.everywhere) return (await resolveReachableWorkspace(tx, request, undefined)).id
  return (await findDefaultWorkspace(tx, caller.organizationId))?.id ?? null
}

/** A key without a member, such as the one from the environment, is its own creator. */
function resolveCreatorId(caller: Caller): string {
  return caller.userId ?? `key:${caller.key.hash}`
}
