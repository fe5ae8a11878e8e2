import type { Vault } from '../platform/crypto/crypto.ts'
import { fullMask, isMasked, maskSecret } from '../platform/crypto/mask.ts'
import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import type { ProviderOverride } from './override-schema.ts'
import type { OverrideRow } from './store.ts'

/** The fields of a provider that are never returned. */
export const secretFields = ['api_key', 'headers'] as const

type Secrets = Pick<ProviderOverride, (typeof secretFields)[number]>

/** Secrets, with the only origin they may be sent to. */
export interface EncryptedSecrets {
  origin: string | null
  secrets: Secrets
}

const contextOf = (slug: string) => `catalogue/provider/${slug}`

/** The columns of an override: its secrets are encrypted together. */
export function encryptFields(
  vault: Vault,
  slug: string,
  origin: string | null,
  { api_key, headers, ...fields }: ProviderOverride,
): Pick<OverrideRow, 'fields' | 'sealed_secrets'> {
  const secrets = { ...(api_key !== undefined && { api_key }), ...(headers && { headers }) }
  const encryptSecrets = () => vault.encrypt(JSON.stringify({ origin, secrets }), contextOf(slug))
  return {
    fields: JSON.stringify(fields),
    sealed_secrets: Object.keys(secrets).length > 0 ? encryptSecrets() : null,
  }
}

export function openSecrets(
  vault: Vault,
  row: Pick<OverrideRow, 'name' | 'sealed_secrets'>,
): EncryptedSecrets | null {
  if (row.sealed_secrets === null) return null
  try {
    return JSON.parse(vault.decrypt(row.sealed_secrets, contextOf(row.name))) as EncryptedSecrets
  } catch {
    throw invalidFieldError('api_key', 'cannot be decrypted; enter it again')
  }
}

/** Masks secrets for responses. */
export function maskSecrets({ api_key, headers }: Secrets): Secrets {
  const names = Object.keys(headers ?? {})
  return {
    ...(api_key !== undefined && { api_key: maskSecret(api_key) }),
    ...(headers && { headers: Object.fromEntries(names.map((name) => [name, fullMask])) }),
  }
}

/** A masked value means the stored secret, as long as it is still sent to the same origin. */
export function restoreMasked(
  input: ProviderOverride,
  stored: EncryptedSecrets | null,
  origin: string | null,
): ProviderOverride {
  const restore = (field: string, value: string, previous: string | undefined) => {
    if (!isMasked(value)) return value
    if (previous === undefined) throw invalidFieldError(field, 'is a masked value; send the secret itself')
    if (stored?.origin === origin) return previous
    throw invalidFieldError(field, 'must be entered again, because base_url has another origin')
  }
  const headers = Object.entries(input.headers ?? {}).map(([name, value]): [string, string] => [
    name,
    restore(`headers.${name}`, value, stored?.secrets.headers?.[name]),
  ])
  return {
    ...input,
    ...(input.api_key !== undefined && {
      api_key: restore('api_key', input.api_key, stored?.secrets.api_key),
    }),
    ...(input.headers && { headers: Object.fromEntries(headers) }),
  }
}
