import { badField } from '../errors.ts'
import { fullMask, isMasked, mask } from '../lib/mask.ts'
import type { Vault } from '../lib/secret.ts'
import type { ProviderEdit } from './declared-edit.ts'
import type { EditRow } from './store.ts'

/** The fields of a provider that nobody may read back. */
export const secretFields = ['api_key', 'headers'] as const

type Secrets = Pick<ProviderEdit, (typeof secretFields)[number]>

/** Secrets, and the only origin they are sent to. */
export interface SealedSecrets {
  origin: string | null
  secrets: Secrets
}

const contextOf = (slug: string) => `catalogue/provider/${slug}`

/** The columns of an edit: what is secret is sealed, in one piece. */
export function sealFields(
  vault: Vault,
  slug: string,
  origin: string | null,
  { api_key, headers, ...fields }: ProviderEdit,
): Pick<EditRow, 'fields' | 'sealed_secrets'> {
  const secrets = { ...(api_key !== undefined && { api_key }), ...(headers && { headers }) }
  const sealed = () => vault.seal(JSON.stringify({ origin, secrets }), contextOf(slug))
  return {
    fields: JSON.stringify(fields),
    sealed_secrets: Object.keys(secrets).length > 0 ? sealed() : null,
  }
}

export function openSecrets(
  vault: Vault,
  row: Pick<EditRow, 'name' | 'sealed_secrets'>,
): SealedSecrets | null {
  if (row.sealed_secrets === null) return null
  try {
    return JSON.parse(vault.open(row.sealed_secrets, contextOf(row.name))) as SealedSecrets
  } catch {
    throw badField('api_key', 'cannot be read any more; enter it again')
  }
}

/** What a response may show. */
export function maskSecrets({ api_key, headers }: Secrets): Secrets {
  const names = Object.keys(headers ?? {})
  return {
    ...(api_key !== undefined && { api_key: mask(api_key) }),
    ...(headers && { headers: Object.fromEntries(names.map((name) => [name, fullMask])) }),
  }
}

/** A masked value stays as it is, as long as it goes where it was entered for. */
export function keepMasked(
  sent: ProviderEdit,
  held: SealedSecrets | null,
  origin: string | null,
): ProviderEdit {
  const kept = (field: string, value: string, before: string | undefined) => {
    if (!isMasked(value)) return value
    if (before === undefined) throw badField(field, 'is a masked value')
    if (held?.origin === origin) return before
    throw badField(field, 'must be entered again, because base_url leads to another address')
  }
  const headers = Object.entries(sent.headers ?? {}).map(([name, value]): [string, string] => [
    name,
    kept(`headers.${name}`, value, held?.secrets.headers?.[name]),
  ])
  return {
    ...sent,
    ...(sent.api_key !== undefined && { api_key: kept('api_key', sent.api_key, held?.secrets.api_key) }),
    ...(sent.headers && { headers: Object.fromEntries(headers) }),
  }
}
