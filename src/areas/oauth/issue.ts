import { assertWithinCeiling } from '../../account/ceilings.ts'
import { resolveWorkspace } from '../../account/workspaces.ts'
import type { Gateway } from '../../app/gateway.ts'
import { invalidFieldError } from '../../errors/gateway-error.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import { newToken } from '../../lib/ids.ts'
import { appOf, type CodeRequest, keyNameOf, validateCodeRequest } from './codes.ts'
import { findOrCreateApp, saveCode } from './store.ts'

interface CodeOwner {
  organizationId: string
  userId: string | null
  /** The most a key may spend over its lifetime, in nano-dollars; null if the role sets no limit. */
  maxKeyLimit: bigint | null
}

/** Creates an authorization code, for both the API and the consent page. */
export async function issueCode(gateway: Gateway, owner: CodeOwner, requested: CodeRequest) {
  const { clock, settings } = gateway
  const pkce = validateCodeRequest(gateway, requested)
  const code = newToken()
  return gateway.db.transaction().execute(async (tx) => {
    const workspace = await resolveWorkspace(tx, owner.organizationId, requested.workspace_id)
    const app = await findOrCreateApp(tx, clock, owner.organizationId, appOf(requested.callback_url))
    const createdAt = await saveCode(tx, clock, code, {
      ...pkce,
      organization_id: owner.organizationId,
      workspace_id: workspace.id,
      user_id: owner.userId,
      app_id: app,
      callback_url: requested.callback_url?.href ?? null,
      key_name: keyNameOf(requested),
      key_limit_nanos: resolveKeyLimit(owner, requested),
      key_limit_reset: requested.usage_limit_type ?? null,
      key_expires_at: requested.expires_at ?? null,
    })
    await assertWithinCeiling(tx, settings.ceilings, 'apps', owner.organizationId)
    await assertWithinCeiling(tx, settings.ceilings, 'auth_codes', owner.organizationId)
    return { code, appId: app, createdAt }
  })
}

/** A member with a spending limit may create only keys with a limit that does not reset. */
function resolveKeyLimit({ maxKeyLimit }: CodeOwner, requested: CodeRequest): bigint | null {
  const limit = requested.limit ?? null
  if (maxKeyLimit === null) return limit
  if (requested.usage_limit_type !== undefined) {
    throw invalidFieldError(
      'usage_limit_type',
      'is not allowed: the limit of your role applies to the lifetime of the key',
    )
  }
  if (limit !== null && limit <= maxKeyLimit) return limit
  if (limit === null) return maxKeyLimit
  throw invalidFieldError('limit', `must be at most ${usdFromNanos(maxKeyLimit)} for your role`)
}
