import { refuseBeyond } from '../../account/ceilings.ts'
import { enterWorkspace } from '../../account/workspaces.ts'
import { badField } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import { newToken } from '../../lib/ids.ts'
import { appOf, type CodeWish, checkWish, keyNameOf } from './codes.ts'
import { appId, saveCode } from './store.ts'

interface Owner {
  organizationId: string
  userId: string | null
  /** The most a key may spend in its whole life, in nano-dollars; null where the role sets no limit. */
  mostPerKey: bigint | null
}

/** Makes a code: the one way, for the API and for the consent page. */
export async function issueCode(gateway: Gateway, owner: Owner, wish: CodeWish) {
  const { clock, settings } = gateway
  const pkce = checkWish(gateway, wish)
  const code = newToken()
  return gateway.db.transaction().execute(async (tx) => {
    const workspace = await enterWorkspace(tx, owner.organizationId, wish.workspace_id)
    const app = await appId(tx, clock, owner.organizationId, appOf(wish.callback_url))
    const createdAt = await saveCode(tx, clock, code, {
      ...pkce,
      organization_id: owner.organizationId,
      workspace_id: workspace.id,
      user_id: owner.userId,
      app_id: app,
      callback_url: wish.callback_url?.href ?? null,
      key_name: keyNameOf(wish),
      key_limit_nanos: limitFor(owner, wish),
      key_limit_reset: wish.usage_limit_type ?? null,
      key_expires_at: wish.expires_at ?? null,
    })
    await refuseBeyond(tx, settings.ceilings, 'apps', owner.organizationId)
    await refuseBeyond(tx, settings.ceilings, 'auth_codes', owner.organizationId)
    return { code, appId: app, createdAt }
  })
}

/** Who may not spend without limit cannot make a key that does, nor one whose limit starts again. */
function limitFor({ mostPerKey }: Owner, wish: CodeWish): bigint | null {
  const limit = wish.limit ?? null
  if (mostPerKey === null) return limit
  if (wish.usage_limit_type !== undefined) {
    throw badField('usage_limit_type', 'must be left out: the limit of your role is for the life of the key')
  }
  if (limit !== null && limit <= mostPerKey) return limit
  if (limit === null) return mostPerKey
  throw badField('limit', `must be at most ${usdFromNanos(mostPerKey)} for your role`)
}
