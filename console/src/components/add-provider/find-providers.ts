import type { Schemas } from '../../api/client.ts'

type Provider = Schemas['ProviderHealth']

/** The providers that take a key and whose name or slug contains the text; those that begin with it come first. */
export function findProviders(providers: readonly Provider[], text: string): Provider[] {
  const typed = text.trim().toLowerCase()
  const begins = ({ provider_name, provider }: Provider) =>
    provider_name.toLowerCase().startsWith(typed) || provider.startsWith(typed)
  return providers
    .filter(
      ({ is_keyless, provider, provider_name }) =>
        !is_keyless && (provider.includes(typed) || provider_name.toLowerCase().includes(typed)),
    )
    .sort(
      (one, other) =>
        Number(begins(other)) - Number(begins(one)) || one.provider_name.localeCompare(other.provider_name),
    )
}
