import type { Gateway } from '../../../gateway/gateway.ts'
import type { AuditOrigin } from '../../../governance/audit/entry.ts'
import { transactAs } from '../../../governance/audit/transaction.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { resolveKeyLimit, resolveMaxKeyLimit } from '../../../identity/member-key-limit.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { resolveWorkspace } from '../../../identity/workspaces.ts'
import { newToken } from '../../../platform/crypto/ids.ts'
import { appOf, type CodeRequest, keyNameOf, validateCodeRequest } from './codes.ts'
import { findOrCreateApp, saveCode } from './store.ts'

interface CodeOwner {
  organizationId: string
  userId: string | null
  /** Scope within which the owner may create keys. */
  scope: Scope
  origin: AuditOrigin
}

/** Creates an authorization code, for both the API and the consent page. */
export async function issueCode(gateway: Gateway, owner: CodeOwner, requested: CodeRequest) {
  const { clock, settings } = gateway
  const pkce = validateCodeRequest(gateway, requested)
  const code = newToken()
  const app = appOf(requested.callback_url)
  return transactAs(gateway, owner.origin, async (tx, record) => {
    const workspace = await resolveWorkspace(tx, owner.organizationId, requested.workspace_id)
    assertWithinScope(owner.scope, { workspaceId: workspace.id, ownerId: owner.userId })
    const maxLimit = resolveMaxKeyLimit(settings, owner.scope, workspace.id)
    const appId = await findOrCreateApp(tx, clock, owner.organizationId, app)
    const saved = await saveCode(tx, clock, code, {
      ...pkce,
      organization_id: owner.organizationId,
      workspace_id: workspace.id,
      user_id: owner.userId,
      app_id: appId,
      callback_url: requested.callback_url?.href ?? null,
      key_name: keyNameOf(requested),
      key_limit_nanos: resolveKeyLimit(maxLimit, {
        limit: requested.limit,
        reset: requested.usage_limit_type,
        resetField: 'usage_limit_type',
      }),
      key_limit_reset: requested.usage_limit_type ?? null,
      key_expires_at: requested.expires_at ?? null,
    })
    await assertWithinCeiling(tx, settings.ceilings, 'apps', owner.organizationId)
    await assertWithinCeiling(tx, settings.ceilings, 'auth_codes', owner.organizationId)
    const target = { type: 'app', id: `${appId}`, name: app.name }
    record({ action: 'app.authorize', target, workspaceId: workspace.id, after: saved })
    return { code, appId, createdAt: saved.created_at }
  })
}
