import type { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { type KeyContext, loadAllowedPhrases } from '../../../gateway/account-cache.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { buildContentRules } from '../../../governance/policy/content-rules.ts'
import { computeEffectivePolicy, type Layer } from '../../../governance/policy/effective.ts'
import { type Guardrail, parseGuardrail } from '../../../governance/policy/guardrail.ts'
import { expandAliases, loadLayers } from '../../../governance/policy/store.ts'
import { type ApiKey, findKey } from '../../../identity/keys.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { toChanges, updateBody } from './body.ts'
import { buildGuardrailRow } from './store.ts'

/** A guardrail that is tried out, and stored nowhere. */
export const draftBody = updateBody
  .meta({ id: 'GuardrailDraft' })
  .describe(
    'The fields of a guardrail. It is evaluated as if `dry_run` were false; its budget, moderation and external checks play no part.',
  )

type DraftBody = z.output<typeof draftBody>

export function parseDraft(gateway: Gateway, organizationId: string, body: DraftBody): Guardrail {
  const settings = { ...toChanges(body, gateway), name: 'Draft', dry_run: 0 as const }
  const row = buildGuardrailRow(gateway.clock, { id: newUuid(), organizationId, workspaceId: null, settings })
  return parseGuardrail(row)
}

interface DraftTarget {
  /** Key whose limits and credentials the context has. */
  key: ApiKey
  /** The layer whose guardrail the draft replaces; null: the draft applies alone. */
  layer: Layer | null
}

/** Builds the context that a key would have with the draft. */
export async function buildDraftContext(
  gateway: Gateway,
  body: DraftBody,
  { key, layer }: DraftTarget,
): Promise<KeyContext> {
  const draft = parseDraft(gateway, key.organization_id, body)
  const layers = layer === null ? { key: draft } : { ...(await loadLayers(gateway.db, key)), [layer]: draft }
  const policy = computeEffectivePolicy(await expandAliases(gateway.db, key, layers))
  const [context, phrases] = await Promise.all([
    gateway.accounts.findContext(key),
    loadAllowedPhrases(gateway.db, key, policy),
  ])
  return { ...context, policy, contentRules: buildContentRules(policy, phrases) }
}

/** A management key belongs to no single workspace. */
export async function requireKey(
  { db }: Gateway,
  { caller, scope }: { caller: Caller; scope: Scope },
  hash: string,
): Promise<ApiKey> {
  const key = await findKey(db, caller.organizationId, hash)
  if (!key) throw gatewayError('not_found', 'The key does not exist.')
  assertWithinScope(scope, { workspaceId: key.kind === 'management' ? null : key.workspace_id })
  return key
}
