import type { ByokKey } from '../../catalog/byok-keys.ts'
import type { SearchEngine } from '../../formats/schema/search-engine.ts'
import type { SecretUses } from '../../governance/audit/secret-uses.ts'
import type { Vault } from '../../platform/crypto/crypto.ts'
import { findSearchEngine, searchEngines } from './engines/all.ts'
import type { WebSettings } from './settings.ts'

/** The address of an engine and a key for it. */
export interface EngineAccess {
  baseUrl: string
  key: string
  /** Whether the key is a BYOK key: nothing is charged. */
  isOwnKey: boolean
  /** Whether the operator entered the address, so that it may be private. */
  isOperatorAddress: boolean
}

export interface AccessContext {
  vault: Vault
  settings: { web: WebSettings }
  audit: { secretUses: Pick<SecretUses, 'add'> }
}

/** Keys that are tried in one search. */
const maxAccesses = 3

/** The origin that keys of the engine are sent to; null if it has no address. */
export function engineOrigin(settings: WebSettings, engine: SearchEngine): string | null {
  const address = addressOf(settings, engine)
  return address === null ? null : new URL(address).origin
}

/** The engine of requests that name none. */
export function findDefaultEngine(
  context: AccessContext,
  byokKeys: readonly ByokKey[],
  model: string | null,
): SearchEngine | undefined {
  const { engine } = context.settings.web
  if (engine !== null) return findSearchEngine(engine)
  return searchEngines.find(
    ({ api, ...rest }) =>
      api.kind === 'http' && listAccesses(context, { api, ...rest }, byokKeys, model).length > 0,
  )
}

/** Lists the credentials of an engine in the order they are tried. Empty: the engine cannot be used. Decrypts keys. */
export function listAccesses(
  { vault, settings, audit }: AccessContext,
  engine: SearchEngine,
  byokKeys: readonly ByokKey[],
  model: string | null,
): EngineAccess[] {
  const { api, id } = engine
  const baseUrl = addressOf(settings.web, engine)
  if (api.kind === 'simulated' || baseUrl === null) return []
  const isOperatorAddress = settings.web.engines[id]?.base_url != null
  const operatorKey = settings.web.engines[id]?.api_key ?? null
  const ofEngine = byokKeys.filter(({ provider }) => provider === id)
  const own = ofEngine.filter(
    ({ origin, allowedModels }) =>
      origin === new URL(baseUrl).origin &&
      (allowedModels === null || (model !== null && allowedModels.includes(model))),
  )
  const open = (isFallback: boolean) =>
    own
      .filter((key) => key.isFallback === isFallback)
      .map(({ id: keyId, encrypted }) => {
        audit.secretUses.add('byok_key', keyId)
        const key = vault.decrypt(encrypted, `byok/${keyId}`)
        return { baseUrl, key, isOwnKey: true, isOperatorAddress }
      })
  const isShared =
    (!api.needsKey || operatorKey !== null) &&
    !ofEngine.some(({ isByokOnly }) => isByokOnly) &&
    !own.some(({ isRequired }) => isRequired)
  const shared = isShared ? [{ baseUrl, key: operatorKey ?? '', isOwnKey: false, isOperatorAddress }] : []
  return [...open(false), ...shared, ...open(true)].slice(0, maxAccesses)
}

function addressOf(settings: WebSettings, { id, api }: SearchEngine): string | null {
  return api.kind === 'simulated' ? null : (settings.engines[id]?.base_url ?? api.baseUrl)
}
