import type { z } from 'zod'
import type { Catalog } from '../../catalog/catalog.ts'
import { chatBody } from '../../formats/chat/schema.ts'
import { messagesBody } from '../../formats/messages/schema.ts'
import { responsesBody } from '../../formats/responses/schema.ts'
import { assertWithinCeiling } from '../../identity/ceilings.ts'
import { findDefaultWorkspace, tryLockWorkspace, type Workspace } from '../../identity/workspaces.ts'
import { validateServerTools } from '../../inference/tools/validate.ts'
import { newUuid } from '../../platform/crypto/ids.ts'
import type { PresetFormat } from '../../platform/db/schema.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { createBody, rejectUnknownAliases, toChanges, validateBudget } from '../governance/guardrails/body.ts'
import { describeGuardrail } from '../governance/guardrails/guardrail.ts'
import {
  assignGuardrail,
  createGuardrail,
  findGuardrailByName,
  keyAssignments,
  lockKeys,
} from '../governance/guardrails/store.ts'
import { extractConfig, type RequestFields } from '../inference/presets/config.ts'
import { designateVersion } from '../inference/presets/create.ts'
import { slugParam } from '../inference/presets/slug.ts'
import { findPreset, lockOrCreatePreset, updatePreset } from '../inference/presets/store.ts'
import type { ImportTransaction } from './import-catalog.ts'
import type { ItemOutcome, PlannedGuardrail, PlannedPreset, PolicyPlan } from './import-plan.ts'

/** Creates the guardrails and presets that do not exist. Those that exist stay as they are. */
export async function importPolicies(
  input: ImportTransaction,
  catalog: Catalog,
  { guardrails, presets }: PolicyPlan,
): Promise<ItemOutcome[]> {
  const outcomes: ItemOutcome[] = []
  for (const one of guardrails)
    outcomes.push(await orSkipped('guardrail', one.name, () => importGuardrail(input, catalog, one)))
  for (const one of presets)
    outcomes.push(await orSkipped('preset', one.slug, () => importPreset(input, one)))
  return outcomes
}

/** What is not valid here, such as a model that the catalog does not have, is named. */
async function orSkipped(
  kind: string,
  name: string,
  work: () => Promise<Pick<ItemOutcome, 'outcome' | 'message'>>,
): Promise<ItemOutcome> {
  try {
    return { kind, name, ...(await work()) }
  } catch (error) {
    if (!(error instanceof GatewayError) || error.row.status !== 400) throw error
    return { kind, name, outcome: 'skipped', message: error.message }
  }
}

const existing = { outcome: 'existing', message: null } as const

async function importGuardrail(
  input: ImportTransaction,
  catalog: Catalog,
  { name, workspace: slug, fields, keys }: PlannedGuardrail,
) {
  const { gateway, tx, record, organizationId } = input
  const workspace = await findHome(input, slug)
  if (!workspace)
    return { outcome: 'skipped', message: `there is no workspace ${slug ?? 'by default'}` } as const
  if (await findGuardrailByName(tx, workspace.id, name)) return existing
  const body = validateInput<z.output<typeof createBody>>(createBody, { ...fields, name }, 'guardrail', 1000)
  const settings = { ...toChanges(body, { catalog, settings: gateway.settings }), name: body.name }
  validateBudget({ limit_nanos: null, reset_interval: null, ...settings })
  await rejectUnknownAliases(tx, { organization_id: organizationId, workspace_id: workspace.id }, body)
  const guardrail = await createGuardrail(tx, gateway.clock, {
    ...{ id: newUuid(), organizationId, workspaceId: workspace.id, settings },
  })
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'guardrails', workspace.id)
  record({ action: 'guardrail.create', ...describeGuardrail(guardrail), after: guardrail })
  const rows = await lockKeys(tx, organizationId, keys)
  const own = rows.filter(({ workspace_id }) => workspace_id === workspace.id)
  if (own.length > 0) {
    const ids = own.map(({ id }) => id)
    await assignGuardrail(tx, gateway.clock, keyAssignments, { guardrail, by: null, ids })
    const details = { keys: own.map(({ hash }) => hash) }
    record({ action: 'guardrail.assign', ...describeGuardrail(guardrail), details })
  }
  const missing = keys.length - own.length
  return {
    outcome: 'created',
    message: missing > 0 ? `without ${missing} keys that are not in its workspace here` : null,
  } as const
}

async function findHome(
  { tx, organizationId }: ImportTransaction,
  slug: string | null,
): Promise<Workspace | undefined> {
  const home = slug ?? (await findDefaultWorkspace(tx, organizationId))?.slug
  return home === undefined ? undefined : tryLockWorkspace(tx, organizationId, home)
}

const bodies: Readonly<Record<PresetFormat, z.ZodType<RequestFields>>> = {
  chat: chatBody,
  messages: messagesBody,
  responses: responsesBody,
}

async function importPreset(input: ImportTransaction, planned: PlannedPreset) {
  const { gateway, tx, organizationId } = input
  const { clock, settings } = gateway
  const { format, config, systemPrompt } = planned
  const { slug } = validateInput<{ slug: string }>(slugParam, { slug: planned.slug }, 'preset', 10)
  if (await findPreset(tx, organizationId, slug)) return existing
  const request = toRequest(format, config)
  const body = validateInput<RequestFields>(bodies[format], request, 'preset', JSON.stringify(request).length)
  validateServerTools(body.tools)
  const content = { format, config: extractConfig(body), prompt: systemPrompt }
  const workspaceId = (await findDefaultWorkspace(tx, organizationId))?.id ?? null
  const created = await lockOrCreatePreset(tx, clock, {
    ...{ organizationId, workspaceId, slug, creatorUserId: null },
  })
  await assertWithinCeiling(tx, settings.ceilings, 'presets', organizationId)
  const described = await updatePreset(tx, clock, created.id, {
    ...(planned.name && { name: planned.name }),
    description: planned.description,
    ...(planned.isDisabled && { status: 'disabled' as const, status_updated_at: isoNow(clock) }),
  })
  await designateVersion(input, described, { ...content, creatorId: 'import' })
  return { outcome: 'created', message: null } as const
}

/** A request is not valid without a message. */
function toRequest(format: PresetFormat, config: JsonObject): JsonObject {
  if (format === 'responses') return { ...config, input: '-' }
  return { ...config, messages: [{ role: 'user', content: '-' }] }
}
